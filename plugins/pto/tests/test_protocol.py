"""A plugin of somebody else brings an operator with its recipe, and never imports this one."""

from __future__ import annotations

from typing import Any

import pytest

import pypto_core.language as pl
from pypto_core.contract import EmitContext, OpEmitter, names_of, types_of
from pypto_core.diagnostics import UserError
from pypto_core.host import Host, PluginInfo, hookimpl, load_host
from pypto_core.ir import ArgEffect, Call, CoreType, DataType, MemorySpace, Var
from pypto_core.ops import Kind as OperandKind
from pypto_core.ops import OpDef, OpMemory, Param
from pypto_core.run import compile
from pypto_core.testing import build as b
from pypto_plugin_pto.checker import check_text


def write_scaled(ctx: EmitContext, call: Call, result: Var | None) -> None:
    """(x + n) * factor, by two instructions and a number."""
    assert ctx.backend is not None
    source, out = ctx.operand(call.args[0]), ctx.output(result)
    number = ctx.scalar(call.args[1], DataType.FP32)
    factor = ctx.constant(float(call.kwargs["factor"]), DataType.FP32)
    ctx.line(
        f"pto.tadds ins({names_of([source, number])} : {types_of([source, number])}) outs({out.name} : {out.type})"
    )
    ctx.line(
        f"pto.tmuls ins({names_of([out, factor])} : {types_of([out, factor])}) outs({out.name} : {out.type})"
    )


def write_add_onto(ctx: EmitContext, call: Call, result: Var | None) -> None:
    """acc += x, in the accumulator's own buffer."""
    out = ctx.output_onto(result, call.args[0])
    ins = [out, ctx.operand(call.args[1])]
    ctx.line(f"pto.tadd ins({names_of(ins)} : {types_of(ins)}) outs({out.name} : {out.type})")


def write_rows(ctx: EmitContext, call: Call, result: Var | None) -> None:
    """A number that the text computes."""
    at = ctx.index(call.args[0])
    limit = ctx.constant(64, DataType.INDEX)
    ctx.bind(result, ctx.value(f"arith.minsi {at.name}, {limit.name} : index", "index", "rows"))


def write_refused(ctx: EmitContext, call: Call, result: Var | None) -> None:
    raise ctx.error("acme can't do that", remedy="don't", machine="any")


VEC = (MemorySpace.Vec,)


def _same(args: tuple[Any, ...], options: Any) -> Any:
    from pypto_core.ir import replace

    return replace(args[0].type, memref=None, memory_space=MemorySpace.Vec)


def _tile(name: str) -> Param:
    return Param(name, OperandKind.TILE)


class Acme:
    """The plugin as an object."""

    @hookimpl
    def pypto_plugin(self) -> PluginInfo:
        return PluginInfo("acme", "operators of somebody else")

    @hookimpl
    def pypto_ops(self) -> list[OpDef]:
        number = Param("n", OperandKind.SCALAR, like=0)
        memory = OpMemory(inputs=(VEC, None), output=MemorySpace.Vec)
        onto = OpMemory(inputs=(VEC, VEC), output=MemorySpace.Vec, reuses=0)
        rows = OpDef(
            name="tile.acme_rows", params=(Param("n", OperandKind.INDEX),), deduce=lambda a, o: b.INDEX
        )
        return [
            OpDef(name="tile.acme_scaled", params=(_tile("x"), number, Param("factor", OperandKind.FLOAT)),
                  deduce=_same, memory=memory, core=CoreType.VECTOR),
            OpDef(name="tile.acme_onto", params=(_tile("acc"), _tile("x")), deduce=_same, memory=onto,
                  core=CoreType.VECTOR, effects={0: ArgEffect.ReadWrite}, pure=False),
            OpDef(name="tile.acme_refused", params=(_tile("x"),), deduce=_same,
                  memory=OpMemory(inputs=(VEC,), output=MemorySpace.Vec)),
            OpDef(name="tile.acme_silent", params=(_tile("x"),), deduce=_same,
                  memory=OpMemory(inputs=(VEC,), output=MemorySpace.Vec)),
            rows,
        ]  # fmt: skip

    @hookimpl
    def pypto_emitters(self) -> list[OpEmitter]:
        return [
            OpEmitter("pto", "tile.acme_scaled", write_scaled),
            OpEmitter("pto", "tile.acme_onto", write_add_onto),
            OpEmitter("pto", "tile.acme_rows", write_rows),
            OpEmitter("pto", "tile.acme_refused", write_refused),
        ]


@pytest.fixture(scope="module")
def host() -> Host:
    return load_host(extra_plugins=[Acme()])


SOURCE = """
import pypto_core.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        x = pl.load(a, [0, 0], [64, 64])
        {body}
        out = pl.store(y, [0, 0], out)
        return out
"""


def written(host: Host, body: str, planner: str = "pypto") -> str:
    from pypto_core.ops import using_registry

    with using_registry(host.ops):
        program = pl.parse(SOURCE.replace("{body}", body))
    compiled = compile(program, backend="910b", planner=planner, goal="pto", host=host, emit_source_loc=False)
    text = str(compiled.artifacts[0].data)
    report = check_text(text)
    assert report.ok, (report.errors, text)
    return text


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_a_foreign_operator_is_written(host: Host, body_of: Any, planner: str) -> None:
    lines = body_of(written(host, "y = pl.tile.acme_scaled(x, 2.0, factor=0.5)", planner))
    t = "vec[64x64xf32]"
    at = lines.index(f"pto.tadds ins(%x, %cst : {t}, f32) outs(%y : {t})")
    assert lines[at + 1] == f"pto.tmuls ins(%y, %cst_1 : {t}, f32) outs(%y : {t})"


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_a_foreign_operator_in_place(host: Host, body_of: Any, planner: str) -> None:
    lines = body_of(written(host, "z = pl.exp(x)\n        y = pl.tile.acme_onto(z, x)", planner))
    t = "vec[64x64xf32]"
    assert f"pto.tadd ins(%z, %x : {t}, {t}) outs(%z : {t})" in lines


def test_a_foreign_number(host: Host, body_of: Any) -> None:
    lines = body_of(written(host, "r = pl.tile.acme_rows(n)\n        y = pl.load(a, [r, 0], [64, 64])"))
    at = lines.index("%rows = arith.minsi %arg2, %c64_index : index")
    assert any("arith.maxsi %rows, %c0_index" in x for x in lines[at:])


def test_errors_of_recipes_stand_at_their_call(host: Host) -> None:
    with pytest.raises(UserError) as error:
        written(host, "y = pl.tile.acme_refused(x)")
    [diagnostic] = error.value.diagnostics
    assert diagnostic.message == "acme can't do that"
    assert (diagnostic.facts, diagnostic.remedy) == ((("machine", "any"),), "don't")
    assert diagnostic.span.begin_line == 8


def test_an_operator_without_recipe_is_an_error(host: Host) -> None:
    with pytest.raises(UserError) as error:
        written(host, "y = pl.tile.acme_silent(x)")
    [diagnostic] = error.value.diagnostics
    assert diagnostic.code == "PTO-001" and "tile.acme_silent" in diagnostic.message


def test_two_recipes_for_one_operator_clash() -> None:
    class Rival:
        @hookimpl
        def pypto_plugin(self) -> PluginInfo:
            return PluginInfo("rival", "writes sums in its own way")

        @hookimpl
        def pypto_emitters(self) -> list[OpEmitter]:
            return [OpEmitter("pto", "tile.add", write_refused)]

    record = load_host(extra_plugins=[Rival()]).plugin("rival")
    assert record is not None and record.failed
    assert "tile.add" in record.reason


def test_every_recipe_works_through_the_protocol_alone() -> None:
    """The protocol's names are those of the object that recipes get."""
    from pypto_plugin_pto.emission import Emission

    wanted = [n for n in vars(EmitContext) if not n.startswith("_")]
    assert wanted and [n for n in wanted if not hasattr(Emission, n)] == []
