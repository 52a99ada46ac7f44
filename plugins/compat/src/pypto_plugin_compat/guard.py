"""Keeps this distribution from standing beside another one whose package is called ``pypto`` as well.

pip installs two distributions over each other without a word, and what is then imported is a mixture of both.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

OURS = "pypto-compat"
PACKAGE = "pypto"


def refuse_beside_another(path: Iterable[str] | None = None) -> None:
    """Raise ImportError when ``path`` (default: ``sys.path``) holds another package ``pypto``; says which."""
    places = list(sys.path if path is None else path)
    found = other_distributions(places) or other_packages(places)
    if found:
        raise ImportError(
            f"{OURS} offers the import name '{PACKAGE}', and so does {' and '.join(found)}: "
            f"two packages of one name get mixed up; keep one: pip uninstall {OURS}, "
            f"or uninstall the other and install {OURS} again",
            name=PACKAGE,
        )


def other_distributions(places: list[str]) -> list[str]:
    """Distributions beside ours that bring a package ``pypto``, as ``name version``, sorted."""
    namesakes = list(metadata.distributions(name=PACKAGE, path=places))
    bringers = [dist for dist in metadata.distributions(path=places) if _brings_package(dist)]
    named = {
        dist.metadata["Name"] or "a nameless distribution": dist.version for dist in [*namesakes, *bringers]
    }
    return [f"{name} {named[name]}" for name in sorted(named) if _normal(name) != OURS]


def _brings_package(dist: metadata.Distribution) -> bool:
    tops = dist.read_text("top_level.txt")
    if tops is not None:
        return PACKAGE in tops.split()
    record = dist.read_text("RECORD") or ""
    return record.startswith(f"{PACKAGE}/") or f"\n{PACKAGE}/" in record


def other_packages(places: list[str]) -> list[str]:
    """Packages ``pypto`` on the path that are not this one, and compiled parts that lie in ours, as paths."""
    here = Path(__file__).resolve().parent.parent / PACKAGE
    folders = {(Path(place) / PACKAGE).resolve() for place in places} - {here}
    foreign = [folder for folder in folders if (folder / "__init__.py").is_file()]
    compiled = [file for file in here.glob("pypto_core.*") if file.suffix in (".so", ".pyd", ".dylib")]
    return sorted(map(str, [*foreign, *compiled]))


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
