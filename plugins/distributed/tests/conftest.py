"""Programs of one kernel that a host function launches on every device, and ways to run them."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

from pypto_core.contract import RunResult
from pypto_core.host import Host, load_host
from pypto_core.ir import Program, assert_structural_equal, map_functions
from pypto_core.language import parse, parse_program
from pypto_core.run import PassContext, compile
from pypto_core.text import dumps, loads, print_program

HEAD = "import pypto_core.language as pl\nimport pypto_core.language.distributed as pld\n\n"
PLANNERS = ("pypto", "dsa_rp", "ptoas")


class Kit:
    """Shorthands of the tests.

    The kernels have the parameters ``x`` and ``y`` (this device's rows of host arrays), ``data`` (a window like ``y``)
    and ``signal`` (a window of one INT32 per device, and as many again), and know ``me`` and ``n``.
    """

    def __init__(self, host: Host) -> None:
        self.host = host

    def text(
        self, body: str, shape: tuple[int, ...] = (16, 64), dtype: str = "FP32", kind: str = "InCore"
    ) -> str:
        """The program of a kernel's body."""
        part = f"[{', '.join(map(str, shape))}], pl.{dtype}"
        whole = f"[D, {', '.join(map(str, shape))}], pl.{dtype}"
        size = int(np.prod(shape)) * {"FP32": 4, "INT32": 4, "FP16": 2, "BF16": 2}[dtype]
        lines = textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8)
        return HEAD + textwrap.dedent(f"""
            D = pl.dynamic("D")

            @pl.program
            class P:
                @pl.function(type=pl.FunctionType.{kind})
                def kernel(
                    self,
                    x: pl.Tensor[{part}],
                    y: pl.InOut[pl.Tensor[{part}]],
                    data: pl.InOut[pld.DistributedTensor[{part}]],
                    signal: pl.InOut[pld.DistributedTensor[[16, 1], pl.INT32]],
                ):
                    ctx = pld.get_comm_ctx(data)
                    me = pld.rank(ctx)
                    n = pld.nranks(ctx)
            BODY
                @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
                def host(self, x: pl.Tensor[{whole}], y: pl.InOut[pl.Tensor[{whole}]]):
                    data_buf = pld.alloc_window_buffer({size})
                    signal_buf = pld.alloc_window_buffer(64)
                    for r in pl.range(pld.world_size()):
                        data = pld.window(data_buf, [{", ".join(map(str, shape))}], dtype=pl.{dtype})
                        signal = pld.window(signal_buf, [16, 1], dtype=pl.INT32)
                        self.kernel(x[r], y[r], data, signal, device=r)
            """).replace("BODY", lines)

    def program(self, body: str, *args: Any, **options: Any) -> Program:
        """The same, read."""
        return parse_program(self.text(body, *args, **options))

    def inputs(self, program: Program, devices: int, seed: int = 5) -> dict[str, Any]:
        """Whole numbers, so that sums are the same in any order."""
        kind = program["host"].params[0].type
        shape = (devices, *(d.value for d in kind.shape[1:]))
        dtype = np.int32 if kind.dtype.is_int else np.float32
        rng = np.random.default_rng(seed)
        return {name: rng.integers(-8, 8, shape).astype(dtype) for name in ("x", "y")}

    def run(self, program: Program, devices: int, engine: str = "values", **options: Any) -> Any:
        """What the host function leaves in ``y``."""
        return self.result(program, devices, engine, **options).outputs["y"]

    def result(self, program: Program, devices: int, engine: str = "values", **options: Any) -> RunResult:
        """The whole result."""
        arrays = options.pop("arrays", None) or self.inputs(program, devices)
        return self.host.engine(engine).load()(program, arrays, "host", world_size=devices, **options)

    def lowered(self, program: Program) -> Program:
        """The program after the plugin's own pass, with calls in statements of their own as it wants them."""
        flat, lower = (
            self.host.find_pass(name).load() for name in ("FlattenCallExpr", "LowerRemoteTransfers")
        )
        context = PassContext(host=self.host)
        before = map_functions(program, lambda f: flat(f, context))
        after = map_functions(before, lambda f: lower(f, context))
        return program if after is before else after

    def round_trips(self, program: Program) -> None:
        """Text and bytes give the same program again."""
        assert_structural_equal(parse(print_program(program)), program)
        assert_structural_equal(loads(dumps(program)), program, enable_auto_mapping=True)

    def everywhere(self, program: Program, devices: int, wanted: Any) -> None:
        """As written, and after all passes: both machines, three planners, on values and on planned bytes."""
        assert np.array_equal(self.run(program, devices), wanted)
        for machine in ("910b", "a5"):
            for planner in PLANNERS:
                compiled = compile(program, backend=machine, planner=planner, emit=False, host=self.host)
                self.round_trips(compiled.program)
                assert np.array_equal(self.run(compiled.program, devices), wanted), (machine, planner)
                if planner != "ptoas":
                    found = self.run(
                        compiled.program, devices, "bytes", backend=self.host.backend(machine), addressed=True
                    )
                    assert np.array_equal(found, wanted), (machine, planner)


@pytest.fixture(scope="session")
def kit() -> Kit:
    """See :class:`Kit`."""
    return Kit(load_host())
