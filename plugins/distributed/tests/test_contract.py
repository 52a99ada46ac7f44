"""Where the pass stands, what it leaves alone, and that everything registered is complete."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from pypto_core.ir import Call, walk
from pypto_core.run import PassContext, resolve
from pypto_core.solver import Goal
from pypto_plugin_distributed.codes import PAGES
from pypto_plugin_distributed.emit import EMITTERS
from pypto_plugin_distributed.lower import lower_remote_transfers
from pypto_plugin_distributed.meanings import EXECUTORS
from pypto_plugin_distributed.ops import OPS
from pypto_plugin_distributed.passes import PASSES

ORDER = (
    "FlattenCallExpr", "OutlineIncoreScopes", "LowerRemoteTransfers", "ConvertTensorToTileOps",
    "InferTileMemorySpace", "InitMemRef",
)  # fmt: skip


def test_the_order_of_a_whole_pipeline(kit: Any) -> None:
    program = kit.program(
        "with pl.at(level=pl.Level.CORE_GROUP):\n    pld.tensor.put(data, peer=0, src=pl.add(x[:, :], 1.0))",
        kind="Orchestration",
    )
    context = PassContext(backend=kit.host.backend("910b"), host=kit.host)
    found = resolve(context, kit.host, [Goal("AllocatedMemoryAddr", "the test")], program)
    steps = [step.name for step in found.plan.steps]
    assert all(a < b for a, b in pairwise(steps.index(name) for name in ORDER))


def test_nothing_to_lower_is_the_same_object(kit: Any) -> None:
    program = kit.program("t = pl.load(x, [0, 0], [16, 64])\npl.store(t, [0, 0], y)")
    context = PassContext(host=kit.host)
    assert all(lower_remote_transfers(function, context) is function for function in program)


def test_only_kernels_are_lowered(kit: Any) -> None:
    program = kit.program("pld.tensor.barrier(signal)", kind="Orchestration")
    assert kit.lowered(program) is program


def test_every_operator_has_a_meaning_and_a_word_on_its_text(kit: Any) -> None:
    names = {op.name for op in OPS}
    assert names == {executor.op for executor in EXECUTORS} == {emitter.op for emitter in EMITTERS}
    assert all(op.summary for op in OPS)
    for executor in EXECUTORS:
        executor.load()


def test_the_catalogue_of_distributions_knows_the_passes() -> None:
    path = Path(__file__).resolve().parents[3] / "pypto_core" / "host" / "catalogue.json"
    entry = json.loads(path.read_text(encoding="utf-8"))["pypto-plugin-distributed"]
    assert entry == {"pass": [p.name for p in PASSES], "operator": ["pld"]}


def test_codes_are_this_plugins() -> None:
    assert all(page.code.startswith("PT39") for page in PAGES)


def test_what_is_left_are_tiles_and_signals(kit: Any) -> None:
    program = kit.lowered(
        kit.program(
            "pld.tensor.put(data, peer=0, src=x)\npld.tensor.barrier(signal)\npld.tensor.get(y, peer=0, src=data)"
        )
    )
    used = {node.name for node in walk(program["kernel"].body) if isinstance(node, Call)}
    assert {name for name in used if name.startswith("pld.")} == {
        "pld.get_comm_ctx", "pld.rank", "pld.nranks", "pld.system.notify", "pld.system.wait",
        "pld.tile.remote_load", "pld.tile.remote_store",
    }  # fmt: skip
