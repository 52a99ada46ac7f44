"""Modules, functions, loops and branches: what holds other operations."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from pypto_plugin_pto.checker import arithmetic, instructions, special
from pypto_plugin_pto.checker.cursor import SYNTAX, shown
from pypto_plugin_pto.checker.lexer import END, Fault, Token
from pypto_plugin_pto.checker.state import MISMATCH, Edit, Reading, State
from pypto_plugin_pto.checker.tiletypes import canonical, is_tile, tile_fields

STRUCTURE, UNKNOWN = "PTO-112", "PTO-102"
DEEPEST = 64
"""Regions within regions that are read; no kernel comes near it."""


class TooDeepError(Fault):
    """A fault that ends the reading: what stands deeper is not looked at."""


class Structure:
    """Reads a whole text into a state's findings."""

    def __init__(self, state: State) -> None:
        self.state, self.cursor = state, state.cursor
        self._depth = 0

    # -- modules and functions

    def text(self) -> None:
        """Everything there is."""
        cursor = self.cursor
        seen = False
        try:
            while cursor.peek().kind != END:
                if cursor.peek().kind == "attribute":
                    self._alias()
                elif cursor.accept("module"):
                    self._module()
                    seen = True
                elif cursor.sees("func.func"):
                    self._function()
                    seen = True
                else:
                    raise Fault(
                        SYNTAX, f"'module' is expected here, not {shown(cursor.peek())}", cursor.peek()
                    )
        except Fault as fault:
            self.state.report(fault)
            return
        if not seen:
            self.state.report(Fault(STRUCTURE, "there is no module in this text", cursor.peek()))

    def _alias(self) -> None:
        """``#loc1 = loc(...)``."""
        self.cursor.next()
        self.cursor.expect("=")
        if self.cursor.sees("loc"):
            self.cursor.location()
        else:
            self.cursor.next()

    @contextmanager
    def _within(self, opening: Token) -> Generator[None]:
        """One region deeper."""
        if self._depth == DEEPEST:
            raise TooDeepError(STRUCTURE, f"more than {DEEPEST} regions lie within each other", opening)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def _module(self) -> None:
        cursor = self.cursor
        if cursor.peek().kind == "symbol":
            cursor.next()
        if cursor.accept("attributes"):
            cursor.attributes()
        opening = cursor.expect("{")
        with self._within(opening):
            while not cursor.accept("}"):
                if cursor.peek().kind == END:
                    raise Fault(STRUCTURE, "the '{' of the module is never closed", opening)
                if cursor.accept("module"):
                    self._module()
                else:
                    self._function()
        cursor.location()

    def _function(self) -> None:
        cursor = self.cursor
        cursor.expect("func.func")
        if cursor.sees("private") or cursor.sees("public"):
            cursor.next()
        name = cursor.kind("symbol", "the name of a function")
        self.state.define_function(name)
        with self.state.function():
            cursor.expect("(")
            for token, kind in cursor.several(self._parameter, ")"):
                if token is not None:
                    self.state.define(token, kind.text, "parameter")
            cursor.expect(")")
            results = self._result_types()
            if cursor.accept("attributes"):
                cursor.attributes()
            if cursor.sees("{"):
                self._function_body(name, results)
        cursor.location()

    def _parameter(self) -> tuple[Token | None, Token]:
        cursor = self.cursor
        token = None
        if cursor.peek().kind == "value":
            token = cursor.value()
            cursor.expect(":")
        kind = cursor.type()
        cursor.attributes()
        cursor.location()
        return token, kind

    def _result_types(self) -> list[str]:
        cursor = self.cursor
        if not cursor.accept("->"):
            return []
        if not cursor.accept("("):
            return [cursor.type().text]
        types = [t.text for t in cursor.several(cursor.type, ")")]
        cursor.expect(")")
        return types

    def _function_body(self, name: Token, results: list[str]) -> None:
        last = self._block(self.cursor.expect("{"))
        if last is None or last[0] not in ("return", "func.return"):
            self.state.report(Fault(STRUCTURE, f"function {name.text} does not end with 'return'", name))
            return
        self._compare_types(last[1], last[2], results, "returns")

    # -- blocks of operations

    def _block(self, opening: Token) -> tuple[str, Token, list[str | None]] | None:
        """Operations up to the closing brace; name, place and operand types of the last one."""
        cursor = self.cursor
        last = None
        with self._within(opening):
            while not cursor.accept("}"):
                token = cursor.peek()
                if token.kind == END:
                    raise Fault(STRUCTURE, "this '{' is never closed", opening)
                if last is not None and last[0] in _TERMINATORS:
                    self.state.report(
                        Fault(STRUCTURE, f"nothing may follow '{last[0]}' in its region", token)
                    )
                    last = None
                last = self._operation()
        return last

    def _operation(self) -> tuple[str, Token, list[str | None]]:
        cursor, begin = self.cursor, self.cursor.peek()
        results: list[Token] = []
        defined = False
        try:
            if begin.kind == "value":
                results = cursor.several(cursor.value)
                cursor.expect("=")
            name = cursor.next()
            reading = self._read(name, results)
            defined = True
            self._define(name, results, reading)
            if name.text not in _HOLDERS:
                self._end_of_operation(name)
            return name.text, name, self._terminated(reading)
        except TooDeepError:
            raise
        except Fault as fault:
            self.state.report(fault)
            if not defined:
                for token in results:
                    self.state.define(token, None, "unknown")
            self._recover(begin)
            return begin.text, begin, []

    def _end_of_operation(self, name: Token) -> None:
        """Behind an operation stands a location or the next line."""
        before = self.cursor.peek()
        self.cursor.location()
        if self.cursor.peek() is not before:
            self._edit(before, "")
        following = self.cursor.peek()
        if following.kind == END or following.text == "}":
            return
        if self.state.source.line_of(following) == self.state.source.line_of(
            self.cursor.tokens[self.cursor.at - 1]
        ):
            raise Fault(
                SYNTAX, f"{shown(following)} is more than the operation '{name.text}' takes", following
            )

    def _recover(self, begin: Token) -> None:
        """Go on with the line that begins the next operation; a region that was opened is skipped."""
        cursor, source = self.cursor, self.state.source
        line = max(source.line_of(begin), source.line_of(cursor.peek()))
        if cursor.at and source.line_of(cursor.peek()) > source.line_of(begin) and _starts(cursor.peek()):
            return
        depth = 0
        while cursor.peek().kind != END:
            token = cursor.peek()
            if depth <= 0 and token.text == "}" and source.line_of(token) > line:
                return
            if depth <= 0 and source.line_of(token) > line and _starts(token):
                return
            depth += (token.text == "{") - (token.text == "}")
            if depth < 0:
                return
            cursor.next()

    def _read(self, name: Token, results: Sequence[Token]) -> Reading:
        text = name.text
        if text == "scf.for":
            return self._for(name)
        if text == "scf.if":
            return self._if(name)
        if text == "scf.while":
            return self._while(name)
        if text in _TERMINATORS:
            return self._terminator(name)
        if name.kind == "string":
            return special.read_generic(self.state, name)
        if text.startswith("pto."):
            return self._instruction(text[4:], name)
        if text.startswith(("arith.", "math.", "builtin.")):
            return self._used(arithmetic.read(text, self.state, name))
        raise Fault(UNKNOWN, f"there is no operation {shown(name)}", name)

    def _instruction(self, name: str, token: Token) -> Reading:
        reader = special.READERS.get(name)
        if reader is not None:
            reading = self._used(reader(self.state, token))
        elif name in instructions.FORMS:
            reading = self._used(instructions.read(name, self.state, token))
        else:
            raise Fault(UNKNOWN, f"there is no instruction 'pto.{name}'", token, instructions.nearest(name))
        operands = ", ".join([t.text for t, _ in reading.uses])
        types = ", ".join([kind or "none" for _, kind in reading.uses])
        generic = f'"pto.{name}"({operands}) : ({types}) -> ({", ".join(reading.results)})'
        self._edit(token, generic)
        return reading

    def _edit(self, begin: Token, text: str) -> None:
        """The operation from ``begin`` to the last token read is ``text`` in generic form."""
        last = self.cursor.tokens[self.cursor.at - 1]
        self.state.edits.append(Edit(begin.at, last.at + len(last.text), text))

    def _used(self, reading: Reading) -> Reading:
        for token, kind in reading.uses:
            self.state.use(token, kind)
        return reading

    def _define(self, name: Token, results: Sequence[Token], reading: Reading) -> None:
        if len(results) != len(reading.results):
            raise Fault(
                "PTO-103",
                f"'{name.text}' has {len(reading.results)} results, {len(results)} are named",
                results[0] if results else name,
            )
        for token, kind in zip(results, reading.results, strict=True):
            if is_tile(kind):
                tile_fields(Token("type", kind, token.at))
            self.state.define(token, kind, reading.maker or name.text, reading.constant)

    # -- control flow

    def _for(self, name: Token) -> Reading:
        cursor, state = self.cursor, self.state
        variable = cursor.value()
        cursor.expect("=")
        bounds = [cursor.value()]
        for word in ("to", "step"):
            cursor.expect(word)
            bounds.append(cursor.value())
        carried, inits, types = self._carried()
        kind = cursor.type().text if cursor.accept(":") else "index"
        for bound in bounds:
            state.use(bound, kind)
        step = state.constant(bounds[2])
        if step is not None and step <= 0:
            raise Fault(
                "PTO-106",
                f"the step of a loop is above 0, not {step}",
                bounds[2],
                "count upwards in the loop",
            )
        for token, type_ in zip(inits, types, strict=True):
            state.use(token, type_)
        with state.region():
            state.define(variable, kind, "scf.for")
            for token, type_ in zip(carried, types, strict=True):
                state.define(token, type_, "scf.for")
            last = self._block(cursor.expect("{"))
        self._check_yield(name, last, types)
        return Reading([], types)

    def _carried(self) -> tuple[list[Token], list[Token], list[str]]:
        """``iter_args(%a = %b) -> (type)`` if it is next."""
        cursor = self.cursor
        if not cursor.accept("iter_args"):
            return [], [], []
        opening = cursor.expect("(")
        pairs = cursor.several(self._binding, ")")
        cursor.expect(")")
        types = self._result_types()
        if len(types) != len(pairs):
            raise Fault("PTO-103", f"{len(pairs)} values are carried, {len(types)} types are given", opening)
        return [p[0] for p in pairs], [p[1] for p in pairs], types

    def _binding(self) -> tuple[Token, Token]:
        inner = self.cursor.value()
        self.cursor.expect("=")
        return inner, self.cursor.value()

    def _if(self, name: Token) -> Reading:
        cursor = self.cursor
        self.state.use(cursor.value(), "i1")
        types = self._result_types()
        for number in range(2):
            if number and not cursor.accept("else"):
                if types:
                    raise Fault(STRUCTURE, "an 'scf.if' with results needs an 'else'", name)
                break
            with self.state.region():
                last = self._block(cursor.expect("{"))
            self._check_yield(name, last, types)
        return Reading([], types)

    def _while(self, name: Token) -> Reading:
        cursor, state = self.cursor, self.state
        pairs: list[tuple[Token, Token]] = []
        if cursor.accept("("):
            pairs = cursor.several(self._binding, ")")
            cursor.expect(")")
        cursor.words(":", "(")
        before = [t.text for t in cursor.several(cursor.type, ")")]
        cursor.expect(")")
        after = self._result_types() if cursor.sees("->") else []
        if len(before) != len(pairs):
            raise Fault("PTO-103", f"{len(pairs)} values are carried, {len(before)} types are given", name)
        for (_, init), kind in zip(pairs, before, strict=True):
            state.use(init, kind)
        with state.region():
            for (inner, _), kind in zip(pairs, before, strict=True):
                state.define(inner, kind, "scf.while")
            last = self._block(cursor.expect("{"))
        if last is None or last[0] != "scf.condition":
            raise Fault(STRUCTURE, "the first region of 'scf.while' ends with 'scf.condition'", name)
        self._compare_types(last[1], last[2], after, "hands on")
        cursor.expect("do")
        with state.region():
            last = self._loop_body(after)
        self._check_yield(name, last, before)
        return Reading([], after)

    def _loop_body(self, types: list[str]) -> tuple[str, Token, list[str | None]] | None:
        cursor = self.cursor
        opening = cursor.expect("{")
        if cursor.peek().kind == "label":
            label = cursor.next()
            given: list[str | None] = []
            if cursor.accept("("):
                for token, kind in cursor.several(self._parameter, ")"):
                    given.append(kind.text)
                    if token is not None:
                        self.state.define(token, kind.text, "scf.while")
                cursor.expect(")")
            cursor.expect(":")
            self._compare_types(label, given, types, "takes")
        return self._block(opening)

    # -- ends of regions

    def _terminator(self, name: Token) -> Reading:
        """Operands and their types; the condition of a loop comes first, in brackets."""
        cursor, state = self.cursor, self.state
        if name.text == "scf.condition":
            cursor.expect("(")
            state.use(cursor.value(), "i1")
            cursor.expect(")")
        if cursor.peek().kind != "value":
            return Reading()
        values = cursor.several(cursor.value)
        cursor.expect(":")
        types = [t.text for t in cursor.several(cursor.type)]
        if len(values) != len(types):
            raise Fault("PTO-103", f"{len(values)} values and {len(types)} types", values[0])
        return self._used(Reading(list(zip(values, types, strict=True))))

    @staticmethod
    def _terminated(reading: Reading) -> list[str | None]:
        return [kind for _, kind in reading.uses]

    def _check_yield(
        self, name: Token, last: tuple[str, Token, list[str | None]] | None, types: Sequence[str]
    ) -> None:
        if last is not None and last[0] == "scf.yield":
            self._compare_types(last[1], last[2], types, "yields")
            return
        closing = self.cursor.tokens[self.cursor.at - 1]
        self.state.edits.append(Edit(closing.at, closing.at, "scf.yield "))
        if types:
            self.state.report(Fault(STRUCTURE, f"a region of '{name.text}' does not yield its results", name))

    def _compare_types(
        self, token: Token, have: Sequence[str | None], want: Sequence[str], verb: str
    ) -> None:
        if len(have) != len(want):
            self.state.report(
                Fault(
                    MISMATCH, f"'{token.text}' {verb} {len(have)} values where {len(want)} are needed", token
                )
            )
            return
        for number, (a, b) in enumerate(zip(have, want, strict=True)):
            if a is not None and canonical(a) != canonical(b):
                self.state.report(
                    Fault(
                        MISMATCH,
                        f"'{token.text}' {verb} a value of type {a} as number {number}, not {b}",
                        token,
                    )
                )


_TERMINATORS = frozenset({"return", "func.return", "scf.yield", "scf.condition"})
_HOLDERS = frozenset({"scf.for", "scf.if", "scf.while"})


def _starts(token: Token) -> bool:
    """Whether a token may begin an operation."""
    if token.kind in ("value", "string", "label"):
        return True
    return token.kind == "word" and ("." in token.text or token.text == "return")
