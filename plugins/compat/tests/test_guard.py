"""Another package called ``pypto`` is noticed, named, and refused, whatever distribution brings it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pypto_plugin_compat.guard import OURS, other_distributions, refuse_beside_another


def distribution(folder: Path, name: str, version: str, **files: str) -> None:
    """Write the metadata of an installed distribution."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    for file, text in files.items():
        (info / file.replace("__", ".")).write_text(text)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("pypto", {}),  # by its name alone: an editable install lists no package
        ("ascend-tiles", {"top_level__txt": "other\npypto\n"}),
        ("ascend-tiles", {"RECORD": "pypto/__init__.py,,\nx.py,,\n"}),
        ("ascend-tiles", {"RECORD": "a.py,,\npypto/pypto_core.so,,\n"}),
    ],
)
def test_a_distribution_that_brings_the_package_is_named(
    tmp_path: Path, name: str, files: dict[str, str]
) -> None:
    distribution(tmp_path, name, "1.2", **files)
    assert other_distributions([str(tmp_path)]) == [f"{name} 1.2"]
    with pytest.raises(ImportError, match=f"so does {name} 1.2.*pip uninstall pypto-compat"):
        refuse_beside_another([str(tmp_path)])


@pytest.mark.parametrize(
    ("name", "files"),
    [
        (OURS, {"RECORD": "pypto/__init__.py,,\n"}),
        ("PyPTO_Compat", {"top_level__txt": "pypto\n"}),
        ("pypto-core", {"RECORD": "pypto_core/__init__.py,,\n"}),
        ("other", {"top_level__txt": "pypto_plugin_x\nmypypto\n", "RECORD": "mypypto/pypto/__init__.py,,\n"}),
    ],
)
def test_our_own_and_unrelated_distributions_are_let_be(
    tmp_path: Path, name: str, files: dict[str, str]
) -> None:
    distribution(tmp_path, name, "1.2", **files)
    assert other_distributions([str(tmp_path)]) == []
    refuse_beside_another([str(tmp_path)])


def test_a_package_without_metadata_is_found_by_its_folder(tmp_path: Path) -> None:
    (tmp_path / "pypto").mkdir()
    refuse_beside_another([str(tmp_path)])  # a folder of that name is no package yet
    (tmp_path / "pypto" / "__init__.py").touch()
    with pytest.raises(ImportError, match=str(tmp_path / "pypto")):
        refuse_beside_another([str(tmp_path)])


def test_importing_beside_another_fails_and_the_plugin_says_why(tmp_path: Path) -> None:
    distribution(tmp_path, "ascend-tiles", "3.0", top_level__txt="pypto\n")
    code = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "try:\n    import pypto\nexcept ImportError as error:\n    print(error)\n"
        "from pypto_plugin_compat import plugin\n"
        "try:\n    plugin.pypto_plugin()\nexcept ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2 and lines[0] == lines[1]
    assert "ascend-tiles 3.0" in lines[0]


def test_the_plugin_is_healthy_here() -> None:
    from pypto_core.host import load_host

    record = load_host().plugin("compat")
    assert record is not None, "pypto-compat is not installed"
    assert (record.distribution, record.status.value, record.provides) == (OURS, "ok", (("codes", 4),))
