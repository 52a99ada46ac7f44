"""Builds the wheel of the kernel and of every plugin into one folder and checks what each contains.

Usage: build_wheels.py FOLDER. Wheels that lie there from an earlier build are removed first, so that nothing
installs a version that the sources no longer have.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def projects(root: Path) -> list[Path]:
    """The folders that are a distribution each: the root first, then the plugins by name."""
    return [root, *(path.parent for path in sorted(root.glob("plugins/*/pyproject.toml")))]


def build(project: Path, folder: Path) -> Path:
    """Build one wheel with the tools of this environment and return it."""
    with open(project / "pyproject.toml", "rb") as file:
        metadata = tomllib.load(file)["project"]
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder),
        str(project),
    ]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"{metadata['name']}: the build failed\n{result.stdout}{result.stderr}")
    stem = f"{metadata['name'].replace('-', '_')}-{metadata['version']}"
    wheels = sorted(folder.glob(f"{stem}-*.whl"))
    if len(wheels) != 1:
        raise SystemExit(f"{metadata['name']}: expected one wheel {stem}-*.whl, there are {len(wheels)}")
    return wheels[0]


def package_count(project: Path) -> int:
    """How many packages a project says that its wheel has."""
    with open(project / "pyproject.toml", "rb") as file:
        return len(tomllib.load(file)["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])


def faults(wheel: Path, count: int = 1) -> list[str]:
    """What is wrong with a wheel: it holds ``count`` typed packages and its metadata, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = sorted({name.split("/")[0] for name in names})
    packages = [top for top in tops if not top.endswith(".dist-info")]
    wanted = "one package belongs" if count == 1 else f"{count} packages belong"
    found = [] if len(packages) == count else [f"{wanted} in it, it has {packages}"]
    found += [f"{package} has no py.typed" for package in packages if f"{package}/py.typed" not in names]
    found += [f"{name} does not belong in it" for name in names if _is_foreign(name)]
    return found


def _is_foreign(name: str) -> bool:
    """Tests and compiled files; tests that are templates of somebody else's are part of the package."""
    return ("/tests/" in name and "/templates/" not in name) or name.endswith(".pyc")


def main() -> int:
    """Build all, print one line each; 1 when a wheel has a fault."""
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob("*.whl"):
        stale.unlink()
    bad = 0
    for project in projects(ROOT):
        wheel = build(project, folder)
        print(f"{wheel.name}  {wheel.stat().st_size:,} bytes")
        for fault in faults(wheel, package_count(project)):
            bad += 1
            print(f"  {fault}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
