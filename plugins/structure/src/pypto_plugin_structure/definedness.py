"""Whether a value that not every path assigns has been assigned where it is read.

A value that joins an assigned with an unassigned one is *doubtful*. Reading it is allowed when the conditions under
which the read stands rule out every path without an assignment: ``if found: use(x)`` after a loop that sets ``found``
where it assigns ``x``, or the ``else`` of ``if k == 0:`` in a loop whose first trip has ``k == 0``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import cast

import attrs

from pypto_core.ir import (
    And,
    BinaryExpr,
    Bounds,
    ConstBool,
    Eq,
    Expr,
    Ge,
    Gt,
    IterArg,
    Le,
    Lt,
    Mutator,
    Ne,
    Not,
    Or,
    Var,
    bounds_of,
    dtype_of,
    fold_binary,
    prove_eq,
    prove_le,
    prove_lt,
    term_key,
    used_vars,
)

Fact = tuple[Expr, bool]
"""A condition and whether it holds."""

_FUEL = 8000
"""Operators to look at before a proof is given up: some tens of milliseconds."""
_MAX_FACTS = 16
_MAX_INLINED = 24


@attrs.frozen(eq=False)
class Branch:
    """An if whose results join what its arms end with, None where an arm assigns nothing."""

    condition: Expr
    results: tuple[Var, ...]
    then: tuple[Expr | None, ...]
    other: tuple[Expr | None, ...]


@attrs.define(eq=False)
class Loop:
    """A loop; ``yields`` is filled in once its body has been read. ``first``: the loop variable's first value.

    ``enters``: holds when a trip is made, an expression over ``args``; ``certain``: there surely is one.
    ``number`` tells loops apart, ``outer`` are the numbers of those around it.
    """

    number: int
    outer: frozenset[int]
    args: tuple[Var, ...]
    inits: tuple[Expr | None, ...]
    results: tuple[Var, ...]
    enters: Expr | None
    first: tuple[Var, Expr] | None = None
    yields: tuple[Expr | None, ...] = ()
    certain: bool = False


@attrs.define(eq=False)
class Definedness:
    """What is known of the values made so far.

    ``doubtful``: values that may be unassigned. ``sites``: where joined values come from. ``values``: scalars by their
    definitions. ``homes``: the innermost loop in which a variable is defined, 0 outside of all.
    """

    doubtful: set[Var] = attrs.field(factory=set[Var])
    sites: dict[Var, Branch | Loop] = attrs.field(factory=dict[Var, "Branch | Loop"])
    values: dict[Var, Expr] = attrs.field(factory=dict[Var, Expr])
    homes: dict[Var, int] = attrs.field(factory=dict[Var, int])

    def is_doubtful(self, value: Expr | None) -> bool:
        """Whether the value may be unassigned."""
        return value is None or (isinstance(value, Var) and value in self.doubtful)

    def proved(self, value: Var, facts: Iterable[Fact]) -> bool:
        """Whether a doubtful value is assigned wherever these facts hold."""
        proof = _Proof(self)
        plain = proof.plain(facts)
        return proof.impossible(plain) or proof.defined(value, plain)

    def never(self, facts: Iterable[Fact]) -> bool:
        """Whether the facts can't all hold."""
        proof = _Proof(self)
        return proof.impossible(proof.plain(facts))

    def follows(self, condition: Expr, facts: Iterable[Fact], bounds: Bounds) -> bool:
        """Whether a condition surely holds where the facts do."""
        proof = _Proof(self)
        if _truth(proof.ground(condition, {}), bounds) is True:
            return True
        return proof.impossible(proof.plain((*facts, (condition, False))))


class _Ground(Mutator):
    """Puts values in the place of variables, those of scalars too, and folds what becomes constant."""

    def __init__(self, values: Mapping[Var, Expr], mapping: Mapping[Var, Expr]) -> None:
        super().__init__()
        self.values, self.mapping = values, mapping
        self.budget = _MAX_INLINED
        self.work = 1

    def visit_var(self, var: Var) -> Expr:
        """The value of the mapping, else the definition."""
        found = self.mapping.get(var)
        if found is not None:
            return found
        value = self.values.get(var)
        if value is None or self.budget <= 0:
            return var
        self.budget -= 1
        return self.visit(value)

    def visit_binary_expr(self, node: BinaryExpr) -> Expr:
        """Fold constants."""
        self.work += 1
        new = super().visit_binary_expr(node)
        return fold_binary(new) if isinstance(new, BinaryExpr) else new


class _Proof:
    def __init__(self, known: Definedness) -> None:
        self.known = known
        self.fuel = _FUEL
        self.assumed: set[object] = set()

    def ground(self, expr: Expr, mapping: Mapping[Var, Expr]) -> Expr:
        """The expression in terms of carries, loop variables and what is no scalar expression."""
        grounding = _Ground(self.known.values, mapping)
        new = grounding.visit(expr)
        self.fuel -= grounding.work
        return new

    def plain(self, facts: Iterable[Fact], mapping: Mapping[Var, Expr] | None = None) -> tuple[Fact, ...]:
        """The facts with values for variables, taken apart to comparisons and variables."""
        out: list[Fact] = []
        stack = [(self.ground(expr, mapping or {}), holds) for expr, holds in facts]
        while stack and len(out) < _MAX_FACTS:
            expr, holds = stack.pop()
            if isinstance(expr, Not):
                stack.append((expr.operand, not holds))
            elif (isinstance(expr, And) and holds) or (isinstance(expr, Or) and not holds):
                binary = cast(BinaryExpr, expr)
                stack += [(binary.left, holds), (binary.right, holds)]
            else:
                out.append((expr, holds))
        return tuple(out)

    def defined(self, value: Expr | None, facts: tuple[Fact, ...]) -> bool:
        """Whether ``value`` is assigned wherever the facts, which don't contradict each other, hold."""
        if value is None:
            return False
        if not isinstance(value, Var) or value not in self.known.doubtful:
            return True
        self.fuel -= 5
        if self.fuel < 0:
            return False
        site = self.known.sites[value]
        if isinstance(site, Branch):
            return self.branch(site, site.results.index(value), facts)
        if isinstance(value, IterArg):
            return self.carry(site, site.args.index(value), facts)
        return self.result(site, site.results.index(value), facts)

    def case(
        self, variables: tuple[Var, ...], values: tuple[Expr | None, ...], facts: Iterable[Fact]
    ) -> tuple[Fact, ...] | None:
        """The facts with values for variables, None when they then contradict each other."""
        mapping = {v: x for v, x in zip(variables, values, strict=True) if x is not None}
        # Twice: what a variable was replaced by may have a definition of its own.
        plain = self.plain(self.plain(facts, mapping))
        return None if self.impossible(plain) else plain

    def branch(self, site: Branch, index: int, facts: tuple[Fact, ...]) -> bool:
        for holds, values in ((True, site.then), (False, site.other)):
            inside = self.case(site.results, values, (*facts, (site.condition, holds)))
            if inside is not None and not self.defined(values[index], inside):
                return False
        return True

    def result(self, site: Loop, index: int, facts: tuple[Fact, ...]) -> bool:
        """The result of a loop is the initial value when no trip is made, what the last trip yields otherwise."""
        if not site.certain:
            never: tuple[Fact, ...] = () if site.enters is None else ((self.entry(site), False),)
            before = self.case(site.results, site.inits, (*facts, *never))
            if before is not None and not self.defined(site.inits[index], before):
                return False
        last = self.case(site.results, site.yields, facts)
        return last is None or self.defined(site.yields[index], last)

    def entry(self, site: Loop) -> Expr:
        assert site.enters is not None
        inits = {a: x for a, x in zip(site.args, site.inits, strict=True) if x is not None}
        return self.ground(site.enters, inits)

    def carry(self, site: Loop, index: int, facts: tuple[Fact, ...]) -> bool:
        """A carry holds the initial value in the first trip, what the previous trip yielded in later ones.

        By induction over the trips: a question that is asked again is answered yes.
        """
        variables, values = site.args, site.inits
        if site.first is not None:
            variables, values = (*variables, site.first[0]), (*values, site.first[1])
        first = self.case(variables, values, facts)
        if first is not None and not self.defined(site.inits[index], first):
            return False
        # Of another trip only what is said about its flags, or was known before the loop, is known.
        kept = tuple(f for f in facts if self.lasting(f[0], site))
        key = (site.args[index], frozenset((term_key(e), h) for e, h in kept))
        if key in self.assumed:
            return True
        self.assumed.add(key)
        later = self.case(site.args, site.yields, kept)
        return later is None or self.defined(site.yields[index], later)

    def lasting(self, expr: Expr, site: Loop) -> bool:
        """Whether a fact is one that an induction over the trips can rest on: a carried flag, or not of the loop."""
        if expr in site.args:
            return True
        homes = self.known.homes
        return all(homes.get(v, 0) in site.outer and v not in site.args for v in used_vars(expr))

    def impossible(self, facts: tuple[Fact, ...]) -> bool:
        """Whether two of the facts contradict each other, or one of them what is known."""
        said: dict[object, bool] = {}
        bounds = _bounds(facts)
        if bounds is None:
            return True
        for expr, holds in facts:
            key, value = _normal(expr, holds)
            if said.setdefault(key, value) is not value:
                return True
            if _truth(expr, bounds) is (not holds):
                return True
        return False


def _normal(expr: Expr, holds: bool) -> tuple[object, bool]:
    """A key that is one for a comparison and its opposite: ``a > b``, ``b < a`` and, negated, ``a <= b``."""
    if isinstance(expr, Gt):
        return (Lt, term_key(expr.right), term_key(expr.left)), holds
    if isinstance(expr, Ge):
        return (Lt, term_key(expr.left), term_key(expr.right)), not holds
    if isinstance(expr, Le):
        return (Lt, term_key(expr.right), term_key(expr.left)), not holds
    if isinstance(expr, Lt):
        return (Lt, term_key(expr.left), term_key(expr.right)), holds
    if isinstance(expr, Ne):
        return (Eq, term_key(expr.left), term_key(expr.right)), not holds
    if isinstance(expr, Eq):
        return (Eq, term_key(expr.left), term_key(expr.right)), holds
    return term_key(expr), holds


_COMPARE: dict[type[Expr], Callable[[Expr, Expr, Bounds], bool | None]] = {
    Lt: prove_lt,
    Le: prove_le,
    Eq: prove_eq,
    Gt: lambda a, b, bounds: prove_lt(b, a, bounds),
    Ge: lambda a, b, bounds: prove_le(b, a, bounds),
    Ne: lambda a, b, bounds: None if (same := prove_eq(a, b, bounds)) is None else not same,
}


def _truth(expr: Expr, bounds: Bounds) -> bool | None:
    if isinstance(expr, ConstBool):
        return expr.value
    if isinstance(expr, Not):
        inner = _truth(expr.operand, bounds)
        return None if inner is None else not inner
    if isinstance(expr, And | Or):
        binary = cast(BinaryExpr, expr)
        sides = (_truth(binary.left, bounds), _truth(binary.right, bounds))
        decisive = isinstance(expr, Or)
        if decisive in sides:
            return decisive
        return None if None in sides else not decisive
    compare = _COMPARE.get(type(expr))
    if compare is None:
        return None
    pair = cast(BinaryExpr, expr)
    # A comparison with not-a-number is false whatever the order says.
    return None if dtype_of(pair.left).is_float else compare(pair.left, pair.right, bounds)


def _bounds(facts: Iterable[Fact]) -> dict[Var, tuple[int | None, int | None]] | None:
    """Bounds of variables that comparisons with numbers give; None when they leave no value."""
    out: dict[Var, tuple[int | None, int | None]] = {}
    for expr, holds in facts:
        if not isinstance(expr, Lt | Le | Gt | Ge | Eq | Ne):
            continue
        pair = cast(BinaryExpr, expr)
        key, value = _normal(expr, holds)
        kind, swapped = cast("tuple[type, object, object]", key)[0], isinstance(expr, Gt | Le)
        left, right = (pair.right, pair.left) if swapped else (pair.left, pair.right)
        if kind is Eq and value:
            _narrow(out, left, *bounds_of(right))
            _narrow(out, right, *bounds_of(left))
        elif kind is Lt:
            strict = 1 if value else 0
            small, large = (left, right) if value else (right, left)
            high, low = bounds_of(large)[1], bounds_of(small)[0]
            _narrow(out, small, None, None if high is None else high - strict)
            _narrow(out, large, None if low is None else low + strict, None)
    return None if any(a is not None and b is not None and a > b for a, b in out.values()) else out


def _narrow(
    out: dict[Var, tuple[int | None, int | None]], expr: Expr, low: int | None, high: int | None
) -> None:
    if not isinstance(expr, Var):
        return
    a, b = out.get(expr, (None, None))
    out[expr] = (
        a if low is None else low if a is None else max(a, low),
        b if high is None else high if b is None else min(b, high),
    )
