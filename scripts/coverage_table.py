"""Writes docs/reference/coverage.md: which constructs and operators of real kernels the examples use.

Usage: coverage_table.py [--check]. With --check nothing is written; the exit code is 1 when the page is stale.

The files are read and not executed. What counts as used is found in their syntax: operators and their options, loops,
scopes, subscripts, expressions, statements, element types. Every file here is also compiled for both machines under
every planner, executed and compared with numpy by tests/examples/test_example_kernels.py.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (ROOT / "examples" / "kernels", ROOT / "tests" / "examples" / "cases")
PAGE = ROOT / "docs" / "reference" / "coverage.md"

INTRO = """# Coverage of real kernels

587 functions of published kernels for these machines were counted: the programs of two models' repositories and the
example programs that come with the language. Below are the constructs and operators that they use, in the order in
which they unlock most of the 932 regions that run on a core (a scope, a launch or a kernel function, with what it
calls): with the first group a quarter of the regions can be written, with the first two half of them, and so on.

*Used in* names files of `examples/kernels` and `tests/examples/cases`. Each of them is compiled for both machines
under every planner, executed, and compared with numpy.

Made by `scripts/coverage_table.py`, which reads the files' syntax.
"""

GROUPS: dict[str, str] = {
    "a quarter of the regions": """
        loop range, loop spmd, loop pipeline, range with run-time bound, spmd with run-time bound, dtype BF16,
        dtype FP32, dtype INDEX, dtype INT32, expression Add, expression Eq, expression FloorDiv, expression
        GtE, expression Lt, expression Mod, expression Mult, expression Sub, cast(mode=rint), matmul(b_trans=),
        matmul(out_dtype=), matmul_acc(b_trans=), slice(valid_shape=), spmd(allow_early_resolve=), add,
        assemble, cast, create_tensor, full, matmul, matmul_acc, min, read, reshape, row_expand_div, slice, if
        at run time, if-else at run time, read full-colon, read slice/2, read slice/4, write full-colon, write
        slice/2, scope at""",
    "half of the regions": """
        pipeline with run-time bound, dtype INT64, expression And, expression USub, loop unroll,
        assemble(atomic=), at as a task, at(deps=), spmd as a task, spmd(deps=), col_expand_mul, max, mul,
        recip, row_expand_mul, row_sum, sqrt, sub, tensor.read, tile.get_block_idx, write, call as a statement,
        read slice/3, write slice/3, scope spmd""",
    "three quarters of the regions": """
        range of Python, expression Div, expression Gt, expression NotEq, list comprehension, cast(mode=none),
        cast(mode=trunc), gather(dim=), gather(index=), rsqrt(high_precision=), at(allow_early_resolve=),
        arange, col_expand, concat, exp, fillpad, gather, maximum, minimum, neg, pld.system.notify,
        pld.system.wait, row_expand_sub, row_max, rsqrt, set_validshape, assignment of a name, if at compile
        time, read const-index/1, read element/1, read slice/1""",
    "nine tenths of the regions": """
        parallel with run-time bound, dtype FP16, dtype INT8, expression LtE, expression Or, loop parallel,
        cast(mode=round), parallel(chunk=), spmd(sync_start=), at(no_dep_args=), at(optimizations=), abs,
        col_expand_add, div, get_block_idx, log, pld.tensor.put, row_expand, tensor.dim, tensor.set_validshape,
        tensor.write, transpose, if-elif at run time, if-else at compile time, read open-ended, write slice/1""",
    "nineteen twentieths of the regions": """
        dtype UINT32, dtype UINT8, spmd(optimizations=), gather(mask_pattern=), gather(output_dtype=), load,
        load(target_memory=), load(valid_shape=), mrgsort, mrgsort(block_len=), mrgsort(2 lists), sort32, row_argmax,
        fmods, split, split(slot_num=), store, module constant, annotated return, return, returned tuple,
        prefetch.async_prefetch""",
    "all of the regions": """
        jit.extern, loop split_aiv, pipeline(init_values=), cross_core_slot, aiv_shard, array.create,
        system.task_dummy, system.task_dummy(deps=), at as a task, write element/1, cmp, cmp(cmp_type=), gather_row,
        gather_row(valid_shape=), create_l1, const, col_expand_expdif, col_max, col_sum, row_expand_add, row_min,
        system.syncall, system.syncall(core_type=), tensor.arange, tensor.gather, tensor.gather(mask_pattern=),
        tensor.gather(output_dtype=), tensor.mrgsort, tensor.mrgsort(block_len=), tensor.sort32, tensor.scatter,
        tensor.scatter(dst=), tensor.scatter(mask_pattern=), tile.load, tile.load(target_memory=), tile.store,
        tile.create, tile.create(dtype=), tile.create(target_memory=), tile.fillpad, tile.fillpad(pad_value=),
        tile.cast, tile.cast(target_type=), tile.full, tile.arange, tile.gather, tile.slice, tile.reshape,
        tile.set_validshape, tile.write, tile.add, tile.sub, tile.mul, tile.maximum, tile.neg, tile.exp, tile.sqrt,
        tile.rsqrt, tile.recip, tile.row_max, tile.row_sum, tile.row_expand_sub, tile.row_expand_mul,
        tile.row_expand_div, tile.col_expand_mul, tile.transpose, tile.transpose_view, tile.matmul, tile.matmul_acc,
        pld.tensor.remote_store, pld.tile.remote_load, pld.tile.remote_store""",
    "the example programs of the language, beyond that": """
        pl.Out, pl.InOut, pl.Tensor[..], pl.Tile[..], pl.Scalar[..], dynamic dim, annotated assignment, tuple
        unpacking, function in a program class, kernel made in a factory, function(type=InCore),
        function(type=Orchestration), function(type=Inline), call of another function, move, relu,
        tile.assemble, create_tile, row_max(scratch tile), row_sum(scratch tile), yield_, range(init_values=),
        scope manual_scope, scope scope, matmul(a_trans=), rank 1, rank 2, rank 3, rank 4, jit, jit.incore,
        jit.inline, jit.host, pld.tensor.get, pld.tensor.barrier""",
}
"""What the share of the regions needs, most wanted first."""

_MODULES = ("pl", "pld")


def path_of(node: ast.expr) -> str:
    """``tile.load`` for ``pl.tile.load``, ``pld.x`` with its module; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    if not (isinstance(node, ast.Name) and node.id in _MODULES and parts):
        return ""
    return ".".join(parts if node.id == "pl" else [node.id, *parts])


class _Finder(ast.NodeVisitor):
    """Collects what one file uses."""

    def __init__(self, tree: ast.Module) -> None:
        self.found: set[str] = set()
        self.constants: set[str] = set()
        self.symbols: set[str] = set()
        for stmt in tree.body:
            if not isinstance(stmt, ast.Assign):
                continue
            for target in stmt.targets:
                made = isinstance(stmt.value, ast.Call) and path_of(stmt.value.func)
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                into = self.symbols if made == "dynamic" else self.constants
                into.update(
                    n.id for n in names if isinstance(n, ast.Name) and (not made or made == "dynamic")
                )
        self.inside = False
        self.depth = 0

    def add(self, *names: str) -> None:
        self.found.update(names)

    def is_constant(self, node: ast.expr) -> bool:
        names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
        return not any(isinstance(n, ast.Call) for n in ast.walk(node)) and set(names) <= self.constants

    # -- functions

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        decorators = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
        paths = [path_of(d) for d in decorators]
        kernel = next((p for p in paths if p == "function" or p.split(".")[0] == "jit"), "")
        if not kernel:
            self.depth += 1
            self.generic_visit(node)
            self.depth -= 1
            return
        self.add(kernel if kernel != "function" else "function")
        if self.depth:
            self.add("kernel made in a factory")
        elif any(a.arg == "self" for a in node.args.args):
            self.add("function in a program class")
        for decorator in node.decorator_list:
            for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
                kind = path_of(keyword.value)
                self.add(f"function({keyword.arg}={kind.rsplit('.', 1)[-1]})")
        for argument in node.args.args:
            self.annotation(argument.annotation)
        if node.returns is not None:
            self.add("annotated return")
            self.annotation(node.returns)
        outer, self.inside = self.inside, True
        for stmt in node.body:
            self.visit(stmt)
        self.inside = outer

    def annotation(self, node: ast.expr | None) -> None:
        for part in ast.walk(node) if node is not None else ():
            if isinstance(part, ast.Subscript):
                path = path_of(part.value)
                if path in ("Out", "InOut"):
                    self.add(f"pl.{path}")
                elif path in ("Tensor", "Tile", "Scalar"):
                    self.add(f"pl.{path}[..]")
                    self.shape(part.slice)
            elif isinstance(part, ast.Attribute):
                self.dtype(part)

    def shape(self, node: ast.expr) -> None:
        shape = node.elts[0] if isinstance(node, ast.Tuple) else node
        if isinstance(shape, ast.List):
            self.add(f"rank {len(shape.elts)}")
            if any(isinstance(e, ast.Name) and e.id in self.symbols for e in shape.elts):
                self.add("dynamic dim")

    def dtype(self, node: ast.Attribute) -> None:
        path = path_of(node)
        if path.isupper() and path[-1].isdigit() or path == "INDEX":
            self.add(f"dtype {path}")

    # -- statements

    def visit_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if self.inside and isinstance(target, ast.Subscript):
            self.subscript(target, "write")
        if self.inside and isinstance(target, ast.Name) and isinstance(node.value, ast.Name):
            self.add("assignment of a name")
        if self.inside and isinstance(target, ast.Tuple):
            self.add("tuple unpacking")
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if self.inside:
            self.add("annotated assignment")
            self.annotation(node.annotation)
            self.visit(node.value or node.target)

    def visit_Return(self, node: ast.Return) -> None:
        if self.inside:
            self.add("returned tuple" if isinstance(node.value, ast.Tuple) else "return")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if self.inside and isinstance(node.value, ast.Call):
            self.add("call as a statement")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if self.inside:
            when = "at compile time" if self.is_constant(node.test) else "at run time"
            branch = node.orelse[0] if len(node.orelse) == 1 else None
            form = "if-elif" if isinstance(branch, ast.If) else "if-else" if node.orelse else "if"
            self.add(f"{form} {when}")
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        source = node.iter
        if self.inside and isinstance(source, ast.Call) and path_of(source.func):
            name = path_of(source.func)
            self.add(f"loop {name}")
            if not all(self.is_constant(a) for a in source.args):
                self.add(f"{name} with run-time bound")
        self.generic_visit(node)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            call = item.context_expr
            if self.inside and isinstance(call, ast.Call) and path_of(call.func):
                self.add(f"scope {path_of(call.func)}")
                if item.optional_vars is not None:
                    self.add(f"{path_of(call.func)} as a task")
        self.generic_visit(node)

    # -- expressions

    def visit_Call(self, node: ast.Call) -> None:
        path = path_of(node.func)
        if self.inside and path:
            self.add(path)
            for keyword in node.keywords:
                self.add(f"{path}({keyword.arg}=)")
                if isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
                    self.add(f"{path}({keyword.arg}={keyword.value.value})")
            if path in ("row_max", "row_sum") and len(node.args) == 2:
                self.add(f"{path}(scratch tile)")
            if path == "mrgsort" and len(node.args) > 1:
                self.add("mrgsort(2 lists)")
        elif self.inside and isinstance(node.func, ast.Name) and node.func.id == "range":
            self.add("range of Python")
        elif self.inside:
            self.add("call of another function")
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self.inside:
            self.dtype(node)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if self.inside and node.id in self.constants:
            self.add("module constant")

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self.add("list comprehension")
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if self.inside and isinstance(node.ctx, ast.Load) and not path_of(node.value):
            self.subscript(node, "read")
        self.generic_visit(node)

    def subscript(self, node: ast.Subscript, access: str) -> None:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        slices = [p for p in parts if isinstance(p, ast.Slice)]
        if slices:
            self.add(f"{access} slice/{len(parts)}")
        elif len(parts) == 1 and isinstance(parts[0], ast.Constant):
            self.add(f"{access} const-index/1", f"{access} element/1")
        else:
            self.add(f"{access} element/{len(parts)}")
        if any(p.lower is None and p.upper is None for p in slices):
            self.add(f"{access} full-colon")
        if any((p.lower is None) != (p.upper is None) for p in slices):
            self.add(f"{access} open-ended")

    def generic_visit(self, node: ast.AST) -> None:
        if self.inside and isinstance(node, ast.BinOp | ast.UnaryOp | ast.BoolOp):
            self.add(f"expression {type(node.op).__name__}")
        elif self.inside and isinstance(node, ast.Compare):
            self.add(*(f"expression {type(op).__name__}" for op in node.ops))
        super().generic_visit(node)


def features_of(path: Path) -> frozenset[str]:
    """What a file uses, in the words of the table."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    finder = _Finder(tree)
    finder.visit(tree)
    return frozenset(finder.found)


def files() -> dict[str, frozenset[str]]:
    """What each file uses, by its name."""
    return {path.stem: features_of(path) for folder in FOLDERS for path in sorted(folder.glob("*.py"))}


def wanted(group: str) -> list[str]:
    """The features of a group, in order."""
    return [" ".join(name.split()) for name in GROUPS[group].split(",")]


def lines() -> Iterator[str]:
    """The page."""
    used = files()
    homes = {f: [n for n, found in used.items() if f in found] for g in GROUPS for f in wanted(g)}
    yield INTRO
    yield "| enough for | used | not used |"
    yield "|---|---|---|"
    for group in GROUPS:
        names = wanted(group)
        missing = [f"`{f}`" for f in names if not homes[f]]
        yield f"| {group} | {len(names) - len(missing)} of {len(names)} | {', '.join(missing) or '-'} |"
    for group in GROUPS:
        yield f"\n## {group[0].upper()}{group[1:]}\n"
        yield "| construct or operator | used in |"
        yield "|---|---|"
        for name in wanted(group):
            places = homes[name]
            shown = ", ".join(f"`{p}`" for p in places[:3]) + (
                f" and {len(places) - 3} more" if len(places) > 3 else ""
            )
            yield f"| `{name}` | {shown or 'no'} |"


def main() -> int:
    """Write or check the page."""
    text = "\n".join(lines()) + "\n"
    if "--check" in sys.argv[1:]:
        stale = not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text
        print(
            f"{PAGE.relative_to(ROOT)} is {'stale: run scripts/coverage_table.py' if stale else 'up to date'}"
        )
        return int(stale)
    PAGE.write_text(text, encoding="utf-8")
    print(f"written {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
