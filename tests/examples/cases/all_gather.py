"""A host entry read for its arguments: everybody's rows are put to every device, and fetched back from a neighbour."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl
import pypto_core.language.distributed as pld
from pypto_core.ir import Program

RANKS = 4
ROWS, COLS = 8, 64


@pl.jit
def gather(  # type: ignore[no-untyped-def]
    x: pl.Tensor,
    everything: pl.Out[pl.Tensor],
    fetched: pl.InOut[pl.Tensor],
    data: pl.InOut[pld.DistributedTensor],
    signal: pl.InOut[pld.DistributedTensor],
):
    """What one device does."""
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="gather"):
        ctx = pld.get_comm_ctx(data)
        me = pld.rank(ctx)
        n = pld.nranks(ctx)
        for peer in pl.range(n):
            pld.tensor.put(data, peer=peer, src=x, dst_offsets=[me * ROWS, 0], shape=[ROWS, COLS])
        pld.tensor.barrier(signal)
        everything[:, :] = pl.mul(data[:, :], 2.0)
        pld.tensor.barrier(signal)
        pld.tensor.remote_store(pl.mul(x[:, :], 3.0), target=data, peer=me, offsets=[me * ROWS, 0])
        pld.tensor.barrier(signal)
        pld.tensor.get(fetched, peer=(me + 1) % n, src=data, chunk_rows=ROWS)
    return everything


@pl.jit.host
def host(x: pl.Tensor, everything: pl.Out[pl.Tensor], fetched: pl.InOut[pl.Tensor]):  # type: ignore[no-untyped-def]
    """Where the devices get their work from."""
    data_buf = pld.alloc_window_buffer(RANKS * ROWS * COLS * 4)
    signal_buf = pld.alloc_window_buffer(RANKS * 4)
    for r in pl.range(pld.world_size()):
        data = pld.window(data_buf, [RANKS * ROWS, COLS], dtype=pl.FP32)
        signal = pld.window(signal_buf, [RANKS, 1], dtype=pl.INT32)
        gather(x[r], everything[r], fetched[r], data, signal, device=r)
    return everything


def program() -> Program:
    """The program for arguments of this size."""
    arrays = inputs(np.random.default_rng(0))
    return host.specialise(arrays["x"], np.zeros_like(arrays["fetched"]), arrays["fetched"])


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Rows for each device, and room for those of all."""
    return {
        "x": rng.standard_normal((RANKS, ROWS, COLS), dtype=np.float32),
        "fetched": np.zeros((RANKS, RANKS * ROWS, COLS), np.float32),
    }


def golden(x: np.ndarray, fetched: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says."""
    rows = np.broadcast_to(x.reshape(RANKS * ROWS, COLS), fetched.shape)
    changed = rows.copy()
    for device in range(RANKS):
        theirs = (device + 1) % RANKS
        changed[device, theirs * ROWS : (theirs + 1) * ROWS] = 3 * x[theirs]
    return {"everything": 2 * rows, "fetched": changed}


REFUSED = ("PT390", "reaches other devices")
TOLERANCE = 0.0
