"""A scope becomes a function, and a call of it takes the scope's place.

What the scope uses of its surroundings becomes parameters. What is used of the scope afterwards comes back: written
tensors as themselves, computed ones as results. Scalars and views are not handed back but made once more outside,
where that is possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    SLOT_NUM,
    SPLIT,
    VOID,
    AssignStmt,
    Call,
    DataType,
    EvalStmt,
    Expr,
    Function,
    FunctionType,
    GlobalVar,
    Level,
    NameSource,
    ParamDirection,
    ReturnStmt,
    Role,
    ScalarType,
    ScopeStmt,
    Stmt,
    Submit,
    TensorType,
    TileType,
    TupleGetItemExpr,
    TupleType,
    Type,
    Var,
    base_name,
    deep_clone,
    defined_vars,
    flatten,
    replace,
    scalar_type,
    seq,
    substitute,
    type_vars,
    used_vars,
)
from pypto_core.ops import is_view
from pypto_plugin_tensor.storage import Storage

_TASK = ("manual_dep_edges", "allow_early_resolve")
_NOT_OF_THE_CALL = (*_TASK, SPLIT, SLOT_NUM, "role")


@attrs.frozen(kw_only=True, eq=False)
class Plan:
    """How to outline one scope.

    ``body``: what is to become the function. ``prologue`` is put ahead of it and defines what ``bound`` maps variables
    to. ``escapes``: the variables defined in the body that are used elsewhere; ``live``: those of the surroundings that
    are used elsewhere too. ``defined``: everything that the surrounding function defines; what is used and not defined
    is a symbolic extent.
    """

    name: str
    body: Stmt
    func_type: FunctionType
    scope: ScopeStmt
    escapes: frozenset[Var]
    defined: set[Var]
    names: NameSource
    functions: Mapping[str, Function]
    prologue: tuple[Stmt, ...] = ()
    bound: Mapping[Var, Expr] = attrs.field(factory=dict[Var, Expr])
    attrs: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    live: frozenset[Var] = frozenset()
    level: Level | None = None
    role: Role | None = None


@attrs.frozen(eq=False)
class Outlined:
    """The function, the statements that take the scope's place, those ahead of that, and the new names of variables
    that the scope wrote in place.
    """

    function: Function
    ahead: tuple[Stmt, ...]
    stmts: tuple[Stmt, ...]
    renamed: Mapping[Var, Var]


def outline(plan: Plan) -> Outlined:
    """Make the function and its call.

    Raises UserError for a scope whose tiles (PT371) or scalars (PT370) are used outside of it.
    """
    return _Outlining(plan).run()


class _Outlining:
    def __init__(self, plan: Plan) -> None:
        self.hoisted, self.plan = _hoist(plan)
        plan = self.plan
        self.storage = Storage(plan.body, plan.functions)
        inner = set(defined_vars(plan.body)) | set(plan.bound)
        self.captured = [v for v in used_vars(plan.body) if v not in inner]
        self.again = _Again(plan.body, inner, self.storage)
        self.span = plan.scope.span

    def run(self) -> Outlined:
        plan = self.plan
        outputs = self._outputs()
        mapping, params = self._params()
        body, remap = deep_clone(plan.body, {**mapping, **plan.bound})
        returned = [remap.get(o.var, o.var) for o in outputs]
        tail = [ReturnStmt(tuple(returned), span=self.span)] if returned else []
        function = Function(
            plan.name,
            tuple(mapping[v] for v in params),  # type: ignore[misc]
            tuple(v.type for v in returned),
            seq((*plan.prologue, *flatten(body), *tail), self.span),
            tuple(self._direction(v) for v in params),
            plan.func_type,
            plan.level,
            plan.role,
            attrs=plan.attrs,
            span=self.span,
        )
        call = self._call(tuple(params), tuple(o.var.type for o in outputs))
        stmts, renamed = self._received(call, outputs)
        return Outlined(function, tuple(self.hoisted), self._with_comments(stmts), renamed)

    # -- parameters

    def _params(self) -> tuple[dict[Var, Expr], list[Var]]:
        """What stands for each captured variable inside, and the captured variables that are parameters."""
        for var in self.captured:
            if isinstance(var.type, TileType):
                raise _tile_crosses(var, self.span)
        bare = self._extents()
        mapping: dict[Var, Expr] = {}
        params: list[Var] = []
        for var in self.captured:
            if isinstance(var.type, TensorType):
                continue
            if var in bare:
                # An extent of a parameter: known inside from the parameter's type.
                if var in self.plan.defined:
                    mapping[var] = Var(base_name(var.name_hint), var.type, span=var.span)
            else:
                mapping[var] = Var(base_name(var.name_hint), var.type, span=var.span)
        for var in self.captured:
            if isinstance(var.type, TensorType):
                mapping[var] = Var(base_name(var.name_hint), substitute(var.type, mapping), span=var.span)
        params = [v for v in self.captured if v in mapping and v not in bare]
        return mapping, params

    def _extents(self) -> set[Var]:
        """Captured variables, and symbols, that are an extent of a captured tensor."""
        found: set[Var] = set()
        for var in self.captured:
            if isinstance(var.type, TensorType):
                found.update(d for d in var.type.shape if isinstance(d, Var) and d.type is _INDEX)
        return found

    def _direction(self, var: Var) -> ParamDirection:
        if var not in self.storage.writes:
            return ParamDirection.In
        return ParamDirection.InOut if var in self.storage.reads else ParamDirection.Out

    # -- results

    def _outputs(self) -> list[_Output]:
        """The values that come back: one per storage, and one per computed tensor."""
        found: dict[Var, _Output] = {}
        order = {v: i for i, v in enumerate(self.captured)}
        inner = defined_vars(self.plan.body)
        for var in inner:
            if var not in self.plan.escapes:
                continue
            if isinstance(var.type, TileType):
                raise _tile_crosses(var, self.span)
            if not self._comes_back(var):
                self._once_more(var)
        for var in inner:
            if (var in self.plan.escapes or var in self.again.bases) and self._comes_back(var):
                root = self.storage.places[var].root
                known = found.get(root)
                found[root] = _Output(var, root, () if known is None else (*known.aliases, known.var))
        for root in self.storage.writes:
            if root in order and root in self.plan.live:
                found.setdefault(root, _Output(root, root))
        rank = {root: order.get(root, len(order) + i) for i, root in enumerate(found)}
        outputs = [found[root] for root in sorted(found, key=rank.__getitem__)]
        for output in outputs:
            for var in type_vars(output.var.type):
                if var in self.again.inner:
                    self._once_more(var)
        return outputs

    def _comes_back(self, var: Var) -> bool:
        """Whether a variable of the scope is handed back: a tensor that is computed or written, and no view."""
        place = self.storage.of(var)
        if place is None or not place.whole:
            return False
        return place.root in self.storage.writes or place.root in self.again.inner

    def _once_more(self, var: Var) -> None:
        if not self.again.want(var):
            raise UserError(
                f"'{base_name(var.name_hint)}' is computed on the core and used outside of its scope",
                code="PT370",
                span=var.span if var.span.is_valid else self.span,
                facts={"scope": self.plan.name, "type": repr(var.type)},
                remedy="write it into a tensor with pl.write and read it back outside with pl.read",
            )

    def _received(self, call: Expr, outputs: Sequence[_Output]) -> tuple[list[Stmt], dict[Var, Var]]:
        before, after = self.again.stmts()
        stmts: list[Stmt] = list(before)
        task = self.plan.scope.task_id
        names = [self._receiver(o) for o in outputs]
        latest = {o.root: name for o, name in zip(outputs, names, strict=True)}
        if not names and not isinstance(call, Submit):
            stmts.append(EvalStmt(call, span=self.span))
        elif isinstance(call, Submit) or len(names) > 1:
            whole = Var(self.plan.names.fresh(self.plan.name, "tmp"), call.type, span=self.span)
            stmts.append(AssignStmt(whole, call, span=self.span))
            taken = [*names, task] if isinstance(call, Submit) and task is not None else names
            stmts += [
                AssignStmt(var, TupleGetItemExpr(whole, i, span=self.span), span=self.span)
                for i, var in enumerate(taken)
            ]
        else:
            stmts.append(AssignStmt(names[0], call, span=self.span))
        for output, name in zip(outputs, names, strict=True):
            stmts += [AssignStmt(alias, name, span=self.span) for alias in output.aliases]
        stmts += [replace(s, value=substitute(s.value, latest)) for s in after]
        return stmts, {root: name for root, name in latest.items() if root in self.plan.live}

    def _receiver(self, output: _Output) -> Var:
        if output.var is not output.root or output.var in self.again.inner:
            return output.var
        name = self.plan.names.fresh(output.var.name_hint, "out")
        return Var(name, output.var.type, span=self.span)

    # -- the call

    def _call(self, args: tuple[Var, ...], results: tuple[Type, ...]) -> Expr:
        scope, op = self.plan.scope, GlobalVar(self.plan.name)
        notes = self._notes(args)
        if scope.task_id is not None or any(key in scope.attrs for key in _TASK):
            kind = TupleType((*results, scalar_type(DataType.TASK_ID)))
            deps = tuple(scope.attrs.get("manual_dep_edges", ()))
            early = bool(scope.attrs.get("allow_early_resolve", False))
            return Submit(op, args, deps, attrs=notes, allow_early_resolve=early, type=kind, span=self.span)
        kind = VOID if not results else results[0] if len(results) == 1 else TupleType(results)
        return Call(op, args, attrs=notes, type=kind, span=self.span)

    def _notes(self, args: tuple[Var, ...]) -> dict[str, Any]:
        """The scope's notes; tensors without dependencies are listed by their positions among the arguments."""
        notes = {k: v for k, v in self.plan.scope.attrs.items() if k not in _NOT_OF_THE_CALL}
        free = notes.pop("arg_direction_overrides_vars", ())
        positions = tuple(i for i, arg in enumerate(args) if arg in free)
        return {**notes, "arg_direction_overrides": positions} if positions else notes

    def _with_comments(self, stmts: list[Stmt]) -> tuple[Stmt, ...]:
        comments = self.plan.scope.leading_comments
        if comments and stmts:
            stmts[0] = replace(stmts[0], leading_comments=(*comments, *stmts[0].leading_comments))
        return tuple(stmts)


@attrs.frozen(eq=False)
class _Output:
    """A returned value: ``var`` of the scope, with older names of the same storage, which is that of ``root``.

    A tensor of the surroundings that the scope wrote without giving it a new name stands for itself.
    """

    var: Var
    root: Var
    aliases: tuple[Var, ...] = ()


class _Again:
    """Statements of a scope that are executed outside once more: scalars, views, and what these need.

    ``bases``: the written tensors of the scope that views are of, which have to be handed back.
    """

    def __init__(self, body: Stmt, inner: set[Var], storage: Storage) -> None:
        self.inner, self.storage = inner, storage
        self.bases: set[Var] = set()
        self._made = {s.var: s for s in flatten(body) if isinstance(s, AssignStmt)}
        self._wanted: dict[Var, None] = {}
        self._possible: dict[Var, bool] = {}

    def possible(self, var: Var) -> bool:
        """Whether the variable can be made outside, where the scope's surroundings are known."""
        if var not in self._possible:
            stmt = self._made.get(var)
            self._possible[var] = (
                stmt is not None
                and self._cheap(stmt.value)
                and all(v not in self.inner or self._is_base(v) or self.possible(v) for v in _needs(stmt))
            )
        return self._possible[var]

    def _is_base(self, var: Var) -> bool:
        place = self.storage.of(var)
        return place is not None and place.whole and place.root in self.storage.writes

    def _cheap(self, value: Expr) -> bool:
        if isinstance(value, Call):
            if value.name == "tensor.read":
                return self.storage.root(value.args[0]) not in self.storage.writes
            return value.name == "tensor.dim" or (is_view(value) and isinstance(value.type, TensorType))
        return not isinstance(value, Submit | TupleGetItemExpr)

    def want(self, var: Var) -> bool:
        """Ask for a variable; False when it can't be made outside."""
        if var in self._wanted:
            return True
        if not self.possible(var):
            return False
        for need in _needs(self._made[var]):
            if need not in self.inner:
                continue
            if self._is_base(need):
                self.bases.add(need)
            else:
                self.want(need)
        self._wanted[var] = None
        return True

    def stmts(self) -> tuple[list[AssignStmt], list[AssignStmt]]:
        """What goes ahead of the call, and the views that follow it."""
        chosen = [self._made[v] for v in self._wanted]
        views = [s for s in chosen if isinstance(s.var.type, TensorType)]
        return [s for s in chosen if s not in views], list(views)


def _hoist(plan: Plan) -> tuple[list[Stmt], Plan]:
    """What of a scope is better done ahead of it.

    Tensors that it creates, fills and hands on, but does not read, are then written where they will lie, instead of
    being computed on chip and copied. Tensors of its surroundings that it looks at under another shape are memory
    with that shape outside; on chip the whole tensor would have to be loaded.
    """
    stmts = flatten(plan.body)
    creates = {s.var for s in stmts if isinstance(s, AssignStmt) and _is_create(s.value)}
    inner = set(defined_vars(plan.body)) | set(plan.bound)
    filled = _filled(plan, creates) if creates else set[Var]()
    moved: dict[Var, Stmt] = {}
    for stmt in stmts:
        if isinstance(stmt, AssignStmt) and not inner & set(_needs(stmt)):
            if stmt.var in filled or (isinstance(stmt.value, Call) and stmt.value.name == "tensor.reshape"):
                moved[stmt.var] = stmt
                inner.discard(stmt.var)
    if not moved:
        return [], plan
    rest = [s for s in stmts if not (isinstance(s, AssignStmt) and s.var in moved)]
    body = seq(rest, plan.body.span)
    live = plan.live | {var for var in moved if var in plan.escapes}
    return list(moved.values()), attrs.evolve(plan, body=body, live=live)


def _filled(plan: Plan, creates: set[Var]) -> set[Var]:
    """The created tensors that the scope writes, does not read, and hands on whole."""
    storage = Storage(plan.body, plan.functions)
    leaving = {
        place.root
        for var in defined_vars(plan.body)
        if var in plan.escapes and (place := storage.of(var)) is not None and place.whole
    }
    return {v for v in creates & leaving if v in storage.writes and v not in storage.reads}


def _is_create(value: Expr) -> bool:
    return isinstance(value, Call) and value.name == "tensor.create" and "init_value" not in value.kwargs


def _needs(stmt: AssignStmt) -> Iterable[Var]:
    return (*used_vars(stmt.value), *type_vars(stmt.var.type))


def _tile_crosses(var: Var, span: Span) -> UserError:
    return UserError(
        f"tile '{base_name(var.name_hint)}' is made on one side of a scope and used on the other",
        code="PT371",
        span=var.span if var.span.is_valid else span,
        facts={"tile": repr(var.type)},
        remedy="store it into a tensor in the scope that makes it, and load it where it is used",
    )


_INDEX: ScalarType = scalar_type(DataType.INDEX)

__all__ = ["Outlined", "Plan", "outline"]
