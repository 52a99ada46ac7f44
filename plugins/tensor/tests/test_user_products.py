"""Sums of products as models write them, in the sizes that they use most, with weights that lie transposed."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pypto_core.run import compile

L0C = 128 * 1024
# (M, N, K of one step, element type): the commonest of published kernels, and two whose results exceed L0C.
SIZES = (
    (16, 256, 512, "INT8"), (16, 64, 512, "BF16"), (16, 128, 256, "BF16"), (128, 64, 512, "BF16"),
    (16, 256, 256, "INT8"), (128, 256, 256, "INT8"), (16, 32, 256, "FP32"), (32, 128, 512, "BF16"),
    (128, 512, 128, "BF16"), (256, 256, 64, "FP32"),
)  # fmt: skip
FORMS = {
    "in a branch": """acc = pl.create_tensor([{M}, {N}], dtype=pl.{sum})
            for k in pl.pipeline(0, {all}, {K}, stage=2):
                if k == 0:
                    acc = pl.matmul(x[:, 0:{K}], w[:, 0:{K}], b_trans=True, out_dtype=pl.{sum})
                else:
                    acc = pl.matmul_acc(acc, x[:, k:k + {K}], w[:, k:k + {K}], b_trans=True)""",
    "ahead of the loop": """acc = pl.matmul(x[:, 0:{K}], w[:, 0:{K}], b_trans=True, out_dtype=pl.{sum})
            for k in pl.pipeline({K}, {all}, {K}, stage=2):
                acc = pl.matmul_acc(acc, x[:, k:k + {K}], w[:, k:k + {K}], b_trans=True)""",
}
PROGRAM = """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, x: pl.Tensor[[{M}, {all}], pl.{dtype}], w: pl.Tensor[[{N}, {all}], pl.{dtype}],
        out: pl.Out[pl.Tensor[[{M}, {N}], pl.{sum}]],
    ) -> pl.Tensor[[{M}, {N}], pl.{sum}]:
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="k"):
            {form}
            out[:, :] = acc
        return out
"""


CASES = [
    (size, form)
    for size in SIZES
    for form in FORMS
    if form == "in a branch" or size[0] * size[1] * 4 <= L0C  # only such a sum is cut into windows
]


@pytest.mark.parametrize(("size", "form"), CASES, ids=str)
@pytest.mark.parametrize("backend", ["910b", "a5"])
def test_they_fit_and_are_right(kit: Any, size: Any, form: str, backend: str) -> None:
    M, N, K, dtype = size
    parts = {
        "M": M,
        "N": N,
        "K": K,
        "all": 3 * K,
        "dtype": dtype,
        "sum": "INT32" if dtype == "INT8" else "FP32",
    }
    program = kit.program(PROGRAM.format(form=FORMS[form].format(**parts), **parts))
    rng = np.random.default_rng(M + N)
    if dtype == "INT8":
        x, w = (rng.integers(-128, 128, (n, 3 * K)).astype(np.int8) for n in (M, N))
    else:
        element = ml_dtypes.bfloat16 if dtype == "BF16" else np.float32
        x, w = (rng.standard_normal((n, 3 * K)).astype(element) for n in (M, N))
    compiled = compile(program, backend=backend, planner="pypto", host=kit.host)
    assert compiled.artifacts
    found = kit.host.engine("values").load()(compiled.program, {"x": x, "w": w}).outputs["out"]
    want = x.astype(np.float64) @ w.astype(np.float64).T
    np.testing.assert_allclose(found, want, atol=0 if dtype == "INT8" else 2e-2)
