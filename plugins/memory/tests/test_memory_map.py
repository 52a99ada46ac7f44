"""The memory map: addresses, lives and capacities, as text, data and picture."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from xml.etree import ElementTree

import attrs
import pytest

from pypto_core.cli import main
from pypto_core.host import load_host
from pypto_core.ir import MemorySpace
from pypto_core.run import compile
from pypto_plugin_memory.memory_map import MemoryMap, memory_map

KERNEL = """
import pypto_core.language as pl

@pl.program
class Kernel:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, a: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        x = pl.load(a, [0, 0], [32, 64])
        y = pl.load(a, [32, 0], [32, 64])
        z = pl.add(x, y)
        pl.store(z, [0, 0], out)
        w = pl.load(a, [0, 0], [32, 64])
        pl.store(w, [32, 0], out)
"""
TILE = 32 * 64 * 4

PIPELINED = """
import pypto_core.language as pl

@pl.program
class Kernel:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, a: pl.Tensor[[256, 64], pl.FP32], b: pl.Tensor[[256, 64], pl.FP32],
             out: pl.Out[pl.Tensor[[256, 64], pl.FP32]]):
        for row in pl.pipeline(0, 256, 32, stage=2):
            x = pl.load(a, [row, 0], [32, 64])
            y = pl.load(b, [row, 0], [32, 64])
            out = pl.store(pl.add(x, y), [row, 0], out)
        return out
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    return path


def test_blocks_of_a_plan(kernel: Path) -> None:
    compiled = compile(kernel, backend="910b", goal="AllocatedMemoryAddr")
    backend = load_host().backend("910b")
    [found] = memory_map(compiled.program, backend, addressed=True).spaces
    assert (found.function, found.space, found.capacity) == ("main", MemorySpace.Vec, 184 * 1024)
    # Two operands are alive at once, and the sum may take the place of one of them.
    assert found.live_peak == 2 * TILE
    assert found.peak == max(b.address + b.bytes for b in found.blocks if b.address is not None)
    assert {b.bytes for b in found.blocks} == {TILE}
    names = [name for block in found.blocks for name in block.tiles]
    assert sorted(names) == ["w", "x", "y", "z"]
    lives = {name: block.live for block in found.blocks for name in block.tiles}
    assert all(begin < end for spans in lives.values() for begin, end in spans)
    for at, one in enumerate(found.blocks):
        for other in found.blocks[:at]:
            together = any(a < d and c < b for a, b in one.live for c, d in other.live)
            assert one.address is not None and other.address is not None
            apart = one.address + TILE <= other.address or other.address + TILE <= one.address
            assert apart or not together


def test_the_command_in_three_forms(kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "map.svg"
    assert main(["memory", str(kernel), "--backend", "910b", "--json", "--picture", str(picture)]) == 0
    [space] = json.loads(capsys.readouterr().out)
    assert (space["space"], space["capacity"]) == ("Vec", 188416)
    root = ElementTree.parse(picture).getroot()
    titles = [node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == sum(len(block["live"]) for block in space["blocks"])
    assert main(["memory", str(kernel), "--backend", "910b"]) == 0
    text = capsys.readouterr().out
    assert "of 188416 bytes" in text and "kernel.py:8:" in text
    for block in space["blocks"]:
        assert f"{block['address']:#x}..{block['address'] + block['bytes'] - 1:#x}" in text


def test_a_pipelined_loop_has_the_tiles_of_every_stage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(PIPELINED)
    assert main(["memory", str(path), "--backend", "910b", "--json"]) == 0
    [space] = json.loads(capsys.readouterr().out)
    # Two operands in each of two stages, and a sum may take the place of one of its operands.
    assert space["live_peak"] == space["peak"] == 4 * TILE
    assert {block["bytes"] for block in space["blocks"]} == {TILE}


def test_a_ring_of_slots_is_shown_where_it_lies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(PIPELINED)
    chosen = ["--planner", "pypto", "--option", "enable_addressed_slots=true"]
    assert main(["memory", str(path), "--backend", "910b", *chosen, "--json"]) == 0
    [space] = json.loads(capsys.readouterr().out)
    # Two rings of two slots that nothing else may touch, and the sum beside them.
    assert sorted(block["bytes"] for block in space["blocks"]) == [TILE, 2 * TILE, 2 * TILE]
    places = sorted((block["address"], block["address"] + block["bytes"]) for block in space["blocks"])
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(places))
    assert space["peak"] == space["live_peak"] == 5 * TILE


def test_the_assembler_places_tiles_itself(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", str(kernel), "--backend", "910b", "--planner", "ptoas", "--json"]) == 0
    [space] = json.loads(capsys.readouterr().out)
    assert all(block["address"] is None for block in space["blocks"])
    assert space["peak"] == sum(block["bytes"] for block in space["blocks"])


def test_a_goal_before_all_places_is_said_to_have_none(
    kernel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", str(kernel), "--backend", "910b", "--goal", "SSAForm"]) == 0
    assert "no tile has a place" in capsys.readouterr().out
    assert main(["memory", str(kernel), "--backend", "910b", "--goal", "SSAForm", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_only_svg_is_drawn(kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "map.bmp"
    assert main(["memory", str(kernel), "--backend", "910b", "--picture", str(wrong)]) == 2
    assert "PT632" in capsys.readouterr().err
    assert not wrong.exists()


def test_a_notebook_shows_the_picture_whatever_names_hold(kernel: Path) -> None:
    hostile = "<script>alert('&')</script>"
    compiled = compile(kernel, backend="910b", goal="AllocatedMemoryAddr")
    [found] = memory_map(compiled.program, load_host().backend("910b"), addressed=True).spaces
    blocks = [attrs.evolve(block, tiles=(hostile,)) for block in found.blocks]
    odd = attrs.evolve(found, function=hostile, blocks=tuple(blocks))
    tree = ElementTree.fromstring(MemoryMap([odd])._repr_svg_())
    texts = [element.text or "" for element in tree.iter()]
    assert sum(hostile in text for text in texts) == 1 + sum(len(block.live) for block in blocks)
    assert not any(element.tag.endswith("script") for element in tree.iter())
    assert odd._repr_svg_() == MemoryMap([odd])._repr_svg_()
