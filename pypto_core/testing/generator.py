"""Random programs: well typed, in bounds, terminating, the same for the same seed.

A program is one kernel (and functions to inline, when wanted) that loads windows of its input tensors, computes on
tiles and writes windows of its outputs. Integer scalars may have any value from 0 upwards; they never reach an
offset unless reduced below the number of windows. Whatever a tile's valid extents leave out is never read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from pypto_core.ir import (
    Call,
    DataType,
    Function,
    FunctionType,
    GlobalVar,
    ParamDirection,
    Program,
    ReturnStmt,
    ScalarType,
    TensorType,
    TileType,
    Var,
    const_index,
    scalar_type,
    seq,
)
from pypto_core.testing import flow_steps, tile_steps
from pypto_core.testing.drawing import Block, Drawing, Number
from pypto_core.testing.features import SSA_FEATURES, Feature

_SHAPES = ((16, 16), (16, 32), (32, 32), (8, 64))
_TENSOR = (128, 64)
_INDEX: ScalarType = scalar_type(DataType.INDEX)
_MAX_DEPTH = 3

Step = Callable[[Drawing], None]


def random_program(
    seed: int,
    size: int = 30,
    features: Iterable[Feature] = SSA_FEATURES,
    *,
    kind: FunctionType = FunctionType.InCore,
) -> Program:
    """The program of a seed.

    ``size``: about how many statements. ``features``: what may occur; with REASSIGN the program assigns
    variables again, without it is in SSA form. ``kind``: type of the kernel ``main``.
    """
    wanted = frozenset(features)
    if Feature.REASSIGN not in wanted:
        wanted -= {Feature.LEAKS, Feature.BREAK}
    d, params = _start(Random(seed), size, wanted)
    _fill(d, size)
    _finish(d)
    d.block.stmts.append(ReturnStmt(tuple(d.block.outs.values())))
    outs = tuple(var for var, direction in params if direction is not ParamDirection.In)
    main = Function(
        "main",
        tuple(var for var, _ in params),
        tuple(var.type for var in outs),
        seq(d.block.stmts),
        tuple(direction for _, direction in params),
        kind,
    )
    return Program(f"random_{seed}_{size}", (main, *d.inlines))


def _start(
    rng: Random, size: int, features: frozenset[Feature]
) -> tuple[Drawing, list[tuple[Var, ParamDirection]]]:
    integer = Feature.INTEGERS in features and rng.random() < 0.3
    dtype = DataType.INT32 if integer else DataType.FP32
    kind = TensorType(_TENSOR, dtype)
    sources = [Var("x", kind), Var("y", kind)]
    numbers = [Var("n", _INDEX), Var("m", _INDEX)]
    outs = {"out": Var("out", TensorType(_TENSOR, dtype))}
    factors: list[Var] = []
    if Feature.MATMUL in features:
        square = TensorType((64, 64), DataType.FP16)
        factors = [Var("a", square), Var("b", square)]
        outs["product"] = Var("product", TensorType((64, 64), DataType.FP32))
    params = [(var, ParamDirection.In) for var in (*sources, *factors)]
    params += [(var, ParamDirection.InOut) for var in outs.values()]
    if Feature.DYNAMIC in features:
        params += [(var, ParamDirection.In) for var in numbers]
    block = Block([], [], outs)
    d = Drawing(rng, features, size, dtype, rng.choice(_SHAPES), block, sources, factors=factors)
    if Feature.DYNAMIC in features:
        block.numbers += [Number(var, 0, None) for var in numbers]
    else:
        block.numbers.append(Number(d.let("one", const_index(1)), 1, 1))
    tile_steps.load(d)
    if Feature.INLINE in features:
        d.inlines = [_inline(d, i) for i in range(rng.randrange(1, 3))]
    return d, params


def _inline(d: Drawing, number: int) -> Function:
    """A function to be spliced into the kernel: of one tile and one integer, a tile of the same type."""
    kind = d.block.tiles[0].type
    assert isinstance(kind, TileType)
    whole = TileType(kind.shape, kind.dtype, memory_space=kind.memory_space)
    x, s = Var("x", whole), Var("s", _INDEX)
    inside = Drawing(
        d.rng, frozenset({Feature.BRANCHES}), 4, d.dtype, d.shape, Block([Number(s, 0, None)], [x], {}), []
    )
    for _ in range(d.rng.randrange(1, 4)):
        tile_steps.elementwise(inside)
    inside.block.may_store = False
    if d.chance(0.5):
        flow_steps.branch(inside, tile_steps.elementwise)
    result = inside.pick([t for t in inside.block.tiles if t is not x and t in inside.like(x)] or [x])
    body = seq([*inside.block.stmts, ReturnStmt((result,))])
    return Function(f"helper{number}", (x, s), (whole,), body, func_type=FunctionType.Inline)


def _call_inline(d: Drawing) -> None:
    helper = d.pick(d.inlines)
    fitting = d.like(helper.params[0])
    if fitting:
        args = (d.pick(fitting), d.number().var)
        d.add_tile(Call(GlobalVar(helper.name), args, type=helper.return_types[0]))


def _steps(d: Drawing) -> list[tuple[int, Step]]:
    """What may come next, with weights."""
    nested = d.depth < _MAX_DEPTH and d.budget > 3
    has = d.has
    table: list[tuple[int, bool, Step]] = [
        (3, True, tile_steps.load),
        (6, True, tile_steps.elementwise),
        (3, True, flow_steps.scalar),
        (2, d.block.may_store, tile_steps.store),
        (2, has(Feature.REDUCTIONS), tile_steps.reduction),
        (1, has(Feature.VALID), tile_steps.narrowed),
        (1, has(Feature.VIEWS), tile_steps.sliced),
        (1, has(Feature.CASTS), tile_steps.half_width),
        (1, has(Feature.MATMUL) and nested, tile_steps.matmul),
        (3, d.plain, flow_steps.reassign),
        (2, bool(d.inlines), _call_inline),
        (4, has(Feature.LOOPS) and nested, lambda g: flow_steps.loop(g, _body)),
        (1, has(Feature.WHILE) and nested, lambda g: flow_steps.while_loop(g, _body)),
        (3, has(Feature.BRANCHES) and nested, lambda g: flow_steps.branch(g, _body)),
    ]
    return [(weight, step) for weight, possible, step in table if possible]


def _fill(d: Drawing, count: int) -> None:
    """Write statements until ``count`` more stand there, or nothing is left to spend."""
    floor = max(0, d.budget - count)
    tries = 4 * count + 8
    while d.budget > floor and tries:
        tries -= 1
        steps = _steps(d)
        (step,) = d.rng.choices([s for _, s in steps], [w for w, _ in steps])
        step(d)


def _body(d: Drawing) -> None:
    """The statements of a region."""
    _fill(d, d.rng.randrange(1, 2 + min(8, max(2, d.budget // 2))))


def _finish(d: Drawing) -> None:
    """Write some of what was computed, the last of it always, so that it matters."""
    tiles = [t for t in dict.fromkeys(d.block.tiles) if tile_steps.tile_of(t).dtype is d.dtype]
    for tile in dict.fromkeys([*tiles[:1], d.pick(tiles), tiles[-1]]):
        tile_steps.store(d, "out", tile)
