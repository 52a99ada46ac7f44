"""Loops inside of loops, and the bytes that all rings of a function pin together."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.ir import ForKind

PIPELINE, RANGE = ForKind.Pipeline, ForKind.Sequential
PARAMS = "a: pl.Tensor[[64, 16], pl.FP32], out: pl.Out[pl.Tensor[[64, 16], pl.FP32]], n: pl.Scalar[pl.INDEX]"


OWN = "    t = pl.load(a, [i, 0], [1, 16])\n    pl.store(t, [i, 0], out)\n"


def nest(outer: str, inner: str, own: str = OWN) -> str:
    return (
        f"for i in pl.{outer}:\n{own}    for j in pl.{inner}:\n"
        "        u = pl.load(a, [i * 4 + j, 0], [1, 16])\n        pl.store(u, [i * 4 + j, 0], out)\n"
    )


def judged(kit: Any, body: str, **context: Any) -> Any:
    return kit.rotate(kit.kernel(PARAMS, body), **context)


def test_both_rotate(kit: Any) -> None:
    done = judged(kit, nest("pipeline(0, 4, 1, stage=2)", "pipeline(1, 4, 1, stage=3)"))
    assert done.rings == {"t": ("pipe_t", 2, "i % 2"), "u": ("pipe_u", 3, "(j - 1) % 3")}
    assert done.loops == [("i", RANGE, None), ("j", RANGE, None)]


def test_a_replicated_loop_keeps_all_below_it(kit: Any) -> None:
    done = judged(kit, nest("pipeline(n, 4, 1, stage=2)", "pipeline(0, 4, 1, stage=2)"))
    assert done.untouched and done.codes == ["PH-LS-004", "PH-LS-002"]
    facts = dict(done.hints[1].facts)
    assert (facts["outer loop"], facts["outer stages"]) == ("i", "2")
    assert "'j'" in done.hints[1].message


def test_a_loop_without_loads_of_its_own_is_replicated(kit: Any) -> None:
    done = judged(kit, nest("pipeline(0, 4, 1, stage=2)", "pipeline(0, 4, 1, stage=2)", ""))
    assert done.untouched and done.codes == ["PH-LS-007", "PH-LS-002"]


def test_a_loop_of_one_stage_does_not_hinder(kit: Any) -> None:
    done = judged(kit, nest("pipeline(0, 4, 1, stage=1)", "pipeline(0, 4, 1, stage=2)"))
    assert done.loops == [("i", PIPELINE, 1), ("j", RANGE, None)]
    assert done.rings == {"u": ("pipe_u", 2, "j % 2")} and not done.hints


def test_a_range_around_does_not_hinder(kit: Any) -> None:
    done = judged(kit, nest("range(0, 4, 1)", "pipeline(0, 4, 1, stage=2)"))
    assert done.rings == {"u": ("pipe_u", 2, "j % 2")}


def test_the_verdict_reaches_through_ranges_and_branches_and_ends_with_the_loop(kit: Any) -> None:
    inner = (
        "for j in pl.pipeline(0, 4, 1, stage=2):\n"
        "    u = pl.load(a, [j, 0], [1, 16])\n    pl.store(u, [j, 0], out)\n"
    )

    def indented(by: int) -> str:
        return "".join(" " * by + line + "\n" for line in inner.splitlines())

    body = (
        "for i in pl.pipeline(n, 4, 1, stage=2):\n    for k in pl.range(0, 2, 1):\n        if k == n:\n"
        + indented(12)
        + inner.replace("u =", "w =").replace("store(u", "store(w")
    )
    done = judged(kit, body)
    assert done.codes == ["PH-LS-004", "PH-LS-002"]
    assert done.rings == {"w": ("pipe_w", 2, "j % 2")}
    assert done.loops == [("i", PIPELINE, 2), ("k", RANGE, None), ("j", PIPELINE, 2), ("j", RANGE, None)]


def test_an_inner_loop_may_be_replicated_in_one_that_rotates(kit: Any) -> None:
    done = judged(kit, nest("pipeline(0, 4, 1, stage=2)", "pipeline(n, 4, 1, stage=2)"))
    assert done.codes == ["PH-LS-004"] and list(done.rings) == ["t"]
    assert done.loops == [("i", RANGE, None), ("j", PIPELINE, 2)]


# -- bytes: Vec has 184 KiB on the 910b and 240 KiB on the a5

BIG = "a: pl.Tensor[[1024, 1024], pl.FP32], out: pl.Out[pl.Tensor[[1024, 1024], pl.FP32]]"


def blocks(kib: int, stages: int, name: str = "t", counter: str = "i") -> str:
    """A loop whose tile has so many KiB."""
    return (
        f"for {counter} in pl.pipeline(0, 2, 1, stage={stages}):\n"
        f"    {name} = pl.load(a, [0, 0], [{kib}, 256])\n    pl.store({name}, [0, 0], out)\n"
    )


def fitted(kit: Any, body: str, backend: str | None = "910b") -> Any:
    return kit.rotate(kit.kernel(BIG, body), backend=backend, run=False)


@pytest.mark.parametrize(
    ("backend", "kib", "stages", "fits"),
    [
        ("910b", 92, 2, True),
        ("910b", 93, 2, False),
        ("910b", 46, 4, True),
        ("910b", 47, 4, False),
        ("a5", 120, 2, True),
        ("a5", 121, 2, False),
        ("a5", 128, 2, False),
        (None, 1000, 16, True),
    ],
)
def test_a_memory_may_be_filled_to_the_last_byte(
    kit: Any, backend: str | None, kib: int, stages: int, fits: bool
) -> None:
    done = fitted(kit, blocks(kib, stages), backend)
    assert (not done.untouched) == fits
    assert done.codes == ([] if fits else ["PH-LS-012"])


def test_the_hint_does_the_sum(kit: Any) -> None:
    done = fitted(kit, blocks(40, 2) + blocks(50, 3, "u", "j"))
    facts = dict(done.hints[0].facts)
    assert facts["memory"] == "Vec" and facts["capacity"] == f"{184 * 1024} bytes"
    assert facts["pinned before"] == f"{80 * 1024} bytes"
    assert facts["wanted"] == f"3 slots x ({50 * 1024}) = {150 * 1024} bytes"
    # 104 KiB are left, which is two of 50.
    assert "2 stages fit" in done.hints[0].remedy
    assert list(done.rings) == ["t"]


def test_loads_of_one_loop_are_added_up(kit: Any) -> None:
    two = (
        "for i in pl.pipeline(0, 2, 1, stage=2):\n    t = pl.load(a, [0, 0], [{}, 256])\n"
        "    u = pl.load(a, [0, 0], [46, 256])\n    pl.store(t, [0, 0], out)\n    pl.store(u, [0, 0], out)\n"
    )
    assert not fitted(kit, two.format(46)).hints
    done = fitted(kit, two.format(47))
    assert done.untouched and f"({47 * 1024} + {46 * 1024})" in dict(done.hints[0].facts)["wanted"]


def test_the_bytes_of_a_function_are_never_given_back(kit: Any) -> None:
    assert not fitted(kit, blocks(46, 2) + blocks(46, 2, "u", "j")).hints
    done = fitted(kit, blocks(46, 2) + blocks(47, 2, "u", "j") + blocks(46, 2, "w", "k"))
    assert list(done.rings) == ["t", "w"], "a loop that is declined is not charged for"
    assert done.codes == ["PH-LS-012"]


def test_the_outer_loop_takes_first(kit: Any) -> None:
    inner = "".join(f"    {line}\n" for line in blocks(50, 2, "u", "j").splitlines())
    body = blocks(50, 2).replace("    pl.store(t, [0, 0], out)\n", "    pl.store(t, [0, 0], out)\n" + inner)
    done = fitted(kit, body)
    assert list(done.rings) == ["t"] and done.codes == ["PH-LS-012"]
    assert done.loops == [("i", RANGE, None), ("j", PIPELINE, 2)]


@pytest.mark.parametrize(("kib", "fits"), [(42, True), (43, False)])
@pytest.mark.parametrize("place", ["before", "after"])
def test_declarations_of_the_author_count(kit: Any, kib: int, fits: bool, place: str) -> None:
    """A ring of two slots of 50 KiB: its largest tile counts for every slot, whatever the others are."""
    mine = (
        'q: pl.Tile[[50, 256], pl.FP32, pl.MemRef("mine", slots=2)[0], pl.Mem.Vec] = pl.load(a, [0, 0], [50, 256])\n'
        'r: pl.Tile[[8, 256], pl.FP32, pl.MemRef("mine", slots=2)[1], pl.Mem.Vec] = pl.load(a, [0, 0], [8, 256])\n'
        "pl.store(q, [0, 0], out)\npl.store(r, [0, 0], out)\n"
    )
    body = mine + blocks(kib, 2) if place == "before" else blocks(kib, 2) + mine
    done = fitted(kit, body)
    assert ("t" in done.rings) == fits
    assert done.codes == ([] if fits else ["PH-LS-012"])


def test_memories_are_judged_apart(kit: Any) -> None:
    body = blocks(92, 2) + blocks(256, 2, "u", "j").replace(
        "[256, 256]", "[256, 256], target_memory=pl.Mem.Mat"
    )
    body = body.replace("    pl.store(u, [0, 0], out)\n", "    k = j + 1\n")
    done = fitted(kit, body)
    assert list(done.rings) == ["t", "u"] and not done.hints
