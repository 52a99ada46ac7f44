"""Calls: operators by their full path, functions of the program through ``self``, tasks through ``pl.submit``.

Arguments stand in the order of the operator's parameters. An option that its table marks as positional stands without
its name, and what follows a named one is named too. ``option=None`` says that a call lacks an option which the written
form has a default for. Notes of the compiler come last as ``attrs={…}``.
"""

from __future__ import annotations

import enum
import keyword
from functools import lru_cache
from typing import Any

from pypto_core.ir import DEVICE, Call, ConstFloat, ConstInt, Expr, GlobalVar, Op, Submit
from pypto_core.ops.opdef import OMIT, REQUIRED, OpDef, Param
from pypto_core.ops.registry import op_of
from pypto_core.text.writer import Writer


@lru_cache(maxsize=4096)
def _path(name: str) -> str:
    parts = [p + "_" if keyword.iskeyword(p) else p for p in name.split(".")]
    return ".".join(parts)


def _keyword(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


def _is_plain(w: Writer, op: OpDef) -> bool:
    known = w.plain_ops.get(op.name)
    if known is None:
        known = w.plain_ops[op.name] = _all_operands_first(op)
    return known


def _all_operands_first(op: OpDef) -> bool:
    """Whether all operands come first and no parameter needs a second look."""
    seen_option = False
    for param in op.params:
        if param.is_operand:
            if seen_option or param.keyword_only or param.like is not None:
                return False
        else:
            seen_option = True
            if param.positional:
                return False
    return True


def _defaulted(w: Writer, op: OpDef) -> tuple[str, ...]:
    """The options that the written form fills in when they are left out."""
    known = w.defaulted.get(op.name)
    if known is None:
        known = tuple(p.name for p in op.options if p.default is not REQUIRED and p.default is not OMIT)
        w.defaulted[op.name] = known
    return known


def call(w: Writer, node: Call, least: int, typed: bool) -> str:
    """The text of a call."""
    target = node.op
    if type(target) is GlobalVar:
        parts = [w.expr(a) for a in node.args]
        parts += [f"{_keyword(k)}={w.option(v)}" for k, v in node.kwargs.items()]
        device = node.attrs.get(DEVICE) if w.on_host else None
        if not isinstance(device, Expr):
            return _finish(w, w.callee(target.name), parts, node)
        parts.append(f"{DEVICE}={w.expr(device)}")
        return _finish(w, w.callee(target.name), parts, node, without=DEVICE)
    op = op_of(node)
    if op is None or _is_plain(w, op):
        parts = [w.expr(a) for a in node.args]
        parts += [f"{_keyword(k)}={_option(w, op, k, v)}" for k, v in node.kwargs.items()]
    else:
        parts = _arranged(w, op, node)
    if op is not None:
        parts += [f"{_keyword(name)}=None" for name in _defaulted(w, op) if name not in node.kwargs]
    return _finish(w, w.word(_path(target.name)), parts, node)


def _finish(w: Writer, path: str, parts: list[str], node: Call | Submit, without: str = "") -> str:
    notes = w.notes(node.attrs, without=without) if node.attrs else ""
    if notes:
        parts.append("attrs=" + notes)
    return f"{path}({', '.join(parts)})"


def _arranged(w: Writer, op: OpDef, node: Call) -> list[str]:
    parts: list[str] = []
    args = iter(node.args)
    left = dict(node.kwargs)
    named = False
    for param in op.params:
        if param.is_operand:
            arg = next(args, None)
            if arg is None:
                continue
            text = w.expr(arg, 0, _states_type(param, arg, node.args))
            named = named or param.keyword_only
        elif param.name in left:
            text = _option(w, op, param.name, left.pop(param.name))
            named = named or not param.positional
        else:
            named = named or not param.keyword_only
            continue
        parts.append(f"{_keyword(param.name)}={text}" if named else text)
    if not named:
        parts += [w.expr(a) for a in args]
    return parts + [f"{_keyword(k)}={_option(w, op, k, v)}" for k, v in left.items()]


def _states_type(param: Param, arg: Expr, args: tuple[Expr, ...]) -> bool:
    """Whether a literal would be read as another type, since the parameter gives literals that of an operand."""
    if param.like is None or not isinstance(arg, ConstInt | ConstFloat):
        return False
    return param.like >= len(args) or getattr(args[param.like].type, "dtype", None) is not arg.dtype


def _option(w: Writer, op: OpDef | None, name: str, value: Any) -> str:
    if op is not None and isinstance(value, enum.Enum):
        param = op.option_table.get(name)
        if param is not None and param.as_text:
            return repr(value.name)
    return w.option(value)


def submit(w: Writer, node: Submit, least: int, typed: bool) -> str:
    """The text of a task submission."""
    parts = [w.callee(node.op.name), *[w.expr(a) for a in node.args]]
    if node.deps:
        parts.append("deps=[" + ", ".join([w.expr(d) for d in node.deps]) + "]")
    if node.core_num is not None:
        parts.append("core_num=" + w.expr(node.core_num))
    parts += [f"{flag}=True" for flag in ("sync_start", "allow_early_resolve") if getattr(node, flag)]
    if node.predicate is not None:
        parts.append("predicate=" + w.expr(node.predicate))
    parts += [f"{_keyword(k)}={w.option(v)}" for k, v in node.kwargs.items()]
    return _finish(w, w.pl + "submit", parts, node)


def reference(w: Writer, node: Op, least: int, typed: bool) -> str:
    """An operator or function without arguments."""
    return w.callee(node.name) if type(node) is GlobalVar else w.word(_path(node.name))
