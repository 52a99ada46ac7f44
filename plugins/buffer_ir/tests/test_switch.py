"""The switch: on unless it is said otherwise, off without a trace, kept by contexts, processes and further runs."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from buffer_parts import PLANNERS, source
from selecting import compiled, host, on_buffers

from pypto_core.cli import main
from pypto_core.diagnostics import UserError
from pypto_core.ir import BUFFER_IR_SELECTED, Program, structural_equal
from pypto_core.run import MismatchError, PassContext, Pipeline, compile, goals_of, resolve
from pypto_core.text import dumps
from pypto_plugin_buffer_ir.passes import PASSES
from pypto_plugin_buffer_ir.report import buffer_section
from pypto_plugin_buffer_ir.select.decide import BUFFER_IR_REASON

MINE = [value.name for value in PASSES]
TWO_KERNELS = """
import pypto_core.language as pl

@pl.program
class Pair:
    @pl.function(type=pl.FunctionType.InCore)
    def plain(self, a: pl.Tensor[[64, 64], pl.FP32], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        x = pl.load(a, [0, 0], [64, 64])
        return pl.store(pl.add(x, x), [0, 0], o)

    @pl.function(type=pl.FunctionType.InCore)
    def rooted(self, a: pl.Tensor[[64, 64], pl.FP32], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        x = pl.load(a, [0, 0], [64, 64])
        return pl.store(pl.rsqrt(x), [0, 0], o)

    @pl.function(type=pl.FunctionType.Orchestration)
    def both(self, a: pl.Tensor[[64, 64], pl.FP32], s: pl.InOut[pl.Tensor[[64, 64], pl.FP32]],
             o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        s = self.plain(a, s)
        return self.rooted(s, o)
"""
SUM = "x = pl.load(a, [0, 0], [16, 64])\npl.store(pl.add(x, x), [0, 0], o)"


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    path = tmp_path / "pair.py"
    path.write_text(TWO_KERNELS)
    return path


def without() -> object:
    """What is installed, without these passes."""
    from pypto_core.host import load_host

    return load_host(env={"PYPTO_PLUGINS": "-buffer_ir"})


def texts(made) -> dict[str, bytes]:
    return {a.name: a.content for a in made.artifacts}


@pytest.mark.parametrize("planner", PLANNERS)
def test_off_is_what_it_was_without_the_plugin(pair, planner):
    off = compiled(pair, planner, enable_buffer_ir=False)
    never = compile(pair, backend="910b", planner=planner, host=without(), verification="basic")
    assert texts(off) == texts(never)
    assert off.pipeline.names == never.pipeline.names
    assert structural_equal(off.program, never.program)
    assert not any(BUFFER_IR_SELECTED in f.attrs for f in off.program)
    assert off.diagnostics == ()


@pytest.mark.parametrize("planner", PLANNERS)
def test_on_is_the_default_and_decides_kernel_by_kernel(pair, planner):
    made = compiled(pair, planner)
    names = made.pipeline.names
    assert [n for n in names if n in MINE] == MINE and names[-1] == MINE[-1]
    order = [*MINE[:2], "MaterializeSemanticAliases", MINE[2], MINE[3]]
    assert sorted(order, key=names.index) == order and names.index("InitMemRef") < names.index(MINE[0])
    assert (on_buffers(made.program, "plain"), on_buffers(made.program, "rooted")) == (True, False)
    assert made.program["rooted"].attrs[BUFFER_IR_REASON].startswith("PT361: tile.rsqrt")
    assert not {BUFFER_IR_SELECTED, BUFFER_IR_REASON} & made.program["both"].attrs.keys()
    explicit = compiled(pair, planner, enable_buffer_ir=True)
    assert texts(explicit) == texts(made) and explicit.diagnostics == made.diagnostics == ()
    off = texts(compiled(pair, planner, enable_buffer_ir=False))
    changed = {name for name, text in texts(made).items() if off[name] != text}
    assert {name for name in changed if "rooted" in name} == set() != changed


def test_both_forms_run_in_one_program(pair):
    import numpy as np

    made = compiled(pair)
    a = np.random.default_rng(0).uniform(0.5, 2, (64, 64)).astype(np.float32)
    empty = np.zeros((64, 64), np.float32)
    result = host().engine("values").load()(made.program, {"a": a, "s": empty, "o": empty})
    np.testing.assert_array_equal(result.outputs["s"], a + a)
    np.testing.assert_allclose(result.outputs["o"], 1 / np.sqrt(a + a), rtol=1e-6)


def test_the_other_machine_stays_in_tiles(pair):
    made = compiled(pair, backend="a5")
    assert not any(n in MINE for n in made.pipeline.names)
    never = compile(pair, backend="a5", planner="pypto", host=without(), verification="basic")
    assert texts(made) == texts(never)


@pytest.mark.parametrize("goal", ["HasMemRefs", "AllocatedMemoryAddr"])
def test_a_goal_that_is_about_tiles_ends_in_tiles(pair, goal):
    made = compiled(pair, goal=goal)
    assert not any(n in MINE for n in made.pipeline.names)


@pytest.mark.parametrize("planner", PLANNERS)
def test_buffers_may_be_the_goal(pair, planner):
    made = compiled(pair, planner, goal="BufferIR")
    assert made.artifacts == () and made.pipeline.names[-1] == MINE[-1]
    assert structural_equal(made.program, compiled(pair, planner).program)


def test_a_kernel_that_is_outlined_on_the_way():
    """What selection makes holds of a program without kernels from the start; it is asked all the same."""
    from pypto_core.language import parse

    text = """
import pypto_core.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: pl.Tensor[[64, 64], pl.FP32], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            x = pl.load(a, [0, 0], [64, 64])
            o = pl.store(pl.rsqrt(x), [0, 0], o)
        return o
"""
    made = compiled(parse(text))
    assert [n for n in made.pipeline.names if n in MINE] == MINE
    [kernel] = [f for f in made.program if f.is_incore]
    assert kernel.attrs[BUFFER_IR_SELECTED] is False and not on_buffers(made.program, kernel.name)


# -- contexts and repeated runs


def pipeline_for(**options):
    context = PassContext(host=host(), backend=host().backend("910b"), options=options)
    program = source(SUM)
    return resolve(context, host(), goals_of("pto", context, host())[1], program), context, program


@pytest.mark.parametrize("value", [True, False])
def test_a_pipeline_is_refused_under_another_value(value):
    pipeline, context, program = pipeline_for(enable_buffer_ir=value)
    assert on_buffers(pipeline.run(program, context).program) is value
    other = context.derive(options={"enable_buffer_ir": not value})
    with pytest.raises(MismatchError, match="enable_buffer_ir changed") as caught:
        pipeline.run(program, other)
    assert isinstance(caught.value, RuntimeError)


def test_the_default_is_the_same_as_true():
    pipeline, context, program = pipeline_for()
    assert on_buffers(pipeline.run(program, context.derive(options={"enable_buffer_ir": True})).program)


@pytest.mark.parametrize("value", [True, False])
def test_nested_contexts_and_threads_of_a_pipeline_keep_it(value):
    """A dump or profiling context inside derives from the active one; a pipeline brings its own elsewhere."""
    pipeline, context, program = pipeline_for(enable_buffer_ir=value)
    with context, PassContext.current().derive(instruments=(object(),)) as inner:
        assert inner.option("enable_buffer_ir") is value
        assert on_buffers(pipeline.run(program).program) is value
        made = compile(program, verification="basic")
        assert on_buffers(made.program) is value
        again = compile(made.source, verification="basic")
        assert texts(again) == texts(made)
    seen = []
    worker = threading.Thread(target=lambda: seen.append(on_buffers(pipeline.run(program).program)))
    worker.start()
    worker.join()
    assert seen == [value]


def test_another_process_that_is_told_compiles_the_same(pair):
    """What a worker gets is the options of the context: its text is that of this process."""
    made = [compiled(pair, enable_buffer_ir=value) for value in (True, False)]
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[3]);"
        "from selecting import compiled;"
        "made = [compiled(sys.argv[1], **options) for options in json.loads(sys.argv[2])];"
        "print(json.dumps([{a.name: a.data for a in one.artifacts} for one in made]))"
    )
    told = json.dumps([dict(one.context.options) for one in made])
    arguments = [str(pair), told, str(Path(__file__).parent)]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [{a.name: a.data for a in one.artifacts} for one in made]


def test_a_pipeline_of_ones_own_takes_every_kernel(pair):
    """Where nobody was asked to select, all kernels are converted, and one without a form is an error."""
    planned = compiled(pair, enable_buffer_ir=False).program
    chosen = [host().find_pass(name) for name in ("VerifyTileStorage", "LowerTileToBuffer")]
    context = PassContext(host=host(), backend=host().backend("910b"))
    pipeline = Pipeline.of(chosen, host().properties)
    plain = Program("p", (planned["plain"],))
    assert on_buffers(pipeline.run(plain, context).program, "plain")
    before = dumps(planned)
    with pytest.raises(ValueError, match="no conversion recipe for 'tile.rsqrt'") as caught:
        pipeline.run(planned, context)
    assert isinstance(caught.value, UserError) and dumps(planned) == before


def test_jitted_kernels_are_kept_apart_by_the_switch():
    """The name of a result holds the options, and the version of every plugin, which is that of what buffers mean."""
    import numpy as np

    import pypto_core.language as pl
    from pypto_core.jit import JitConfig

    @pl.jit.incore
    def twice(x: pl.Tensor, out: pl.Out[pl.Tensor]):
        return pl.store(pl.add(pl.load(x, [0, 0], [16, 64]), pl.load(x, [0, 0], [16, 64])), [0, 0], out)

    x = np.arange(1024, dtype=np.float32).reshape(16, 64)
    seen = {}
    with PassContext(host=host(), backend=host().backend("910b")) as outer:
        for value in (None, True, False):
            options = {} if value is None else {"enable_buffer_ir": value}
            made = twice.compile(x, x, config=JitConfig(options=options))
            [kernel] = [f for f in made.program if f.is_incore]
            assert on_buffers(made.program, kernel.name) is (value is not False)
            with outer.derive(options=options):
                assert twice.compile(x, x).key == made.key
            with outer.derive(options=options).derive(instruments=(object(),)):
                assert on_buffers(twice.compile(x, x).program, kernel.name) is (value is not False)
            seen[value] = made.key
            out = np.zeros_like(x)
            twice(x, out, config=JitConfig(options=options))
            np.testing.assert_array_equal(out, x + x)
    assert seen[True] != seen[False] != seen[None]


# -- what is told


def test_the_report_says_what_became_of_each_kernel(pair):
    assert buffer_section(compiled(pair)) == (
        "- `plain` is written on buffers\n"
        "- `rooted` stays in tiles. PT361: tile.rsqrt has no form on buffers (line 14)\n"
    )
    off = buffer_section(compiled(pair, enable_buffer_ir=False))
    assert off == "All kernels stay in tiles: enable_buffer_ir is switched off.\n"
    other = buffer_section(compiled(pair, backend="a5"))
    assert other == "All kernels stay in tiles: Ascend 950 (A5) does not take buffers by default.\n"
    early = buffer_section(compiled(pair, goal="HasMemRefs"))
    assert early == "All kernels stay in tiles: this goal does not go so far.\n"


def test_explain_prints_it(pair, capsys):
    assert main(["explain", str(pair), "-b", "910b", "--buffer"]) == 0
    shown = capsys.readouterr().out
    assert "`plain` is written on buffers" in shown and "PT361: tile.rsqrt has no form on buffers" in shown
    assert main(["explain", str(pair), "-b", "910b", "--buffer", "-O", "enable_buffer_ir=false"]) == 0
    assert "switched off" in capsys.readouterr().out
    assert main(["explain", "PT361"]) == 0
    assert "stays in tiles" in capsys.readouterr().out


def test_every_reason_has_a_page():
    from pypto_plugin_buffer_ir.select import refusal

    codes = {value for name, value in vars(refusal).items() if name.isupper() and isinstance(value, str)}
    assert codes == {"PT360", "PT361", "PT362", "PT363", "PT364"} <= host().codes.keys()
