"""The walk through a program's control flow, shared by every engine.

An engine hands in a :class:`Machine`, which gives operators their effect; statements, scalar expressions, calls of
functions and launches over blocks are the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from pypto_core.contract import ArrayValue, BlockPosition
from pypto_core.diagnostics import DiagnosticError, Span, UserError
from pypto_core.ir import (
    DEVICE,
    AssignStmt,
    BinaryExpr,
    BreakStmt,
    Call,
    ClusterScopeStmt,
    CommDomainScopeStmt,
    ConstBool,
    ConstFloat,
    ConstInt,
    ContinueStmt,
    EvalStmt,
    Expr,
    ForStmt,
    Function,
    FunctionType,
    HierarchyScopeStmt,
    IfStmt,
    InCoreScopeStmt,
    InlineStmt,
    IterArg,
    Level,
    MakeTuple,
    ParamDirection,
    ReturnStmt,
    RuntimeScopeStmt,
    ScalarType,
    ScopeStmt,
    SeqStmts,
    SplitAivScopeStmt,
    SpmdScopeStmt,
    Stmt,
    Submit,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
    WhileStmt,
    YieldStmt,
    flatten,
)
from pypto_core.ops import is_view
from pypto_plugin_simulator.blocks import BARRIER, Block, meets, run_together
from pypto_plugin_simulator.devices.world import SimulatedDevice, World, is_promised, settled
from pypto_plugin_simulator.formats import scalar_of, wrap
from pypto_plugin_simulator.frame import Frame, bind_parameters, mismatch
from pypto_plugin_simulator.scalars import BINARY, UNARY, binary, unary
from pypto_plugin_simulator.trips import least_per_trip, trips_of

if TYPE_CHECKING:
    from pypto_plugin_simulator.context import Meanings

MAX_DEPTH = 100
DEFAULT_MAX_STEPS = 5_000_000
MORE_STEPS = "check that the loop ends, or allow more: --max-steps N, or max_steps=N in Python"


class Machine(Protocol):
    """What an engine does where the walk reaches an operator."""

    @property
    def meanings(self) -> Meanings:
        """Where it finds what operators do."""
        ...

    def call(self, run: Interpreter, frame: Frame, call: Call, operands: tuple[Any, ...]) -> Any:
        """Apply an operator and return its result."""
        ...

    def settle(self, run: Interpreter, frame: Frame, var: Var | None, value: Any, span: Span) -> Any:
        """What a variable will hold that is given a value: by an assignment, a carry, a branch, a parameter.

        ``var``: None for a value that no variable is given.
        """
        ...

    def keep(self, frame: Frame) -> Callable[[], None]:
        """What brings the memory of the frame's core back to its present state: each lane has one like it."""
        ...

    def fork(self) -> Machine:
        """One like it for another device."""
        ...


@attrs.frozen
class Signal:
    """How a statement ended, when it was not by reaching its end."""

    kind: str
    values: tuple[Any, ...] = ()


BREAK, CONTINUE = Signal("break"), Signal("continue")
YIELD, RETURN = "yield", "return"


@attrs.define(eq=False)
class Interpreter:
    """One run, or the part of it that one device does.

    ``max_steps`` bounds the statements and trips that are executed; ``block_num`` is how many blocks a kernel is
    launched on where the program itself does not say. ``device``: where it runs, the host included. ``block``: the one
    whose turn it is, of a launch whose blocks wait for each other.
    """

    functions: Mapping[str, Function]
    machine: Machine
    max_steps: int = DEFAULT_MAX_STEPS
    block_num: int = 1
    steps: int = 0
    least_steps: dict[int, int] = attrs.field(factory=dict[int, int])
    block: Block | None = None
    _waiting: dict[Stmt, bool] = attrs.field(init=False, factory=dict[Stmt, bool])
    device: SimulatedDevice = attrs.field(init=False)

    def fork(self, device: SimulatedDevice) -> Interpreter:
        """One like it for another device of the run."""
        forked = Interpreter(self.functions, self.machine.fork(), self.max_steps, self.block_num)
        forked.device = device
        return forked

    def main(self, function: Function, arguments: Sequence[Any], world: World) -> tuple[Any, ...]:
        """Run the function that a run begins with, and all that it launches."""
        world.start(self)
        returned = self.launch(function, arguments, None, None, function.span)
        world.join()
        return tuple(settled(value) for value in returned)

    def evaluate(self, expr: Expr, frame: Frame) -> Any:
        """The value of an expression."""
        kind = type(expr)
        handler = _EXPRESSIONS.get(kind)
        if handler is None:
            raise UserError(f"the simulator can't evaluate a {kind.__name__}", code="SIM-004", span=expr.span)
        return handler(self, expr, frame)

    def execute(self, stmt: Stmt, frame: Frame) -> Signal | None:
        """Run a statement; None when it ran to its end."""
        handler = _STATEMENTS.get(type(stmt))
        if handler is None:
            raise UserError(
                f"the simulator can't run a {type(stmt).__name__}", code="SIM-004", span=stmt.span
            )
        self.tick(stmt.span)
        try:
            return handler(self, stmt, frame)
        except DiagnosticError as error:
            raise error.located(stmt.span) from error.__cause__

    def tick(self, span: Span) -> None:
        """Count a step; an error when there were too many."""
        self.steps += 1
        if self.steps > self.max_steps:
            raise UserError(
                f"stopped after {self.max_steps} steps",
                code="SIM-005",
                span=span,
                remedy=MORE_STEPS,
            )

    def check_length(self, loop: ForStmt, trips: int) -> None:
        """Refuse a loop whose trips alone are more than the steps that are left."""
        per_trip = self.least_steps.get(id(loop))
        if per_trip is None:
            per_trip = self.least_steps[id(loop)] = least_per_trip(loop)
        if trips * per_trip > self.max_steps - self.steps:
            raise UserError(
                f"this loop takes {trips} trips of at least {per_trip} steps each, and a run stops after "
                f"{self.max_steps} steps",
                code="SIM-005",
                span=loop.span,
                facts={"steps so far": self.steps},
                remedy=MORE_STEPS,
            )

    def run_function(
        self,
        function: Function,
        arguments: Sequence[Any],
        caller: Frame | None,
        block: BlockPosition,
        span: Span,
    ) -> tuple[Any, ...]:
        """Run ``function`` once, at one place of the launch; returns what it returns."""
        depth = 0 if caller is None else caller.depth + 1
        if depth > MAX_DEPTH:
            raise UserError(
                f"function '{function.name}' calls itself without end",
                code="SIM-005",
                span=span,
                remedy="write what repeats as a loop, or end the calls with a branch",
            )
        if function.requires_runtime_binding and not flatten(function.body):
            raise UserError(
                f"'{function.name}' has no body: what it does is decided where the program is run",
                code="SIM-004",
                span=span,
                remedy="run a function that does not need it, or write what it does in place of ...",
            )
        launched = function.is_incore or (caller is not None and caller.launched)
        frame = Frame(
            function,
            block=block,
            launched=launched or block.count > 1,
            depth=depth,
            core=caller.core if caller is not None and caller.launched else {},
        )
        for dim, extent, name in bind_parameters(frame, arguments, span):
            wanted = self.evaluate(dim, frame)
            if wanted != extent:
                raise mismatch(name, None, extent, wanted, span)
        for param in function.params:
            frame.env[param] = self.machine.settle(self, frame, param, frame.env[param], span)
        signal = self.execute(function.body, frame)
        return signal.values if signal is not None and signal.kind == RETURN else ()

    def launch(
        self,
        function: Function,
        arguments: Sequence[Any],
        caller: Frame | None,
        count: int | None,
        span: Span,
    ) -> tuple[Any, ...]:
        """Run ``function`` once per block, in order; returns what the last block returned.

        ``count``: number of blocks that the call names, None when it names none.
        """
        if count is None:
            count = self._own_count(function, arguments)
        starts = function.is_incore and (caller is None or not caller.launched)
        if count is None and starts:
            count = self.block_num
        if count is None:
            block = BlockPosition() if caller is None else caller.block
            return self.run_function(function, arguments, caller, block, span)
        if count < 1:
            raise UserError(f"'{function.name}' is launched on {count} blocks", code="SIM-003", span=span)
        runs = [
            partial(self.run_function, function, arguments, caller, BlockPosition(index, count), span)
            for index in range(count)
        ]
        return self.blocks(runs, function.body)[-1]

    def blocks(self, runs: Sequence[Callable[[], Any]], body: Stmt) -> list[Any]:
        """Run all blocks of ``body``: in order, or together where they wait for each other."""
        if len(runs) > 1 and self.waits(body):
            return run_together(runs, self._turn, self.device.idle)
        return [run() for run in runs]

    def waits(self, body: Stmt) -> bool:
        """Whether the blocks of ``body`` wait for each other."""
        if body not in self._waiting:
            alone = self.device.world.alone
            others = frozenset[str]() if alone else self.machine.meanings.waiting()
            self._waiting[body] = meets(body, self.functions, others)
        return self._waiting[body]

    def _turn(self, block: Block | None) -> None:
        self.block = block

    def _own_count(self, function: Function, arguments: Sequence[Any]) -> int | None:
        if function.func_type is not FunctionType.Spmd:
            return None
        count = function.attrs.get("core_num")
        if isinstance(count, Expr):
            frame = Frame(function)
            bind_parameters(frame, arguments)
            count = self.evaluate(count, frame)
        return count


Evaluator = Callable[[Interpreter, Any, Frame], Any]
Executor = Callable[[Interpreter, Any, Frame], Signal | None]


def _eval_call(run: Interpreter, call: Call, frame: Frame) -> Any:
    operands = tuple(run.evaluate(arg, frame) for arg in call.args)
    callee = run.functions.get(call.op.name)
    if frame.function.level is Level.HOST:
        if callee is not None and DEVICE in call.attrs:
            return _launched(run, callee, operands, call, frame)
        if callee is None or callee.level is not Level.HOST:
            operands = _awaited(run, call, operands)
    if callee is None:
        result = run.machine.call(run, frame, call, operands)
        if call.op.name == BARRIER and run.block is not None:
            run.block.arrive(call.span)
        return result
    results = run.launch(
        callee, operands, frame, _core_num(run, call.attrs.get("core_num"), frame), call.span
    )
    return _packed(results)


def _launched(run: Interpreter, callee: Function, operands: tuple[Any, ...], call: Call, frame: Frame) -> Any:
    """What host code has of a call with ``device=``: promises, or scalars once it is done."""
    world = run.device.world
    found = world.launch(run.evaluate(call.attrs[DEVICE], frame), callee, operands, call.span)
    if not any(isinstance(kind, ScalarType) for kind in callee.return_types):
        return found
    world.join()
    return settled(found)


def _awaited(run: Interpreter, call: Call, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of a call in host code, once all is there that it looks into."""
    reads = any(isinstance(operand, ArrayValue) for operand in operands) and not is_view(call)
    if not reads and not any(map(is_promised, operands)):
        return operands
    run.device.world.join()
    return tuple(map(settled, operands))


def _core_num(run: Interpreter, count: Any, frame: Frame) -> int | None:
    return run.evaluate(count, frame) if isinstance(count, Expr) else count


def _packed(results: tuple[Any, ...]) -> Any:
    if not results:
        return None
    return results[0] if len(results) == 1 else results


def _eval_submit(run: Interpreter, submit: Submit, frame: Frame) -> Any:
    """Results of the callee, then a task id: the number of steps so far, which no two tasks share."""
    arguments = tuple(run.evaluate(arg, frame) for arg in submit.args)
    callee = run.functions.get(submit.op.name)
    if callee is None:
        raise UserError(
            f"there is no function '{submit.op.name}' to submit", code="SIM-003", span=submit.span
        )
    if submit.predicate is None or run.evaluate(submit.predicate, frame):
        results = run.launch(callee, arguments, frame, _core_num(run, submit.core_num, frame), submit.span)
    else:
        written = zip(callee.param_directions, arguments, strict=False)
        results = tuple(value for direction, value in written if direction is not ParamDirection.In)
    return (*results, run.steps)


def _eval_item(run: Interpreter, expr: TupleGetItemExpr, frame: Frame) -> Any:
    value = run.evaluate(expr.tuple, frame)
    if isinstance(value, tuple):  # those of promises too
        return value[expr.index]  # pyright: ignore[reportUnknownVariableType]
    return value  # a function with one result hands on the result itself


def _eval_float(run: Interpreter, expr: ConstFloat, frame: Frame) -> Any:
    return scalar_of(expr.value, expr.dtype)


_EXPRESSIONS: dict[type, Evaluator] = {
    Var: lambda run, expr, frame: frame.read(expr),
    IterArg: lambda run, expr, frame: frame.read(expr),
    ConstInt: lambda run, expr, frame: wrap(expr.value, expr.dtype),
    ConstFloat: _eval_float,
    ConstBool: lambda run, expr, frame: expr.value,
    MakeTuple: lambda run, expr, frame: tuple(run.evaluate(e, frame) for e in expr.elements),
    TupleGetItemExpr: _eval_item,
    Call: _eval_call,
    Submit: _eval_submit,
}


def _eval_binary(run: Interpreter, expr: BinaryExpr, frame: Frame) -> Any:
    return binary(expr, run.evaluate(expr.left, frame), run.evaluate(expr.right, frame))


def _eval_unary(run: Interpreter, expr: UnaryExpr, frame: Frame) -> Any:
    return unary(expr, run.evaluate(expr.operand, frame))


_EXPRESSIONS.update(dict.fromkeys(BINARY, _eval_binary))
_EXPRESSIONS.update(dict.fromkeys(UNARY, _eval_unary))


def _run_assign(run: Interpreter, stmt: AssignStmt, frame: Frame) -> Signal | None:
    value = run.evaluate(stmt.value, frame)
    frame.env[stmt.var] = run.machine.settle(run, frame, stmt.var, value, stmt.span)
    return None


def _run_eval(run: Interpreter, stmt: EvalStmt, frame: Frame) -> Signal | None:
    run.machine.settle(run, frame, None, run.evaluate(stmt.expr, frame), stmt.span)
    return None


def _run_seq(run: Interpreter, stmt: SeqStmts, frame: Frame) -> Signal | None:
    for child in stmt.stmts:
        signal = run.execute(child, frame)
        if signal is not None:
            return signal
    return None


def _run_yield(run: Interpreter, stmt: YieldStmt, frame: Frame) -> Signal | None:
    return Signal(YIELD, tuple(run.evaluate(value, frame) for value in stmt.values))


def _run_return(run: Interpreter, stmt: ReturnStmt, frame: Frame) -> Signal | None:
    return Signal(RETURN, tuple(run.evaluate(value, frame) for value in stmt.values))


def _bind(
    run: Interpreter, variables: Sequence[Var], values: Sequence[Any], frame: Frame, span: Span
) -> None:
    if len(variables) != len(values):
        raise UserError(
            f"{len(values)} values are yielded where {len(variables)} are wanted", code="SIM-002", span=span
        )
    # All at once: the bounds of one may name another's old value.
    held = [
        run.machine.settle(run, frame, var, value, span) for var, value in zip(variables, values, strict=True)
    ]
    frame.env.update(zip(variables, held, strict=True))


def _run_if(run: Interpreter, stmt: IfStmt, frame: Frame) -> Signal | None:
    branch = stmt.then_body if run.evaluate(stmt.condition, frame) else stmt.else_body
    signal = None if branch is None else run.execute(branch, frame)
    if signal is not None and signal.kind != YIELD:
        return signal
    _bind(run, stmt.return_vars, () if signal is None else signal.values, frame, stmt.span)
    return None


def _carried(loop: ForStmt | WhileStmt, signal: Signal | None, frame: Frame) -> tuple[Any, ...]:
    """What goes into the next trip: what was yielded, or what the carries hold when the trip was cut short."""
    if signal is not None and signal.kind == YIELD:
        return signal.values
    if signal is None and loop.iter_args:
        raise UserError(
            "the loop carries values, but its body ends without a yield", code="SIM-002", span=loop.span
        )
    return tuple(frame.env[arg] for arg in loop.iter_args)


def _run_for(run: Interpreter, loop: ForStmt, frame: Frame) -> Signal | None:
    counter, stop, step = (run.evaluate(e, frame) for e in (loop.start, loop.stop, loop.step))
    if step == 0:
        raise UserError("the loop's step is zero: it would never end", code="SIM-005", span=loop.span)
    run.check_length(loop, trips_of(counter, stop, step))
    carried = tuple(run.evaluate(arg.init_value, frame) for arg in loop.iter_args)
    while counter < stop if step > 0 else counter > stop:
        run.tick(loop.span)
        frame.env[loop.loop_var] = counter
        _bind(run, loop.iter_args, carried, frame, loop.span)
        signal = run.execute(loop.body, frame)
        if signal is not None and signal.kind == RETURN:
            return signal
        carried = _carried(loop, signal, frame)
        if signal is BREAK:
            break
        counter += step
    _bind(run, loop.return_vars, carried, frame, loop.span)
    return None


def _run_while(run: Interpreter, loop: WhileStmt, frame: Frame) -> Signal | None:
    carried = tuple(run.evaluate(arg.init_value, frame) for arg in loop.iter_args)
    _bind(run, loop.iter_args, carried, frame, loop.span)
    while run.evaluate(loop.condition, frame):
        run.tick(loop.span)
        signal = run.execute(loop.body, frame)
        if signal is not None and signal.kind == RETURN:
            return signal
        carried = _carried(loop, signal, frame)
        _bind(run, loop.iter_args, carried, frame, loop.span)
        if signal is BREAK:
            break
    _bind(run, loop.return_vars, carried, frame, loop.span)
    return None


def _run_scope(run: Interpreter, stmt: ScopeStmt, frame: Frame) -> Signal | None:
    return _as_task(run, stmt, frame, run.execute(stmt.body, frame))


def _run_core_scope(run: Interpreter, stmt: InCoreScopeStmt, frame: Frame) -> Signal | None:
    """A kernel written in place: launched as the function that it will become would be."""
    if frame.launched or run.block_num == 1:
        return _run_scope(run, stmt, frame)
    return _run_blocks(run, stmt, frame, run.block_num, None)


def _run_spmd(run: Interpreter, stmt: SpmdScopeStmt, frame: Frame) -> Signal | None:
    return _run_blocks(run, stmt, frame, run.evaluate(stmt.core_num, frame), stmt.loop_var)


def _run_blocks(
    run: Interpreter, stmt: ScopeStmt, frame: Frame, count: int, loop_var: Var | None
) -> Signal | None:
    together = count > 1 and run.waits(stmt.body)
    envs = [dict(frame.env) for _ in range(count)] if together else [frame.env] * count

    def block(index: int) -> Signal | None:
        env = envs[index]
        if loop_var is not None:
            env[loop_var] = index
        position = BlockPosition(index, count)
        return run.execute(stmt.body, attrs.evolve(frame, env=env, block=position, launched=True, core={}))

    if together:
        run.blocks([partial(block, index) for index in range(count)], stmt.body)
        frame.env.update(envs[-1])
        return _as_task(run, stmt, frame, None)
    for index in range(count):
        signal = block(index)
        if signal is not None:
            return signal
    return _as_task(run, stmt, frame, None)


def _as_task(run: Interpreter, stmt: ScopeStmt, frame: Frame, signal: Signal | None) -> Signal | None:
    """The id of a scope is that of a task which was submitted and has ended."""
    if stmt.task_id is not None:
        frame.env[stmt.task_id] = run.steps
    return signal


def _run_split(run: Interpreter, stmt: SplitAivScopeStmt, frame: Frame) -> Signal | None:
    back = run.machine.keep(frame)
    for lane in range(stmt.count):
        if lane:
            back()
        if stmt.loop_var is not None:
            frame.env[stmt.loop_var] = lane
        inner = attrs.evolve(frame, block=attrs.evolve(frame.block, subblock=lane))
        signal = run.execute(stmt.body, inner)
        if signal is not None:
            return signal
    return None


def _run_inline(run: Interpreter, stmt: InlineStmt, frame: Frame) -> Signal | None:
    raise UserError(
        f"the simulator does not run {stmt.language} text of the host", code="SIM-004", span=stmt.span,
        remedy="run the functions that it calls one by one",
    )  # fmt: skip


_STATEMENTS: dict[type, Executor] = {
    AssignStmt: _run_assign,
    EvalStmt: _run_eval,
    SeqStmts: _run_seq,
    YieldStmt: _run_yield,
    ReturnStmt: _run_return,
    BreakStmt: lambda run, stmt, frame: BREAK,
    ContinueStmt: lambda run, stmt, frame: CONTINUE,
    ForStmt: _run_for,
    WhileStmt: _run_while,
    IfStmt: _run_if,
    InCoreScopeStmt: _run_core_scope,
    HierarchyScopeStmt: _run_scope,
    ClusterScopeStmt: _run_scope,
    RuntimeScopeStmt: _run_scope,
    CommDomainScopeStmt: _run_scope,
    SpmdScopeStmt: _run_spmd,
    SplitAivScopeStmt: _run_split,
    InlineStmt: _run_inline,
}
