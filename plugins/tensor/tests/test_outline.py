"""OutlineIncoreScopes: which kernels come of scopes, what they take and hand back, and what their calls look like."""

from __future__ import annotations

import textwrap
import time
from typing import Any

import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    Call,
    FunctionType,
    ParamDirection,
    SplitMode,
    SpmdScopeStmt,
    Submit,
    walk,
    walk_stmts,
)

T = "pl.Tensor[[64, 64], pl.FP32]"
OUTLINE = "OutlineIncoreScopes"
AT = "with pl.at(level=pl.Level.CORE_GROUP"


def outlined(kit: Any, params: str, body: str, result: str = "", **options: Any) -> Any:
    return kit.prove(kit.front(kit.main(params, body, result)), OUTLINE, holds=["SplitIncoreOrch"], **options)


def directions(function: Any) -> dict[str, str]:
    return {
        p.name_hint.split("__")[0]: d.name
        for p, d in zip(function.params, function.param_directions, strict=True)
    }


def test_a_scope_becomes_a_kernel_and_its_call(kit: Any) -> None:
    after = outlined(
        kit, f"a: {T}, b: {T}, out: pl.Out[{T}]", f"""
        {AT}, name_hint="total"):
            out[0:16, :] = pl.add(a[0:16, :], b[0:16, :])
        return out
        """, T,
    )  # fmt: skip
    kit.equal(
        after,
        f"""
        @pl.program
        class P:
            @pl.function(type=pl.FunctionType.InCore)
            def total(a: {T}, b: {T}, out: pl.Out[{T}]) -> {T}:
                x = pl.tensor.slice(a, [16, 64], [0, 0])
                y = pl.tensor.slice(b, [16, 64], [0, 0])
                z = pl.tensor.add(x, y)
                new = pl.tensor.assemble(out, z, [0, 0])
                return new
            @pl.function(type=pl.FunctionType.Orchestration)
            def main(self, a: {T}, b: {T}, out: pl.Out[{T}]) -> {T}:
                new = self.total(a, b, out)
                return new
        """,
    )


def test_directions_say_what_is_read_and_written(kit: Any) -> None:
    after = outlined(
        kit, f"a: {T}, both: pl.InOut[{T}], out: pl.Out[{T}], sums: pl.InOut[{T}]", f"""
        {AT}, name_hint="k"):
            both[:, :] = pl.add(both[:, :], a[:, :])
            out[:, :] = pl.neg(both[:, :])
            sums = pl.assemble(sums, a[:, :], [0, 0], atomic=pl.AtomicType.Add)
        return both, out, sums
        """, f"tuple[{T}, {T}, {T}]",
    )  # fmt: skip
    assert directions(after["k"]) == {"a": "In", "both": "InOut", "out": "Out", "sums": "InOut"}


def test_computed_tensors_come_back(kit: Any) -> None:
    after = outlined(
        kit, f"a: {T}, out: pl.Out[{T}]", f"""
        {AT}, name_hint="first"):
            half = pl.mul(a, 0.5)
            twice = pl.mul(a, 2.0)
        {AT}, name_hint="second"):
            out[:, :] = pl.sub(twice, half)
        return out
        """, T,
    )  # fmt: skip
    assert len(after["first"].return_types) == 2
    assert directions(after["second"]) == {"twice": "In", "half": "In", "out": "Out"}


def test_scalars_and_views_are_made_again_outside(kit: Any) -> None:
    after = outlined(
        kit, f"a: {T}, n: pl.Tensor[[1], pl.INT32], out: pl.Out[{T}]", f"""
        {AT}, name_hint="first"):
            rows = pl.cast(pl.tensor.read(n, [0]), pl.INDEX)
            place = rows * 16
            part = out[16:32, :]
            out[16:32, :] = pl.neg(a[16:32, :])
        {AT}, name_hint="second"):
            out[place:place + 16, :] = pl.add(part, a[0:16, :])
        return out
        """, T, inputs={"a": _array(), "n": _number(3)},
    )  # fmt: skip
    assert [t.shape[0].value for t in after["first"].return_types] == [64]
    # what the second kernel is given is computed by the host
    names = [c.name for c in walk(after["main"].body) if isinstance(c, Call)]
    assert names == ["tensor.read", "first", "tensor.slice", "second"]


def _array() -> Any:
    import numpy as np

    return np.random.default_rng(3).standard_normal((64, 64), dtype=np.float32)


def _number(value: int) -> Any:
    import numpy as np

    return np.array([value], np.int32)


def test_a_tensor_that_is_only_filled_is_created_ahead(kit: Any) -> None:
    after = outlined(
        kit, f"a: {T}, out: pl.Out[{T}]", f"""
        {AT}, name_hint="fill"):
            tmp = pl.create_tensor([64, 64], dtype=pl.FP32)
            tmp[0:32, :] = a[32:64, :]
            tmp[32:64, :] = a[0:32, :]
        {AT}, name_hint="use"):
            out[:, :] = pl.neg(tmp)
        return out
        """, T,
    )  # fmt: skip
    assert directions(after["fill"]) == {"tmp": "Out", "a": "In"}
    assert [c.name for c in walk(after["main"].body) if isinstance(c, Call)] == [
        "tensor.create",
        "fill",
        "use",
    ]


def test_stores_without_a_new_name_count(kit: Any) -> None:
    """``pl.store`` and ``pl.write`` as statements: later readers get what the kernel hands back."""
    after = outlined(
        kit, f"a: {T}, out: pl.Out[{T}], mark: pl.Out[pl.Tensor[[4], pl.FP32]]", f"""
        for i in pl.range(2):
            {AT}, name_hint="halves"):
                t = pl.load(a, [i * 32, 0], [32, 64])
                pl.store(pl.neg(t), [i * 32, 0], out)
        {AT}, name_hint="marks"):
            for j in pl.range(4):
                pl.write(mark, [j], pl.tensor.read(out, [j, 0]))
        return out, mark
        """, f"tuple[{T}, pl.Tensor[[4], pl.FP32]]",
    )  # fmt: skip
    assert directions(after["halves"]) == {"a": "In", "i": "In", "out": "Out"}
    assert directions(after["marks"]) == {"mark": "Out", "out": "In"}


def test_tensors_go_round_a_loop(kit: Any) -> None:
    after = outlined(
        kit, f"a: {T}, out: pl.Out[{T}]", f"""
        for i in pl.range(4):
            {AT}, name_hint="row"):
                out[i * 16:(i + 1) * 16, :] = pl.exp(a[i * 16:(i + 1) * 16, :])
        return out
        """, T,
    )  # fmt: skip
    assert directions(after["row"]) == {"a": "In", "i": "In", "out": "Out"}


def test_both_ways_of_a_branch(kit: Any) -> None:
    body = f"""
    if n > 2:
        {AT}, name_hint="one"):
            out[:, :] = pl.neg(a)
    else:
        {AT}, name_hint="other"):
            out[:, :] = pl.exp(a)
    return out
    """
    for n in (1, 5):
        outlined(
            kit, f"a: {T}, n: pl.Scalar[pl.INT32], out: pl.Out[{T}]", body, T, inputs={"a": _array(), "n": n}
        )


@pytest.mark.parametrize("form", ["for core in pl.spmd(4, name_hint='s')", "with pl.spmd(4, name_hint='s')"])
def test_a_launch_that_computes_is_a_kernel(kit: Any, form: str) -> None:
    ask = "" if form.startswith("for") else "core = pl.tile.get_block_idx()"
    after = outlined(
        kit, f"a: {T}, out: pl.Out[{T}]", f"""
        {form}:
            {ask or "pass"}
            out[core * 16:(core + 1) * 16, :] = pl.exp(a[core * 16:(core + 1) * 16, :])
        return out
        """.replace("            pass\n", ""), T,
    )  # fmt: skip
    [scope] = [s for s in walk_stmts(after["main"].body) if isinstance(s, SpmdScopeStmt)]
    assert scope.loop_var is None and scope.core_num.value == 4  # type: ignore[attr-defined]
    assert after["s"].func_type is FunctionType.InCore and directions(after["s"]) == {"a": "In", "out": "Out"}


def test_a_launch_of_a_function_stays_with_the_host(kit: Any) -> None:
    program = kit.program(f"""
    @pl.program
    class P:
        @pl.function(type=pl.FunctionType.InCore)
        def k(self, a: {T}, out: pl.Out[{T}]) -> {T}:
            core = pl.tile.get_block_idx()
            t = pl.load(a, [core * 16, 0], [16, 64])
            return pl.store(pl.neg(t), [core * 16, 0], out)
        @pl.function(type=pl.FunctionType.Orchestration)
        def main(self, a: {T}, out: pl.Out[{T}]) -> {T}:
            with pl.spmd(4):
                out = self.k(a, out)
            return out
    """)
    front = kit.front(program)
    assert kit.apply(front, OUTLINE) is front


def test_a_scope_within_a_launch_is_part_of_its_kernel(kit: Any) -> None:
    after = outlined(
        kit, f"a: {T}, out: pl.Out[{T}]", f"""
        for core in pl.spmd(4):
            {AT}, name_hint="inner", optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
                out[core * 16:(core + 1) * 16, :] = pl.exp(a[core * 16:(core + 1) * 16, :])
        return out
        """, T,
    )  # fmt: skip
    assert sorted(after.functions) == ["inner", "main"]
    assert after["inner"].attrs["split"] is SplitMode.UP_DOWN


def test_tasks_carry_their_dependencies(kit: Any) -> None:
    after = outlined(
        kit, f"a: {T}, out: pl.Out[{T}], other: pl.Out[{T}]", f"""
        {AT}, name_hint="first", allow_early_resolve=True) as tid:
            out[:, :] = pl.neg(a)
        {AT}, name_hint="second", deps=[tid]):
            other[:, :] = pl.exp(a)
        return out, other
        """, f"tuple[{T}, {T}]",
    )  # fmt: skip
    first, second = [n for n in walk(after["main"].body) if isinstance(n, Submit)]
    assert (first.op.name, first.allow_early_resolve, first.deps) == ("first", True, ())
    assert second.op.name == "second" and len(second.deps) == 1 and not second.allow_early_resolve


def test_run_time_extents_are_known_inside(kit: Any) -> None:
    """A symbol that is an extent of a parameter needs no parameter of its own; one that is not does."""
    program = kit.program("""
    N = pl.dynamic("N")

    @pl.program
    class P:
        @pl.function(type=pl.FunctionType.Orchestration)
        def main(self, a: pl.Tensor[[N, 64], pl.FP32], b: pl.Tensor[[64, 64], pl.FP32],
                 out: pl.Out[pl.Tensor[[N, 64], pl.FP32]], last: pl.Out[pl.Tensor[[64, 64], pl.FP32]]
                 ) -> tuple[pl.Tensor[[N, 64], pl.FP32], pl.Tensor[[64, 64], pl.FP32]]:
            n = pl.tensor.dim(a, 0)
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="rows"):
                for r in pl.range(0, n, 16):
                    out[r:r + 16, :] = pl.neg(a[r:r + 16, :])
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="count"):
                for r in pl.range(0, n, 16):
                    last[0:16, :] = pl.add(b[0:16, :], 1.0)
            return out, last
    """)
    after = kit.prove(kit.front(program), OUTLINE, holds=["SplitIncoreOrch"], dims={"N": 48})
    assert directions(after["rows"]) == {"n": "In", "out": "Out", "a": "In"}
    assert directions(after["count"]) == {"n": "In", "last": "Out", "b": "In"}


def test_names_are_the_authors_where_they_are_free(kit: Any) -> None:
    scope = f"""
        {AT}HINT):
            out[:, :] = pl.neg(out[:, :])
    """
    body = "".join(
        scope.replace("HINT", h) for h in (', name_hint="k"', ', name_hint="k"', "", ', name_hint="main"')
    )
    after = outlined(kit, f"out: pl.InOut[{T}]", body + "        return out", T)
    assert sorted(after.functions) == ["k", "k_0", "main", "main_0", "main_incore_0"]
    named = scope.replace("HINT", ', name_hint="2nd step!"') + "        return out"
    assert sorted(outlined(kit, f"out: pl.InOut[{T}]", named, T).functions) == ["_2nd_step_", "main"]


def test_comments_stay(kit: Any) -> None:
    program = kit.main(
        f"a: {T}, out: pl.Out[{T}]", f"""
        # ahead of the scope
        {AT}, name_hint="k"):
            # inside of it
            out[:, :] = pl.neg(a)
        return out
        """, T,
    )  # fmt: skip
    after = kit.apply(kit.front(program), OUTLINE)

    def comments(function: Any) -> list[str]:
        return [c for s in walk_stmts(function.body) for c in s.leading_comments]

    assert "ahead of the scope" in comments(after["main"]) and "inside of it" in comments(after["k"])


def test_a_scalar_that_the_core_computes_can_not_leave(kit: Any) -> None:
    body = f"""
    {AT}, name_hint="k"):
        t = pl.exp(a[0:16, :])
        x = pl.read(t, [0, 0])
        out[0:16, :] = t
    {AT}):
        out[16:32, :] = pl.mul(a[16:32, :], x)
    return out
    """
    front = kit.front(kit.main(f"a: {T}, out: pl.Out[{T}]", body, T))
    with pytest.raises(UserError, match="'x' is computed on the core") as caught:
        kit.apply(front, OUTLINE)
    assert caught.value.diagnostics[0].code == "PT370" and "pl.write" in caught.value.diagnostics[0].remedy


def test_a_tile_can_not_leave(kit: Any) -> None:
    body = f"""
    {AT}, name_hint="k"):
        t = pl.load(a, [0, 0], [16, 64])
        out = pl.store(t, [0, 0], out)
    {AT}):
        out = pl.store(t, [16, 0], out)
    return out
    """
    front = kit.front(kit.main(f"a: {T}, out: pl.Out[{T}]", body, T))
    with pytest.raises(UserError, match="tile 't' is made on one side") as caught:
        kit.apply(front, OUTLINE)
    assert caught.value.diagnostics[0].code == "PT371"


def test_an_opaque_function_is_orchestration_afterwards(kit: Any) -> None:
    body = f"""
    {AT}, name_hint="k"):
        out[:, :] = pl.neg(a)
    return out
    """
    after = kit.apply(kit.front(kit.main(f"a: {T}, out: pl.Out[{T}]", body, T, kind="Opaque")), OUTLINE)
    assert after["main"].func_type is FunctionType.Orchestration
    assert after["k"].param_directions == (ParamDirection.In, ParamDirection.Out)


@pytest.mark.parametrize("around", ["", "for i in pl.range(3):", "if pl.cast(k[0], pl.INDEX) > 0:"])
def test_scopes_write_elements_of_one_tensor_in_turn(kit: Any, around: str) -> None:
    """Each sees what all before it have written, also behind a loop or branch."""
    scope = "{}):\n    out[{}:{}, :] = pl.mul(a[{}:{}, :], 2.0)\n    pl.write(mark, [{}], k[0] + pl.read(mark, [{}]))\n"

    def write(at: int) -> str:
        row = 16 * (at % 4)
        return scope.format(AT, row, row + 16, row, row + 16, at + 1, at)

    middle = write(1) + write(2)
    nested = f"{around}\n{textwrap.indent(middle, '    ')}" if around else middle
    before = kit.front(
        kit.main(
            f"a: {T}, k: pl.Tensor[[1], pl.INT32], out: pl.InOut[{T}], mark: pl.InOut[pl.Tensor[[8], pl.INT32]]",
            f"{write(0)}{nested}{write(3)}{write(4)}return out, mark",
            f"tuple[{T}, pl.Tensor[[8], pl.INT32]]",
        )
    )
    kit.prove(before, OUTLINE, holds=["InOutUseValid"])


def test_an_element_is_written_of_what_a_scope_before_wrote(kit: Any) -> None:
    """Some writes give a tensor a new name in the text, others don't."""
    body = f"""
    {AT}):
        pl.write(out, [0, 1], pl.cast(k[0], pl.FP32))
    {AT}):
        out[:, :] = pl.add(out, a)
    {AT}):
        if k[0] > 0:
            pl.write(out, [0, 2], pl.read(out, [0, 1]))
    {AT}):
        out[0:16, :] = pl.mul(out[0:16, :], 2.0)
    {AT}):
        pl.write(out, [0, 3], pl.read(out, [0, 2]))
    return out
    """
    before = kit.front(kit.main(f"a: {T}, k: pl.Tensor[[1], pl.INT32], out: pl.InOut[{T}]", body, T))
    kit.prove(before, OUTLINE, holds=["InOutUseValid"])


def test_the_work_grows_with_the_program(kit: Any) -> None:
    """Four times the scopes take about four times as long, and not sixteen."""

    def seconds(scopes: int) -> float:
        body = "".join(
            f"""
        {AT}):
            out[{16 * (i % 4)}:{16 * (i % 4) + 16}, :] = pl.exp(a[{16 * (i % 4)}:{16 * (i % 4) + 16}, :])
            """
            for i in range(scopes)
        )
        front = kit.front(kit.main(f"a: {T}, out: pl.Out[{T}]", body + "\n        return out", T))
        best = 1e9
        for _ in range(3):
            began = time.perf_counter()
            kit.apply(front, OUTLINE)
            best = min(best, time.perf_counter() - began)
        return best

    small, large = seconds(60), seconds(240)
    assert large < 8 * small, f"{small:.3f} s for 60 scopes, {large:.3f} s for 240"
