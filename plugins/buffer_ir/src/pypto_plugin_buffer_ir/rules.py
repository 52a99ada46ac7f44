"""Which tile operators have a form on buffers, and under which conditions: what selection accepts, lowering can do.

Selection asks a row whether a call's options, arguments and element types are those that lowering carries out;
lowering has one function for every row. An operator without a row keeps its whole kernel in tiles.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType

import attrs

from pypto_core.ir import AtomicType, DataType, MemorySpace, PadValue
from pypto_plugin_buffer_ir.elementwise import RECIPES, Recipe

FP16, BF16, FP32, INT32 = DataType.FP16, DataType.BF16, DataType.FP32, DataType.INT32
INT8, INT16, UINT8 = DataType.INT8, DataType.INT16, DataType.UINT8

ROW_BYTES = 32
"""Rows of a tile in Vec, and the places where its windows begin, are multiples of so many bytes."""

TRANSFER_DTYPES = frozenset({FP16, BF16, FP32, INT32})
"""Elements that go between global memory and Vec as they are."""
RELABEL_DTYPES = frozenset({FP16, BF16, FP32, INT16, INT32, UINT8})
"""Elements that the bytes of a tile in Vec may be looked at as."""
CUBE_DTYPES = frozenset({FP16, BF16, FP32, INT8})
"""Elements of the operands of a matrix product, and of tiles in Mat."""
STORED_ACC: Mapping[DataType, frozenset[DataType]] = MappingProxyType(
    {FP32: frozenset({FP32, FP16, BF16}), INT32: frozenset({INT32})}
)
"""Elements of an accumulator → those of the tensors that it is stored to without a scale."""
SCALAR_DTYPES = frozenset(
    {INT8, INT16, INT32, DataType.INT64, DataType.INDEX, DataType.FP16, DataType.BF16, DataType.FP32}
)
"""Scalars that can be converted to the elements of a tile."""

MATRIX_SPACES = frozenset({MemorySpace.Mat, MemorySpace.Left, MemorySpace.Right, MemorySpace.Acc})
"""Memories whose tiles are laid out in boxes."""


class Form(enum.Enum):
    """How an operator is selected: one test each, in :mod:`pypto_plugin_buffer_ir.select`."""

    ALLOC = "allocation"
    CREATE = "tile without content"
    LOAD = "load"
    STORE = "store"
    MOVE = "copy"
    ELEMENTWISE = "element by element"
    SLICE = "window"
    ASSEMBLE = "write into a window"
    RELABEL = "other look at the same bytes"
    SET_VALID = "other valid extents"
    TRANSPOSE_VIEW = "rows and columns exchanged"
    EXTRACT = "copy of a part"
    MATMUL = "matrix product"
    MATMUL_ACC = "matrix product added up"
    QUERY = "question which block this is"


ANY = None
"""Every value of an option is carried out."""

Values = frozenset[object] | None


def _options(value: Mapping[str, Values]) -> Mapping[str, Values]:
    return MappingProxyType(dict(value))


@attrs.frozen(kw_only=True)
class Rule:
    """One row.

    ``tile``: the operator. ``arguments``: how many the lowering takes, least and most. ``dtypes``: element types of its
    tiles in Vec. ``options``: what it carries out, with the values (ANY: all of them); an option that is not listed may
    only be absent. ``recipe``: the row of an elementwise operator.
    """

    tile: str
    form: Form
    arguments: tuple[int, int]
    dtypes: frozenset[DataType] = TRANSFER_DTYPES
    options: Mapping[str, Values] = attrs.field(factory=dict[str, Values], converter=_options)
    recipe: Recipe | None = None


def _elementwise(recipe: Recipe) -> Rule:
    count = max(position for position, _ in recipe.inputs) + 1
    options: dict[str, Values] = {"high_precision": ANY} if recipe.precision else {}
    if recipe.name == "full":
        options["dtype"] = ANY
    return Rule(
        tile=recipe.tile_op,
        form=Form.ELEMENTWISE,
        arguments=(count, count),
        dtypes=recipe.dtypes,
        options=options,
        recipe=recipe,
    )


def _only(*values: object) -> frozenset[object]:
    return frozenset(values)


_S = MemorySpace
_ROWS = (
    Rule(
        tile="tile.alloc", form=Form.ALLOC, arguments=(0, 0),
        options={"memory_space": ANY, "size": ANY, "pinned": ANY},
    ),
    Rule(
        tile="tile.create", form=Form.CREATE, arguments=(1, 1),
        options={"dtype": ANY, "target_memory": ANY, "transpose": ANY, "flat_layout": _only(False), "compact": ANY},
    ),
    Rule(
        tile="tile.load", form=Form.LOAD, arguments=(3, 4),
        options={"target_memory": _only(_S.Vec, _S.Mat), "clamp": _only(False)},
    ),
    Rule(tile="tile.store", form=Form.STORE, arguments=(3, 3), options={"atomic": _only(AtomicType.None_)}),
    Rule(
        tile="tile.move", form=Form.MOVE, arguments=(1, 1),
        options={"target_memory": _only(_S.Vec, _S.Left, _S.Right), "blayout": ANY, "slayout": ANY},
    ),
    Rule(
        tile="tile.extract", form=Form.EXTRACT, arguments=(4, 4),
        options={"target_memory": _only(_S.Vec, _S.Left, _S.Right)},
    ),
    Rule(tile="tile.slice", form=Form.SLICE, arguments=(3, 4), options={"pad_value": _only(PadValue.null)}),
    Rule(tile="tile.assemble", form=Form.ASSEMBLE, arguments=(3, 3)),
    Rule(tile="tile.reshape", form=Form.RELABEL, arguments=(2, 2), dtypes=RELABEL_DTYPES),
    Rule(
        tile="tile.reinterpret_view", form=Form.RELABEL, arguments=(1, 2), dtypes=RELABEL_DTYPES,
        options={"dtype": ANY},
    ),
    Rule(tile="tile.transpose_view", form=Form.TRANSPOSE_VIEW, arguments=(1, 1)),
    Rule(tile="tile.set_validshape", form=Form.SET_VALID, arguments=(3, 3)),
    Rule(tile="tile.matmul", form=Form.MATMUL, arguments=(2, 2)),
    Rule(tile="tile.matmul_acc", form=Form.MATMUL_ACC, arguments=(3, 4)),
    *(
        Rule(tile=f"tile.{name}", form=Form.QUERY, arguments=(0, 0))
        for name in ("get_block_idx", "get_block_num", "get_subblock_idx")
    ),
    *(_elementwise(recipe) for recipe in RECIPES.values()),
)  # fmt: skip

RULES: Mapping[str, Rule] = MappingProxyType(
    {rule.tile: rule for rule in sorted(_ROWS, key=lambda r: r.tile)}
)
"""Operator → row, sorted."""
