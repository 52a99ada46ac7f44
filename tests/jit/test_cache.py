# ruff: noqa: I002 - kernels assign without use, and Python evaluates their annotations here
"""Results are kept under a name that says all that decides them, in files that any number of processes share."""

import json
import logging
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pypto_core.language as pl
from pypto_core.diagnostics import Diagnostic, Note, Severity, Span
from pypto_core.host import Store, fingerprint, load_host
from pypto_core.ir import assert_structural_equal
from pypto_core.jit import CompiledKernel, JitConfig, JitFunction
from pypto_core.jit.result import Result, from_bytes, to_bytes
from pypto_core.run import PassContext
from pypto_core.testing import random_program

X = np.arange(256, dtype=np.float32).reshape(16, 16)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; sources that somebody edits while the tests run are no matter here."""
    monkeypatch.setattr(fingerprint, "_files", lambda root: iter(()))
    fingerprint.sources_of.cache_clear()
    monkeypatch.setenv("PYPTO_CACHE", "on")
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def factory(step: float = 1.0, deep: float = 0.0, rows: int = 16) -> JitFunction:
    @pl.jit.incore
    def inner(x: pl.Tensor, out: pl.Out[pl.Tensor]):
        return pl.store(pl.add(pl.load(x, [0, 0], [rows, 16]), deep), [0, 0], out)

    @pl.jit.incore
    def middle(x: pl.Tensor, out: pl.Out[pl.Tensor]):
        out = inner(x, out)
        return out

    @pl.jit
    def outer(x: pl.Tensor, out: pl.Out[pl.Tensor], factor: pl.Scalar[pl.FP32] = 2.0):
        out = simple(out, out, step)
        out = inner(x, out)
        return out

    return outer


@pl.jit.incore
def simple(x: pl.Tensor, out: pl.Out[pl.Tensor], n: pl.Scalar[pl.FP32]):
    # adds a number
    return pl.store(pl.add(pl.load(x, [0, 0], [16, 16]), n), [0, 0], out)


def compiled(kern: JitFunction = simple, *args: object, **options: object) -> CompiledKernel:
    return kern.compile(*(args or (X, X, 1.5)), **options)  # type: ignore[arg-type]


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.result"))


# -------------------------------------------------------------------------------------------------------- the name


def outer_key(array: np.ndarray = X, config: JitConfig | None = None, **constants: float) -> str:
    return factory(**constants).compile(array, array, config=config or JitConfig()).key  # type: ignore[arg-type]


def test_equal_kernels_have_one_name_and_everything_that_decides_them_is_part_of_it() -> None:
    known = outer_key()
    assert len(known) == 64 and known == outer_key() == outer_key(X + 1)
    others = {
        "a constant": outer_key(step=2.0),
        "a constant of a kernel that it calls": outer_key(deep=1.0),
        "rows": outer_key(rows=8),
        "extents": outer_key(np.zeros((32, 16), np.float32)),
        "element type": outer_key(X.astype(np.float16)),
        "a number": factory().compile(X, X, 3.0).key,
        "goal": outer_key(config=JitConfig(goal="SSAForm")),
        "option": outer_key(config=JitConfig(options={"enable_pypto_l0c_double_buffer": True})),
        "value of an option": outer_key(config=JitConfig(options={"enable_pypto_l0c_double_buffer": 1})),
        "verification": outer_key(config=JitConfig(verification="none")),
        "disabled diagnostics": outer_key(config=JitConfig(disabled_diagnostics=frozenset({"PH001"}))),
    }
    host = load_host()
    for planner in list(host.planners)[:2]:
        for machine in host.backends.values():
            active = PassContext.current()
            assert active is not None
            with active.derive(planner=planner, backend=machine):
                others[f"{machine.name} with {planner}"] = outer_key()
    same = [name for name, key in others.items() if key == known]
    assert same == [f"{next(iter(host.backends))} with pypto"] or len(same) <= 1
    rest = [key for name, key in others.items() if name not in same]
    assert len(set(rest)) == len(rest)


def test_lowering_and_compiling_are_two_results() -> None:
    x = X.copy()
    simple.forget()
    assert simple.lower(X, x, 1.5) is simple.lower(X, x, 1.5)
    assert compiled().artifacts and compiled().origin == "memory"


def test_a_change_of_a_global_is_seen_by_the_next_call(monkeypatch) -> None:
    monkeypatch.setitem(globals(), "STEP", 1.0)
    x, out = X.copy(), np.zeros_like(X)
    with_global(x, out)
    np.testing.assert_array_equal(out, X + 1)
    monkeypatch.setitem(globals(), "STEP", 2.0)
    with_global(x, out)
    np.testing.assert_array_equal(out, X + 2)


@pl.jit.incore
def with_global(x: pl.Tensor, out: pl.Out[pl.Tensor]):
    return pl.store(pl.add(pl.load(x, [0, 0], [16, 16]), STEP), [0, 0], out)  # noqa: F821


def test_functions_of_the_plain_language_count_by_what_they_are() -> None:
    def make(number: float) -> JitFunction:
        @pl.function(type=pl.FunctionType.InCore)
        def plain(x: pl.Tensor[[16, 16], pl.FP32], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
            return pl.store(pl.add(pl.load(x, [0, 0], [16, 16]), number), [0, 0], out)

        @pl.jit
        def kern(x: pl.Tensor, out: pl.Out[pl.Tensor]):
            out = plain(x, out)
            return out

        return kern

    assert make(1.0).compile(X, X).key == make(1.0).compile(X, X).key != make(2.0).compile(X, X).key


SCRIPT = """
import numpy as np
import pypto_core.language as pl
from pypto_core.host import fingerprint, load_host
from pypto_core.jit import JitConfig

fingerprint._files = lambda root: iter(())

WIDTHS, MODE = {"b": 2}, [pl.FP32, pl.Mem.Vec, "text", 1.5]

@pl.jit.incore
def kern(x: pl.Tensor, out: pl.Out[pl.Tensor], n: pl.Scalar[pl.FP32]):
    t = pl.load(x, [0, 0], [16, 16], target_memory=MODE[1])
    return pl.store(pl.add(t, n), [0, 0], out)

x = np.arange(256, dtype=np.float32).reshape(16, 16)
out = np.zeros_like(x)
config = JitConfig(backend=next(iter(load_host().backends)), options={"b": 1, "a": {"y": 1, "x": 2}})
kernel = kern.compile(x, out, 1.5, config=config)
kernel(x, out)
print(kernel.key, kernel.origin, np.array_equal(out, x + np.float32(1.5)))
"""


def start(script: Path, folder: Path, seed: int) -> subprocess.Popen[str]:
    env = {**os.environ, "PYPTO_CACHE": "on", "PYPTO_CACHE_DIR": str(folder), "PYTHONHASHSEED": str(seed)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, str(script)], env=env, text=True, **pipes)  # type: ignore[call-overload]


def test_processes_agree_on_names_share_results_and_do_not_disturb_each_other(tmp_path: Path) -> None:
    script = tmp_path / "kernel.py"
    script.write_text(SCRIPT)
    first = [start(script, tmp_path / "cache", seed) for seed in (1, 2)]
    said = [process.communicate() for process in first]
    assert [error for _, error in said] == ["", ""]
    [name] = {line.split()[0] for line, _ in said}
    assert all(line.split()[2] == "True" for line, _ in said)
    assert [path.stem for path in files(tmp_path / "cache")] == [name]
    output, error = start(script, tmp_path / "cache", 3).communicate()
    assert (output.split(), error) == ([name, "disk", "True"], "")
    assert not [
        path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.suffix != ".result"
    ]


# -------------------------------------------------------------------------------------------------- what is kept


def test_a_result_comes_back_from_disk_as_it_was(folder: Path) -> None:
    simple.forget()
    first = compiled()
    assert first.origin == "compiled" and len(files(folder)) == 1
    simple.forget()
    again = compiled()
    assert (again.origin, again.key, again.artifacts) == ("disk", first.key, first.artifacts)
    assert_structural_equal(again.program, first.program, compare_memref=True, enable_auto_mapping=True)
    assert again.diagnostics == first.diagnostics
    out = np.zeros_like(X)
    again(X, out)
    np.testing.assert_array_equal(out, X + np.float32(1.5))
    assert again.compiled.artifacts == first.artifacts
    assert_structural_equal(again.source, first.source, enable_auto_mapping=True)
    assert compiled().origin == "memory"


def test_a_kernel_may_ask_for_no_cache(folder: Path) -> None:
    simple.forget()
    assert compiled(simple, X, X, 1.5, config=JitConfig(cache=False)).origin == "compiled"
    assert not folder.exists()


def test_the_environment_switches_the_disk_off(folder: Path, monkeypatch) -> None:
    for word in ("0", "off", "FALSE", "no"):
        monkeypatch.setenv("PYPTO_CACHE", word)
        simple.forget()
        assert compiled().origin == "compiled"
        assert compiled().origin == "memory"
    assert not folder.exists()


def test_plugins_without_a_version_keep_nothing_on_disk(folder: Path) -> None:
    class Plugin:
        from pypto_core.host import PluginInfo, hookimpl

        @staticmethod
        @hookimpl
        def pypto_plugin() -> object:
            return Plugin.PluginInfo(name="local", summary="made here")

    host = load_host(extra_plugins=[Plugin])
    assert not host.failed
    active = PassContext.current()
    assert active is not None
    simple.forget()
    with active.derive(host=host):
        assert compiled().origin == "compiled"
        assert compiled().origin == "memory"
    assert not folder.exists()
    # nor does the installed host take what was made with another one for its own
    assert compiled().origin == "compiled"


@pytest.mark.parametrize("seed", range(8))
def test_any_program_artifacts_and_diagnostics_survive(seed: int) -> None:
    program = random_program(seed)
    place = Span("file.py", 3, 4, 5, 6)
    found = Diagnostic(
        code="PH-AT-003",
        message="änders",
        severity=Severity.PERF_HINT,
        span=place,
        facts={"a": 1},
        remedy="fix",
        notes=(Note(message="see", span=place), Note(message="and")),
        rule="rule",
        number=7,
    )
    from pypto_core.contract import Artifact

    artifacts = (Artifact("a/b.pto", "text\n"), Artifact("c.bin", b"\x00\xff", "application/octet-stream"))
    result = Result(program=program, artifacts=artifacts, diagnostics=[found, found])
    again = from_bytes(to_bytes(result))
    assert (again.artifacts, again.diagnostics) == (artifacts, (found, found))
    assert_structural_equal(again.program, program, compare_memref=True, enable_auto_mapping=True)
    text = Diagnostic(code="PT101", message="m", span=Span(__file__, 2, 1))
    from pypto_core.diagnostics import SourceText

    shown = SourceText.of("one\ntwo", __file__)
    [back] = from_bytes(to_bytes(Result(program=program, diagnostics=[text])), shown).diagnostics
    assert back.span.line_text() == "two"


# ---------------------------------------------------------------------------------------------------- damaged files


def expect_miss(folder: Path, caplog: pytest.LogCaptureFixture, reason: str = "") -> None:
    """The next compilation does not use the file, says so, and mends it."""
    simple.forget()
    caplog.clear()
    with caplog.at_level(logging.WARNING, "pypto_core"):
        assert compiled().origin == "compiled"
    [line] = [record.getMessage() for record in caplog.records]
    assert "is not used" in line and reason in line
    simple.forget()
    assert compiled().origin == "disk"


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: b"", "it is no stored result"),
        (lambda data: data[:20], "it belongs to another name"),
        (lambda data: data[:-1], "its digest does not fit"),
        (lambda data: data + b"x", "its digest does not fit"),
        (lambda data: b"PK\x03\x04" + data[4:], "it is no stored result"),
        (lambda data: data[:8] + bytes(32) + data[40:], "it belongs to another name"),
    ],
)
def test_a_damaged_file_is_a_miss(folder: Path, caplog, damage, reason) -> None:
    simple.forget()
    compiled()
    [path] = files(folder)
    path.write_bytes(damage(path.read_bytes()))
    expect_miss(folder, caplog, reason)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_flipped_bit_is_found(folder: Path, data: st.DataObject) -> None:
    store = Store(folder)
    name, content = "ab" * 32, b"some content " * 9
    assert store.put(name, content)
    [path] = files(folder)
    whole = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(whole) * 8 - 1))
    whole[at // 8] ^= 1 << at % 8
    path.write_bytes(bytes(whole))
    assert store.get(name) is None and not path.exists()


@pytest.mark.parametrize(
    "content", [b"", b"\xc1", b"\x93\x01\x02\x03", b"\x93\xc4\x00\x90\x90", b"\x80" * 50]
)
def test_a_whole_file_with_the_wrong_contents_is_a_miss(folder: Path, caplog, content: bytes) -> None:
    simple.forget()
    Store(folder).put(compiled().key, content)
    expect_miss(folder, caplog)


def test_results_of_another_kind_of_program_are_a_miss(folder: Path, caplog) -> None:
    from pypto_core.text import dumps
    from pypto_core.text.wire import pack

    simple.forget()
    key = compiled().key
    function = compiled().program.functions["simple"]
    Store(folder).put(key, pack([dumps(function), [], []]))
    expect_miss(folder, caplog, "where a program belongs")
    Store(folder).put(key, pack([dumps(compiled().program), [["../x", "text", "text/plain"]], []]))
    expect_miss(folder, caplog)


def test_a_folder_that_can_not_be_written_costs_a_line_in_the_log(folder: Path, caplog) -> None:
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("a file where a folder belongs")
    simple.forget()
    with caplog.at_level(logging.INFO, "pypto_core"):
        assert compiled().artifacts
    said = [(record.levelno, record.getMessage()) for record in caplog.records]
    assert len(said) == 1 and said[0][0] == logging.INFO and "the cache can't be written" in said[0][1]


# ------------------------------------------------------------------------------------------------------- the store


def test_the_least_recently_used_files_go_first(tmp_path: Path) -> None:
    store = Store(tmp_path, limit=3 * 1100)
    names = [f"{i:02x}" * 32 for i in range(5)]
    for age, name in enumerate(names[:3]):
        assert store.put(name, bytes(1000))
        os.utime(store._path(name), (1000 + age, 1000 + age))
    assert store.usage == (3, 3 * 1072)
    assert store.get(names[0]) == bytes(1000)  # used just now
    assert store.put(names[3], bytes(1000))
    kept = {path.stem for path in files(tmp_path)}
    assert kept == {names[0], names[2], names[3]}
    assert not store.put(names[4], bytes(4000))  # larger than the whole store
    assert store.clear() == 3 and store.usage == (0, 0)


def test_what_stopped_writers_left_is_removed_after_a_while(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put("ab" * 32, b"x")
    fresh, old = tmp_path / "ab" / "fresh.unfinished", tmp_path / "ab" / "old.unfinished"
    for path in (fresh, old):
        path.write_bytes(b"half")
    os.utime(old, (1000, 1000))
    store.shrink()
    assert fresh.exists() and not old.exists()


def test_settings_of_the_environment(tmp_path: Path) -> None:
    def made(**env: str) -> Store | None:
        return Store.from_environment(env)

    home = Path.home() / ".cache" / "pypto"
    assert made() == Store(home) and made(PYPTO_CACHE="1") == Store(home)
    assert made(XDG_CACHE_HOME="/x") == Store(Path("/x/pypto"))
    assert made(PYPTO_CACHE_DIR="/y", XDG_CACHE_HOME="/x", PYPTO_CACHE_BYTES="77") == Store(Path("/y"), 77)
    assert made(PYPTO_CACHE="off", PYPTO_CACHE_DIR="/y") is None
    from pypto_core.diagnostics import UserError

    for text in ("-1", "1e6", "many", "²"):
        with pytest.raises(UserError, match="is no number of bytes|which is no number"):
            made(PYPTO_CACHE_BYTES=text)


def test_sources_that_change_after_the_start_keep_results_in_memory(tmp_path: Path) -> None:
    """A process compiles with the code that it loaded, whatever the files say meanwhile."""
    package = tmp_path / "edited_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    code = f"""
        import sys, time; sys.path.insert(0, {str(tmp_path)!r})
        import edited_package
        from pypto_core.host.fingerprint import sources_of
        import os
        if len(sys.argv) > 1:
            os.utime({str(package / "__init__.py")!r}, (time.time() + 5, time.time() + 5))
        print(sources_of("edited_package"))
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    before = subprocess.run(command, capture_output=True, text=True).stdout
    assert "('__init__.py', 0, " in before
    assert subprocess.run([*command, "edit"], capture_output=True, text=True).stdout == "None\n"


def test_the_cache_command(folder: Path, capsys) -> None:
    from pypto_core.cli import main

    simple.forget()
    compiled()
    assert main(["cache", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["folder"], shown["results"], shown["removed"]) == (str(folder), 1, 0)
    assert shown["bytes"] == files(folder)[0].stat().st_size
    assert main(["cache"]) == 0 and str(folder) in capsys.readouterr().out
    assert main(["cache", "--clear", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"] == 1 and not files(folder)


def test_the_cache_command_says_when_it_is_off(capsys) -> None:
    from pypto_core.cli import main

    assert main(["cache"]) == 0
    assert capsys.readouterr().out == "the cache is switched off\n"
