"""Readers of two public collections of placement problems.

``dsa/problems.jsonl`` with ``dsa/best_known.csv``: problems of real tile kernels, and the best costs known for those
with reuse penalties. ``minimalloc/<name>.<capacity>.csv``: few, large and tight. Both are looked for in the folder
that the environment variable ``PYPTO_PLANNING_DATA`` names, and without it in ``shared/data`` beside the checkout.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from pypto_core.contract import PlacementBlock, PlacementProblem, ReusePenalty, Separation
from pypto_core.ir import MemorySpace

VARIABLE = "PYPTO_PLANNING_DATA"
BESIDE = Path(__file__).resolve().parents[4] / "shared" / "data"


@attrs.frozen(kw_only=True)
class Case:
    """A problem with its name, the best reuse cost known, and whether any method is known to fit it; None: unknown."""

    name: str
    problem: PlacementProblem
    best: int | None = None
    fits: bool | None = None


def data_folder() -> Path | None:
    """The folder, or None when it is not there."""
    text = os.environ.get(VARIABLE)
    folder = BESIDE if text is None else Path(text)
    return folder if text != "" and folder.is_dir() else None


def dsa_cases(folder: Path) -> Iterator[Case]:
    """All problems of the DSA collection, in file order."""
    best = _best_known(folder / "dsa" / "best_known.csv")
    with (folder / "dsa" / "problems.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield _dsa_case(json.loads(line), best)


def _best_known(path: Path) -> dict[str, int | None]:
    with path.open(encoding="utf-8", newline="") as file:
        return {
            row["source_fingerprint"]: int(row["best_known_cost"]) if row["best_known_cost"] else None
            for row in csv.DictReader(file)
        }


def _dsa_case(record: dict[str, Any], best: dict[str, int | None]) -> Case:
    raw, meta = record["problem"], record.get("metadata", {})
    spaces = {s.value: s for s in MemorySpace}
    names = {b["id"]: f"{b['id']}:{b['name']}" for b in raw["buffers"]}
    limits = raw["constraints"]
    pools = {b["id"]: b["allowed_pools"][0] for b in raw["buffers"]}
    pins = {p["buffer"]: p["offset"] for p in limits.get("pinned_allocations", ())}
    problem = PlacementProblem(
        blocks=[
            PlacementBlock(
                name=names[b["id"]],
                space=spaces[b["allowed_pools"][0]],
                size=b["size"],
                alignment=max(1, b["alignment"]),
                live=sorted((span["lower"], span["upper"]) for span in b["live_intervals"]),
                fixed=pins.get(b["id"]),
            )
            for b in raw["buffers"]
        ],
        capacities={spaces[p["id"]]: p["capacity"] for p in raw["pools"] if p.get("capacity") is not None},
        reserved={
            spaces[p["id"]]: [(r["begin"], r["end"]) for r in p["reserved_ranges"]] for p in raw["pools"]
        },
        separations=[
            Separation(a=names[s["first"]], b=names[s["second"]], reasons=s.get("reasons", ()))
            for s in limits["separations"]
            if pools[s["first"]] == pools[s["second"]]
        ],
        penalties=[
            ReusePenalty(a=names[p["first"]], b=names[p["second"]], weight=p["cost"])
            for p in raw.get("cost_model", {}).get("reuse_penalties", ())
            if pools[p["first"]] == pools[p["second"]]
        ],
        purpose=record["instance"],
    )
    fingerprint = meta.get("corpus_source_fingerprint_fnv1a64", "")
    known = meta.get("dsa_rp_edge_policy") == "soft_v1" and fingerprint in best
    return Case(
        name=record["instance"],
        problem=problem,
        best=best[fingerprint] if known else None,
        fits=best[fingerprint] is not None if known else None,
    )


def minimalloc_cases(folder: Path) -> Iterator[Case]:
    """The problems of the MinimAlloc collection whose file name ends in their capacity, by name."""
    for path in sorted((folder / "minimalloc").glob("*.csv")):
        capacity = int(path.stem.split(".")[1])
        with path.open(encoding="utf-8", newline="") as file:
            blocks = [
                PlacementBlock(
                    name=row["id"],
                    space=MemorySpace.Vec,
                    size=int(row["size"]),
                    live=((int(row["lower"]), int(row["upper"])),),
                )
                for row in csv.DictReader(file)
            ]
        problem = PlacementProblem(blocks=blocks, capacities={MemorySpace.Vec: capacity}, purpose=path.stem)
        yield Case(name=path.stem, problem=problem)
