"""Random programs for the tests of the IR, the printer and the codec.

They are well formed (every use is in the scope of its definition, regions yield what they must) but mean nothing:
operators are names that no table knows, so that nothing depends on their rules.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from pypto_core.diagnostics import SourceText, Span
from pypto_core.ir import (
    EMPTY,
    PTR,
    Add,
    ArgDirection,
    AssignStmt,
    AtomicType,
    BinaryExpr,
    Call,
    CompactMode,
    ConstBool,
    ConstFloat,
    ConstInt,
    DataType,
    EvalStmt,
    Expr,
    FloorDiv,
    FloorMod,
    ForKind,
    ForStmt,
    Function,
    FunctionType,
    IfStmt,
    IterArg,
    Le,
    Lt,
    MakeTuple,
    Max,
    MemorySpace,
    MemRef,
    Min,
    Mul,
    Ne,
    Op,
    PadValue,
    ParamDirection,
    Program,
    ReturnStmt,
    Stmt,
    Sub,
    TensorLayout,
    TensorType,
    TensorView,
    TileLayout,
    TileType,
    TileView,
    Var,
    WhileStmt,
    YieldStmt,
    replace,
    scalar_type,
    seq,
)

INDEX = scalar_type(DataType.INDEX)
BOOL = scalar_type(DataType.BOOL)
HINTS = ("x", "x", "x_1", "t", "t__ssa_v0", "lambda", "pl", "self", "M", "a b", "1st", "")
SOURCE = SourceText.of("one\ntwo\nthree\n", "kernel.py")

ATTR_VALUES = st.one_of(
    st.booleans(),
    st.integers(-(1 << 70), 1 << 70),
    st.floats(allow_nan=False),
    st.text(max_size=8).filter(lambda t: t.isprintable()),
    st.sampled_from([AtomicType.Add, DataType.BF16, MemorySpace.Acc, TensorLayout.NZ]),
    st.lists(st.sampled_from(list(ArgDirection)), max_size=3).map(tuple),
)


def scalars(leaves: list[Expr], depth: int = 3) -> st.SearchStrategy[Expr]:
    """INDEX expressions over these leaves and small constants."""
    leaf = (
        st.one_of(st.sampled_from(leaves), st.integers(-4, 40).map(ConstInt))
        if leaves
        else st.integers(-4, 40).map(ConstInt)
    )
    return st.recursive(
        leaf,
        lambda below: st.tuples(
            st.sampled_from([Add, Sub, Mul, FloorDiv, FloorMod, Min, Max]), below, below
        ).map(lambda t: t[0](t[1], t[2], INDEX)),
        max_leaves=depth,
    )


class _Builder:
    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.left = draw(st.integers(1, 7))
        self.base = Var(draw(st.sampled_from(["mem_vec_0", "x", "buf"])), PTR)
        self.open = Var("M", INDEX)

    def name(self) -> str:
        return self.draw(st.sampled_from(HINTS))

    def span(self) -> Span:
        line = self.draw(st.integers(0, 3))
        return Span("kernel.py", line, 1, line, 3, SOURCE) if line else Span.unknown()

    def scalar(self, scope: list[Var]) -> Expr:
        return self.draw(scalars([v for v in scope if v.type is INDEX]))

    def condition(self, scope: list[Var]) -> BinaryExpr:
        cls = self.draw(st.sampled_from([Lt, Le, Ne]))
        return cls(self.scalar(scope), self.scalar(scope), BOOL)

    def tile_type(self, scope: list[Var]) -> TileType:
        draw = self.draw
        space = draw(st.sampled_from([None, MemorySpace.Vec, MemorySpace.Mat, MemorySpace.Acc]))
        memref = view = None
        if space is not None and draw(st.booleans()):
            slots = draw(st.integers(1, 3))
            index = FloorMod(self.scalar(scope), ConstInt(slots), INDEX) if slots > 1 else None
            offset = draw(st.one_of(st.just(ConstInt(0, DataType.INT64)), st.just(self.scalar(scope))))
            memref = MemRef(self.base, offset, draw(st.integers(0, 4096)), False, slots, index)
        if draw(st.booleans()):
            valid = draw(
                st.sampled_from(
                    [
                        (),
                        (ConstInt(8), ConstInt(16)),
                        (Max(self.scalar(scope), ConstInt(0), INDEX), ConstInt(16)),
                    ]
                )
            )
            view = TileView(
                valid,
                blayout=draw(st.sampled_from(list(TileLayout))),
                fractal=draw(st.sampled_from([32, 512, 1024])),
                pad=draw(st.sampled_from(list(PadValue))),
                compact=draw(st.sampled_from(list(CompactMode))),
            )
        return TileType([ConstInt(16), ConstInt(16)], DataType.FP32, memref, view, space)

    def attrs(self, scope: list[Var]) -> dict[str, Any]:
        found = self.draw(st.dictionaries(st.sampled_from(["k", "note", "a b"]), ATTR_VALUES, max_size=2))
        if scope and self.draw(st.booleans()):
            found["vars"] = tuple(self.draw(st.lists(st.sampled_from(scope), min_size=1, max_size=2)))
        return found

    def body(self, scope: list[Var], depth: int, ending: Stmt | None = None) -> Stmt:
        scope = list(scope)
        stmts: list[Stmt] = []
        for _ in range(self.draw(st.integers(0, 3))):
            if self.left <= 0:
                break
            self.left -= 1
            stmts.append(self.statement(scope, depth))
        if ending is None:
            return seq(stmts) if stmts else EMPTY
        return seq([*stmts, ending])

    def statement(self, scope: list[Var], depth: int) -> Stmt:
        kinds = ["scalar", "tile", "eval", "const"] + (["for", "while", "if"] if depth < 2 else [])
        kind = self.draw(st.sampled_from(kinds))
        comments = self.draw(st.sampled_from([(), ("why",), ("two", "lines")]))
        if kind == "scalar":
            return self.assign(scope, self.scalar(scope), INDEX, comments)
        if kind == "tile":
            args = [self.draw(st.sampled_from(scope))] if scope else []
            args.append(MakeTuple((self.scalar(scope), ConstInt(0))))
            made = self.tile_type(scope)
            # Where a value lies is said of variables, not of what computes it.
            bare = replace(made, memref=None)
            call = Call(Op("system.probe"), args, {"mode": 1}, self.attrs(scope), type=bare, span=self.span())
            return self.assign(scope, call, made, comments)
        if kind == "eval":
            return EvalStmt(
                Call(Op("system.and"), [self.scalar(scope)], type=INDEX), leading_comments=comments
            )
        if kind == "const":
            value = self.draw(
                st.sampled_from(
                    [ConstFloat(0.1), ConstFloat(-0.0), ConstBool(True), ConstInt(7, DataType.INT32)]
                )
            )
            return self.assign(scope, value, value.type, comments)
        return {"for": self.loop, "while": self.while_, "if": self.branch}[kind](scope, depth, comments)

    def assign(self, scope: list[Var], value: Expr, kind: Any, comments: tuple[str, ...]) -> Stmt:
        var = Var(self.name(), kind, span=self.span())
        scope.append(var)
        return AssignStmt(var, value, span=self.span(), leading_comments=comments)

    def loop(self, scope: list[Var], depth: int, comments: tuple[str, ...]) -> Stmt:
        carried = self.draw(st.integers(0, 2))
        start, stop, step = ConstInt(0), self.scalar(scope), ConstInt(self.draw(st.integers(1, 2)))
        args = [IterArg(self.name(), INDEX, self.scalar(scope)) for _ in range(carried)]
        index = Var(self.name(), INDEX)
        kind = self.draw(st.sampled_from(list(ForKind)))
        attrs = self.draw(st.dictionaries(st.sampled_from(["k", "p"]), st.booleans(), max_size=1))
        if kind is ForKind.Pipeline:
            attrs["pipeline_stages"] = 2
        inner = [*scope, *args, index]
        ending = YieldStmt([self.scalar(inner) for _ in range(carried)]) if carried else None
        body = self.body(inner, depth + 1, ending)
        results = [Var(self.name(), INDEX) for _ in range(carried)]
        scope += results
        return ForStmt(
            index,
            start,
            stop,
            step,
            args,
            body,
            results,
            kind,
            attrs,
            leading_comments=comments,
            span=self.span(),
        )

    def while_(self, scope: list[Var], depth: int, comments: tuple[str, ...]) -> Stmt:
        arg = IterArg(self.name(), INDEX, self.scalar(scope))
        inner = [*scope, arg]
        condition = self.condition(inner)
        body = self.body(inner, depth + 1, YieldStmt([self.scalar(inner)]))
        result = Var(self.name(), INDEX)
        scope.append(result)
        return WhileStmt(condition, [arg], body, [result], leading_comments=comments)

    def branch(self, scope: list[Var], depth: int, comments: tuple[str, ...]) -> Stmt:
        count = self.draw(st.integers(0, 2))
        condition = self.condition(scope)
        both = [
            self.body(
                scope, depth + 1, YieldStmt([self.scalar(scope) for _ in range(count)]) if count else None
            )
            for _ in range(2)
        ]
        results = [Var(self.name(), INDEX) for _ in range(count)]
        scope += results
        otherwise = both[1] if count or self.draw(st.booleans()) else None
        return IfStmt(condition, both[0], otherwise, results, leading_comments=comments)

    def function(self, name: str) -> Function:
        draw = self.draw
        view = TensorView(layout=draw(st.sampled_from([TensorLayout.ND, TensorLayout.NZ])))
        params = [Var("n", INDEX), Var(self.name(), TensorType([self.open, 64], DataType.FP16, None, view))]
        results = [Var("r", INDEX)]
        body = self.body(params, 0, ReturnStmt([draw(st.sampled_from(params))]))
        return Function(
            name,
            params,
            [r.type for r in results],
            body,
            [ParamDirection.In, draw(st.sampled_from(list(ParamDirection)))],
            draw(st.sampled_from(list(FunctionType))),
            attrs=draw(st.dictionaries(st.sampled_from(["k", "p"]), ATTR_VALUES, max_size=2)),
        )


@st.composite
def functions(draw: Any, name: str = "kern") -> Function:
    """A random function."""
    return _Builder(draw).function(name)


@st.composite
def programs(draw: Any) -> Program:
    """A random program of one or two functions."""
    names = ["kern", "main"][: draw(st.integers(1, 2))]
    return Program("Prog", [_Builder(draw).function(n) for n in names])
