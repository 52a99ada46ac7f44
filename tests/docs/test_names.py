"""Both columns of the page that maps PyPTO's names to ours exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "pypto-names.md"
ROW = re.compile(r"^\| `(pypto[\w.]*)` \| `(pypto_core[\w.]*)` \|", re.MULTILINE)
# In a process of its own: importing pypto adds attributes to the classes of nodes.
LOOKED_UP = """
import importlib, sys
for name in sys.argv[1:]:
    parts = name.split(".")
    value = importlib.import_module(parts[0])
    for number, part in enumerate(parts[1:], 2):
        if not hasattr(value, part):
            importlib.import_module(".".join(parts[:number]))
        value = getattr(value, part)
print(len(sys.argv) - 1)
"""


def test_both_columns_exist() -> None:
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert len(rows) >= 30
    names = [name for row in rows for name in row]
    done = subprocess.run(
        [sys.executable, "-c", LOOKED_UP, *names], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 2 * len(rows)
