"""The node classes of ``pypto.ir``, see :mod:`pypto.ir.facade`; types are the kernel's own classes."""

from __future__ import annotations

from typing import Any

from pypto.ir import constructors as make
from pypto.ir.facade import facade
from pypto.views import FunctionName
from pypto_core import ir as kernel

IRNode = kernel.Node
Op = kernel.Op

Expr: Any = facade(kernel.Expr)
Stmt: Any = facade(kernel.Stmt)
ScopeStmt: Any = facade(kernel.ScopeStmt)
BinaryExpr: Any = facade(kernel.BinaryExpr)
UnaryExpr: Any = facade(kernel.UnaryExpr)

GlobalVar: Any = facade(kernel.GlobalVar, make.global_var, also=(FunctionName,))
Var: Any = facade(kernel.Var, make.var, also=(kernel.MemRef,))
IterArg: Any = facade(kernel.IterArg, make.iter_arg)
MemRef: Any = facade(kernel.MemRef, make.mem_ref)
Call: Any = facade(kernel.Call, make.call)
Submit: Any = facade(kernel.Submit, make.submit)
MakeTuple: Any = facade(kernel.MakeTuple, make.make_tuple)
TupleGetItemExpr: Any = facade(kernel.TupleGetItemExpr, make.tuple_get_item)
ConstInt: Any = facade(kernel.ConstInt, make.const_int)
ConstFloat: Any = facade(kernel.ConstFloat, make.const_float)
ConstBool: Any = facade(kernel.ConstBool, make.const_bool)

Add: Any = facade(kernel.Add, make.binary(kernel.Add))
Sub: Any = facade(kernel.Sub, make.binary(kernel.Sub))
Mul: Any = facade(kernel.Mul, make.binary(kernel.Mul))
FloorDiv: Any = facade(kernel.FloorDiv, make.binary(kernel.FloorDiv))
FloorMod: Any = facade(kernel.FloorMod, make.binary(kernel.FloorMod))
FloatDiv: Any = facade(kernel.FloatDiv, make.binary(kernel.FloatDiv))
Min: Any = facade(kernel.Min, make.binary(kernel.Min))
Max: Any = facade(kernel.Max, make.binary(kernel.Max))
Pow: Any = facade(kernel.Pow, make.binary(kernel.Pow))
Eq: Any = facade(kernel.Eq, make.binary(kernel.Eq))
Ne: Any = facade(kernel.Ne, make.binary(kernel.Ne))
Lt: Any = facade(kernel.Lt, make.binary(kernel.Lt))
Le: Any = facade(kernel.Le, make.binary(kernel.Le))
Gt: Any = facade(kernel.Gt, make.binary(kernel.Gt))
Ge: Any = facade(kernel.Ge, make.binary(kernel.Ge))
And: Any = facade(kernel.And, make.binary(kernel.And))
Or: Any = facade(kernel.Or, make.binary(kernel.Or))
Xor: Any = facade(kernel.Xor, make.binary(kernel.Xor))
BitAnd: Any = facade(kernel.BitAnd, make.binary(kernel.BitAnd))
BitOr: Any = facade(kernel.BitOr, make.binary(kernel.BitOr))
BitXor: Any = facade(kernel.BitXor, make.binary(kernel.BitXor))
BitShiftLeft: Any = facade(kernel.BitShiftLeft, make.binary(kernel.BitShiftLeft))
BitShiftRight: Any = facade(kernel.BitShiftRight, make.binary(kernel.BitShiftRight))
Neg: Any = facade(kernel.Neg, make.unary(kernel.Neg))
Abs: Any = facade(kernel.Abs, make.unary(kernel.Abs))
Not: Any = facade(kernel.Not, make.unary(kernel.Not))
BitNot: Any = facade(kernel.BitNot, make.unary(kernel.BitNot))
Cast: Any = facade(kernel.Cast, make.unary(kernel.Cast))

AssignStmt: Any = facade(kernel.AssignStmt, make.assign)
EvalStmt: Any = facade(kernel.EvalStmt, make.eval_)
SeqStmts: Any = facade(kernel.SeqStmts, make.seq)
ForStmt: Any = facade(kernel.ForStmt, make.for_)
WhileStmt: Any = facade(kernel.WhileStmt, make.while_)
IfStmt: Any = facade(kernel.IfStmt, make.if_)
YieldStmt: Any = facade(kernel.YieldStmt, make.leaving(kernel.YieldStmt))
ReturnStmt: Any = facade(kernel.ReturnStmt, make.leaving(kernel.ReturnStmt))
BreakStmt: Any = facade(kernel.BreakStmt, make.bare(kernel.BreakStmt))
ContinueStmt: Any = facade(kernel.ContinueStmt, make.bare(kernel.ContinueStmt))
InlineStmt: Any = facade(kernel.InlineStmt, make.inline)
InCoreScopeStmt: Any = facade(kernel.InCoreScopeStmt, make.scope(kernel.InCoreScopeStmt))
HierarchyScopeStmt: Any = facade(kernel.HierarchyScopeStmt, make.scope(kernel.HierarchyScopeStmt))
ClusterScopeStmt: Any = facade(kernel.ClusterScopeStmt, make.scope(kernel.ClusterScopeStmt))
SpmdScopeStmt: Any = facade(kernel.SpmdScopeStmt, make.scope(kernel.SpmdScopeStmt, ("core_num",)))
SplitAivScopeStmt: Any = facade(kernel.SplitAivScopeStmt, make.scope(kernel.SplitAivScopeStmt))
RuntimeScopeStmt: Any = facade(kernel.RuntimeScopeStmt, make.scope(kernel.RuntimeScopeStmt))
CommDomainScopeStmt: Any = facade(kernel.CommDomainScopeStmt, make.scope(kernel.CommDomainScopeStmt))

Function: Any = facade(kernel.Function, make.function)
Program: Any = facade(kernel.Program, make.program)

NAMES = tuple(sorted(name for name in dir() if name[:1].isupper()))
"""All of them."""
