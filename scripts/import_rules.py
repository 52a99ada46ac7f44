"""Checks who may import whom: the contracts of pyproject.toml, and those that follow from the plugin folders.

For every folder with a plugins/<name>/pyproject.toml two rules are added: the kernel imports none of them,
and none of them imports another.
"""

from __future__ import annotations

import json
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def plugin_packages(root: Path) -> list[str]:
    """The import names of the plugins, from their folders."""
    return [f"pypto_plugin_{path.parent.name}" for path in sorted(root.glob("plugins/*/pyproject.toml"))]


def configuration(root: Path) -> dict[str, Any]:
    """The complete configuration: what pyproject.toml states plus the rules about plugins."""
    with open(root / "pyproject.toml", "rb") as file:
        config: dict[str, Any] = tomllib.load(file)["tool"]["importlinter"]
    plugins = plugin_packages(root)
    config["root_packages"] = [*config["root_packages"], *plugins]
    config["contracts"].append(
        {
            "id": "kernel",
            "name": "the kernel imports no plugin",
            "type": "forbidden",
            "source_modules": ["pypto_core"],
            "forbidden_modules": plugins,
        }
    )
    if len(plugins) > 1:
        config["contracts"].append(
            {
                "id": "plugins",
                "name": "no plugin imports another",
                "type": "independence",
                "modules": plugins,
            }
        )
    return config


def to_toml(config: dict[str, Any]) -> str:
    """The configuration as TOML, which writes strings, booleans and lists of strings as JSON does."""
    plain = {key: value for key, value in config.items() if key != "contracts"}
    lines = ["[tool.importlinter]", *(f"{key} = {json.dumps(value)}" for key, value in plain.items())]
    for contract in config["contracts"]:
        lines.append("[[tool.importlinter.contracts]]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in contract.items()]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run import-linter on the complete configuration; its exit code is ours."""
    from importlinter.cli import lint_imports

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "importlinter.toml"
        path.write_text(to_toml(configuration(ROOT)))
        return lint_imports(config_filename=str(path), cache_dir=str(ROOT / ".import_linter_cache"))


if __name__ == "__main__":
    sys.exit(main())
