"""``pypto run``: execute a kernel on this computer, before and after compilation, and compare."""

from __future__ import annotations

import inspect
import math
import runpy
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from attrs import evolve

from pypto_core.cli.choices import make_context, parse_options, target_options
from pypto_core.cli.output import console, emit_json, error_console, json_option, table
from pypto_core.contract import entry_function
from pypto_core.diagnostics import DiagnosticError, Note, UserError, render
from pypto_core.host import Host, load_host
from pypto_core.ir import FunctionIRStage, Program, TensorType, base_name
from pypto_core.run import Compiled, as_program, compile, write_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pypto_core.contract import Engine, RunResult
    from pypto_core.ir import Function, Program, Type
    from pypto_core.run import PassContext


_REFERENCE = "values"
"""The engine that runs the program as written."""


class _Tolerance(click.FloatRange):
    """A number that comparisons can be made with, which NaN is not: nothing would differ by more."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("nan is no tolerance", param, ctx)
        return number


_TOLERANCE = _Tolerance(min=0.0)


@click.command("run")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@target_options
@click.option("--goal", "-g", default="pto", show_default=True, help="How far to compile before running.")
@click.option("--entry", "-e", help="Function to run, when the program has several.")
@click.option(
    "--engine",
    default=_REFERENCE,
    show_default=True,
    help="How to execute what was compiled; 'bytes' runs it on the planned memory.",
)
@click.option("--inputs", type=click.Path(exists=True, path_type=Path), help=".npz with arrays by parameter.")
@click.option(
    "--golden",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Python file with golden(**inputs) -> {output: array} and perhaps inputs(rng); it is executed.",
)
@click.option(
    "--rtol", type=_TOLERANCE, default=0.0, show_default=True, help="Relative tolerance against golden."
)
@click.option(
    "--atol", type=_TOLERANCE, default=0.0, show_default=True, help="Absolute tolerance against golden."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of random inputs."
)
@click.option(
    "--ranks",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Devices that take part, for a function of the host.",
)
@click.option("--max-steps", type=click.IntRange(min=1), help="Statements after which a run is stopped.")
@click.option("--save", type=click.Path(dir_okay=False, path_type=Path), help="Write the outputs as .npz.")
@json_option
def command(
    file: Path,
    backend: str | None,
    planner: str | None,
    options: tuple[str, ...],
    goal: str,
    entry: str | None,
    engine: str,
    inputs: Path | None,
    golden: Path | None,
    rtol: float,
    atol: float,
    seed: int,
    ranks: int,
    max_steps: int | None,
    save: Path | None,
    as_json: bool,
) -> int:
    """Run the kernel in FILE as written and as compiled; both have to agree, and with --golden too.

    Exit code 1 when they don't. As written it is run by the engine values, as compiled by --engine. Inputs are random
    unless --inputs gives them. An engine on planned memory runs kernels that become buffers as tiles before, too.
    """
    host = load_host()
    given_options = parse_options(options)
    context = make_context(host, backend, planner, given_options)
    program = as_program(file)
    function = entry_function(program, entry)
    user = _user_module(golden) if golden is not None else {}
    if inputs is not None:
        arrays = load_arrays(inputs, function)
    elif "inputs" in user:
        arrays = _drawn(user["inputs"], seed, golden)
    else:
        arrays = _random(function, seed)
    chosen, reference = host.engine(engine), host.engine(_REFERENCE)
    on_arrays = partial(_on_arrays, drawn=inputs is None and "inputs" not in user, seed=seed)
    asked = {"world_size": None if ranks == 1 else ranks, "max_steps": max_steps}
    limits = {name: value for name, value in asked.items() if value is not None}
    with context:
        compiled = _as_far_as_it_goes(program, goal, host, given_options)
        where = {**_placement(chosen, compiled.context), **limits}
        with on_arrays():
            if chosen.placed and _on_buffers(compiled.program):
                # A handle takes whatever lies there: tiles name values.
                chosen.load()(compiled.placed, arrays, function.name, **where)
            after = chosen.load()(compiled.program, arrays, function.name, **where)
    with on_arrays():
        before = reference.load()(program, arrays, function.name, **limits)
    wanted = _golden(user, golden, arrays) if golden is not None else {}
    expected, outputs = _results(before, after)
    rows = [
        _compare(name, value, expected[name], wanted.get(name), rtol, atol) for name, value in outputs.items()
    ]
    unknown = sorted(set(wanted) - set(outputs))
    if unknown:
        raise UserError(
            f"the golden function returns '{unknown[0]}', which is no output of '{function.name}'",
            code="PT852",
            facts={"outputs": ", ".join(outputs)},
        )
    if save is not None:
        _save(save, outputs)
    if as_json:
        machine = compiled.context.backend
        emit_json(
            {
                "function": function.name,
                "backend": machine.name if machine is not None else None,
                "outputs": rows,
                "diagnostics": [diagnostic.to_json() for diagnostic in compiled.diagnostics],
            }
        )
    else:
        for diagnostic in compiled.diagnostics:
            error_console().print(render(diagnostic))
        _print(rows)
    return 0 if all(row["ok"] for row in rows) else 1


@contextmanager
def _on_arrays(drawn: bool, seed: int) -> Generator[None]:
    """Say of what goes wrong meanwhile where the inputs came from, if the tool made them up."""
    try:
        yield
    except DiagnosticError as error:
        if drawn:
            note = Note(
                message=f"the inputs were drawn at random (--seed {seed}): --inputs, or inputs(rng) of --golden, "
                "give your own"
            )
            error.diagnostics = tuple(evolve(d, notes=(*d.notes, note)) for d in error.diagnostics)
        raise


def _results(*runs: RunResult) -> list[dict[str, Any]]:
    """The arrays that each run leaves behind: outputs by their names, and what it returns that is none of them."""
    import numpy as np  # only where arrays are compared

    def is_output(run: RunResult, value: Any) -> bool:
        return any(np.array_equal(value, array, equal_nan=True) for array in run.outputs.values())

    returned = [[np.asarray(value) for value in run.returns] for run in runs]
    counted = range(min(map(len, returned)))
    more = [
        i for i in counted if not all(is_output(run, r[i]) for run, r in zip(runs, returned, strict=True))
    ]
    names = {i: "return" if len(counted) == 1 else f"return[{i}]" for i in more}
    return [{**run.outputs, **{names[i]: r[i] for i in more}} for run, r in zip(runs, returned, strict=True)]


def _as_far_as_it_goes(program: Program, goal: str, host: Host, options: dict[str, Any]) -> Compiled:
    """Compiled with ``options``, given once more so that those which nothing reads are warned of.

    What the target refuses to write may run all the same; what can't be compiled is refused again.
    """
    try:
        return compile(program, goal=goal, host=host, **options)
    except UserError:
        return compile(program, goal=goal, emit=False, host=host, **options)


def _placement(engine: Engine, context: PassContext) -> dict[str, Any]:
    """What an engine that looks at places has to know of the compilation."""
    if not engine.placed:
        return {}
    assert context.host is not None
    return {
        "backend": context.backend,
        "addressed": context.host.planner(context.planner).assigns_addresses,
    }


def _on_buffers(program: Program) -> bool:
    return any(function.ir_stage is FunctionIRStage.Buffer for function in program)


def load_arrays(path: Path, function: Function) -> Mapping[str, Any]:
    """The arrays of a .npz file by name, for the parameters of ``function``.

    Formats that numpy lacks (bfloat16, float8, four bits) are kept in such files as bytes without a name; where a
    parameter has elements of that size, they are its elements. Raises UserError (PT853) for any other file, pickled
    objects included.
    """
    import numpy as np  # only where arrays are read

    try:
        with path.open("rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("it holds one array without a name")
            arrays: dict[str, Any] = {name: archive[name] for name in archive.files}
    # A damaged archive fails in whatever way the layer that stumbles over it likes: zip, zlib, the array's header.
    except Exception as error:
        raise UserError(
            f"'{path}' can't be read as arrays: {str(error) or type(error).__name__}",
            code="PT853",
            remedy="write it with numpy.savez(file, name=array, …); pickled objects are not accepted",
        ) from None
    kinds = {base_name(param.name_hint): param.type for param in function.params}
    return {name: _as_elements(array, kinds.get(name)) for name, array in arrays.items()}


def _as_elements(array: Any, kind: Type | None) -> Any:
    """Bytes without a name as the elements that they were before they were written."""
    if array.dtype.kind != "V" or array.dtype.fields is not None or not isinstance(kind, TensorType):
        return array
    from pypto_core.testing import numpy_type

    wanted = numpy_type(kind.dtype)
    return array.view(wanted) if wanted.itemsize == array.dtype.itemsize else array


def _save(path: Path, outputs: Mapping[str, Any]) -> None:
    import io

    import numpy as np  # only to write what was asked for

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:  # numpy.savez takes no array that is called file
        for name, value in outputs.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(value), allow_pickle=False)
    write_file(path if path.suffix == ".npz" else path.with_name(f"{path.name}.npz"), stream.getvalue())


def _random(function: Function, seed: int) -> Mapping[str, Any]:
    from pypto_core.testing import random_inputs  # loads numpy

    return random_inputs(function, seed=seed)


def _drawn(draw: Any, seed: int, path: Path | None) -> Mapping[str, Any]:
    import numpy as np  # only where arrays are made

    try:
        return dict(draw(np.random.default_rng(seed)))
    except (Exception, SystemExit) as error:
        raise UserError(
            f"the function inputs fails: {type(error).__name__}: {error}",
            code="PT855",
            facts={"file": path},
            remedy="define inputs(rng) -> {parameter: array}; rng is a numpy.random.Generator",
        ) from error


def _user_module(path: Path) -> dict[str, Any]:
    try:
        return runpy.run_path(str(path))
    except (Exception, SystemExit) as error:
        raise UserError(
            f"'{path}' fails when it is executed: {type(error).__name__}: {error}",
            code="PT855",
            remedy="run it with python alone to see where",
        ) from error


def _golden(names: Mapping[str, Any], path: Path, arrays: Mapping[str, Any]) -> dict[str, Any]:
    function = names.get("golden")
    if not callable(function):
        raise UserError(
            f"'{path}' has no function golden",
            code="PT854",
            remedy="define golden(**inputs) -> {output: array}",
        )
    accepted = inspect.signature(function).parameters
    everything = any(p.kind is p.VAR_KEYWORD for p in accepted.values())
    given = {name: array for name, array in arrays.items() if everything or name in accepted}
    try:
        outputs = dict(cast("Mapping[str, Any]", function(**given)))
        return {str(name): _wide(value) for name, value in outputs.items()}
    except (Exception, SystemExit) as error:
        raise UserError(
            f"the golden function fails: {type(error).__name__}: {error}",
            code="PT855",
            facts={"file": path, "inputs": ", ".join(given)},
            remedy="define golden(**inputs) -> {output: array}",
        ) from error


def _compare(name: str, value: Any, before: Any, wanted: Any, rtol: float, atol: float) -> dict[str, Any]:
    import numpy as np  # only where arrays are compared

    same = bool(np.array_equal(_wide(value), _wide(before), equal_nan=True))
    row: dict[str, Any] = {
        "output": name,
        "shape": list(value.shape),
        "dtype": str(value.dtype),
        "as_written": "equal" if same else f"differs by {_error(value, before):.3g}",
        "golden": None,
        "max_error": None,
        "ok": same,
    }
    if wanted is not None and wanted.shape not in ((), value.shape):
        row |= {"golden": f"has shape {'x'.join(map(str, wanted.shape))}", "ok": False}
    elif wanted is not None:
        close = bool(np.allclose(_wide(value), _wide(wanted), rtol=rtol, atol=atol, equal_nan=True))
        row |= {"golden": "equal" if close else "differs", "max_error": _error(value, wanted)}
        row["ok"] = same and close
    return row


def _wide(value: Any) -> Any:
    import numpy as np  # only where arrays are compared

    array = np.asarray(value)
    if array.dtype.kind == "c":
        raise TypeError(f"the kernel language has no {array.dtype} numbers")
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


def _error(a: Any, b: Any) -> float:
    import numpy as np  # only where arrays are compared

    difference = np.abs(_wide(a).astype(np.float64) - _wide(b).astype(np.float64))
    return float(np.max(difference, initial=0.0))


def _print(rows: list[dict[str, Any]]) -> None:
    cells = [
        (
            row["output"],
            "x".join(map(str, row["shape"])),
            row["dtype"],
            row["as_written"],
            row["golden"] or "-",
            "-" if row["max_error"] is None else f"{row['max_error']:.3g}",
            "ok" if row["ok"] else "WRONG",
        )
        for row in rows
    ]
    headers = ("output", "shape", "dtype", "as written", "golden", "max error", "")
    console().print(table(headers, cells, right=("max error",)))
