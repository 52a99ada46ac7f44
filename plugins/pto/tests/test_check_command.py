"""``pypto check``: its output, its exit codes, and files of every kind."""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pto_text import GOOD, HEAD, TAIL, filled, module

from pypto_core.cli import main as run_cli
from pypto_core.diagnostics import UserError
from pypto_plugin_pto.checker import check_text
from pypto_plugin_pto.checker.cli import command


def run(tmp_path: Path, text: str, *options: str) -> Any:
    path = tmp_path / "k.pto"
    path.write_text(text, encoding="utf-8")
    return CliRunner().invoke(command, [str(path), *options], standalone_mode=False)


def test_the_command_says_ok(tmp_path: Path) -> None:
    result = run(tmp_path, module(GOOD["elementwise"]))
    assert result.return_value == 0
    assert result.output.endswith("k.pto: ok (level 2, a3)\n")


def test_the_command_is_registered() -> None:
    from pypto_core.host import load_host

    assert load_host().commands["check"].load_command() is command


def test_the_command_shows_line_and_caret(tmp_path: Path) -> None:
    result = run(tmp_path, module("%x = arith.addi %nothing, %c0 : index"))
    assert result.return_value == 1
    lines = result.output.splitlines()
    assert lines[0].startswith("error[PTO-109]: '%nothing' is used")
    source = next(n for n, x in enumerate(lines) if "arith.addi" in x)
    assert lines[source + 1].index("^") == lines[source].index("%nothing")
    assert lines[-1].endswith("1 error (level 2, a3)")


def test_the_command_prints_json(tmp_path: Path) -> None:
    result = run(tmp_path, module("%x = arith.addi %nothing, %c0 : index"), "--json", "--arch", "a5")
    [data] = json.loads(result.output)
    assert data["ok"] is False and data["arch"] == "a5"
    [finding] = data["findings"]
    assert (finding["code"], finding["line"], finding["column"]) == ("PTO-109", 25, 21)


# -- files of every kind: (bytes, exit code, what is said)

WHOLE = module(GOOD["elementwise"]).encode()
FILES: dict[str, tuple[bytes, int, str]] = {
    "a module": (WHOLE, 0, ": ok (level 2, a3)"),
    "lines that end as on Windows": (WHOLE.replace(b"\n", b"\r\n"), 0, ": ok (level 2, a3)"),
    "lines that end as on old Macs": (WHOLE.replace(b"\n", b"\r"), 0, ": ok (level 2, a3)"),
    "no newline at the end": (WHOLE.rstrip(b"\n"), 0, ": ok (level 2, a3)"),
    "nothing": (b"", 1, "error[PTO-112]: there is no module in this text"),
    "blanks": (b" \t\n\n", 1, "error[PTO-112]: there is no module in this text"),
    "a byte order mark": (b"\xef\xbb\xbf" + WHOLE, 1, "save the file without a byte order mark"),
    "NUL bytes": (WHOLE.replace(b"    return", b"\0\0\0    return"), 1, "unexpected character '\\x00'"),
    "an object file": (b"\x7fELF\x02\x01\x01\0\xf0\xff", 2, "error[PTO-023]: "),
    "Latin-1": ("// für alle\n".encode("latin-1") + WHOLE, 2, "byte = 0xfc at offset 4"),
    "UTF-16": (WHOLE.decode().encode("utf-16"), 2, "is no UTF-8 text"),
    "a character cut off": (WHOLE + "// ü".encode()[:-1], 2, "byte = 0xc3"),
    "another language": (b"#include <stdio.h>\nint main() { return 0; }\n", 1, "error[PTO-1"),
}


@pytest.mark.parametrize(("data", "code", "said"), list(FILES.values()), ids=list(FILES))
@pytest.mark.parametrize("way", ["file", "stdin"])
def test_every_kind_of_file_has_its_exit_code(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    data: bytes,
    code: int,
    said: str,
    way: str,
) -> None:
    path = tmp_path / "k.pto"
    path.write_bytes(data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
    assert run_cli(["check", str(path) if way == "file" else "-"]) == code
    shown = capsys.readouterr()
    assert said in shown.out + shown.err
    assert "PT915" not in shown.err


def test_what_is_no_file_ends_with_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, said in ((str(tmp_path), "is a directory"), (str(tmp_path / "none.pto"), "does not exist")):
        assert run_cli(["check", name]) == 2
        assert said in capsys.readouterr().err
    assert run_cli(["check"]) == 2


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "k.pto"
    path.write_bytes(WHOLE)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(UserError) as error:
        CliRunner().invoke(command, [str(path)], standalone_mode=False, catch_exceptions=False)
    [diagnostic] = error.value.diagnostics
    assert diagnostic.code == "PTO-023" and diagnostic.message.endswith("can't be read: Permission denied")


def test_a_huge_file_takes_time_in_proportion() -> None:
    """30,000 operations; the bound is ten times what a slow machine needs."""
    lines = "    pto.tadd ins(%t, %u : V, V) outs(%u : V)\n" * 1_000
    unit = filled(lines) * 30
    begin = time.perf_counter()
    report = check_text(filled(HEAD) + unit + TAIL)
    assert report.ok and time.perf_counter() - begin < 20


HOSTILE = {
    "blanks ahead of what is no token": "module {" + " " * 5_000 + ";",
    "comments ahead of what is no token": "module {" + "//\n" * 5_000 + ";",
    "modules in modules": "module {" * 5_000,
    "branches in branches": filled(HEAD) + "scf.if %yes {\n" * 5_000,
    "loops in loops": filled(HEAD) + "scf.for %i = %c0 to %c1 step %c1 {\n" * 5_000,
    "brackets of a type": filled(HEAD) + "%x = pto.addptr %arg0, %c0 : " + "<" * 5_000,
    "a type that is never closed": "!pto.tile_buf<" * 5_000,
    "a location that is never closed": "module {\n} loc" + "(" * 5_000,
    "lists of attributes": "module attributes {a = " + "[" * 5_000,
    "one long name": "module {\n  func.func @" + "k" * 200_000 + "() {\n    return 1\n  }\n}\n",
    "one long number": "module {\n  func.func @k() {\n    %x = arith.constant " + "9" * 3_000 + " : i64\n",
    "digits that Python does not convert": filled(HEAD)
    + "%x = arith.constant "
    + "9" * 5_000
    + " : index\n"
    + TAIL,
    "a tile of many rows": filled(HEAD)
    + "%x = pto.alloc_tile : !pto.tile_buf<vec, "
    + "9" * 5_000
    + "x8xf32>\n"
    + TAIL,
}


@pytest.mark.parametrize("text", list(HOSTILE.values()), ids=list(HOSTILE))
def test_hostile_text_is_refused_at_once(text: str) -> None:
    begin = time.perf_counter()
    report = check_text(text)
    assert not report.ok and time.perf_counter() - begin < 5


def test_nesting_is_read_to_a_depth_that_kernels_do_not_reach() -> None:
    from pypto_plugin_pto.checker.structure import DEEPEST

    def nested(depth: int) -> str:
        return filled(HEAD) + "scf.if %yes {\n" * depth + "}\n" * depth + TAIL

    # The module and the function are two of them.
    assert check_text(nested(DEEPEST - 2)).ok
    [error] = check_text(nested(DEEPEST - 1)).errors
    assert error.code == "PTO-112" and "more than 64 regions" in error.message
