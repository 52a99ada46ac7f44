"""The chooser's rules written out as three loops over plain numbers, to hold the vectorised search against.

Nothing here shares code with the plugin: ``c`` is anything with the configuration's field names.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

OS, A, B = "OutputStationary", "AStationary", "BStationary"


class Pick(NamedTuple):
    """What the loops found."""

    m: int
    n: int
    k: int
    stationarity: str
    holds_a: bool
    double_buffer_c: bool
    cost: int
    traffic: int
    padded: int


def up(x: int, a: int) -> int:
    return (x + a - 1) // a * a


def ceil(a: int, b: int) -> int:
    return (a + b - 1) // b


def llround(x: float) -> int:
    return math.floor(x) + (1 if x - math.floor(x) >= 0.5 else 0)


def odd(x: int) -> int:
    while x % 2 == 0:
        x //= 2
    return x


def acc_rows(c: Any, m: int) -> int:
    return up(up(m, c.box_align_m), c.l0c_align_m)


def answerable(c: Any) -> bool:
    """The conditions on a question whose numbers are otherwise sane."""
    if c.max_n and c.max_n < c.min_n:
        return False
    if not c.allow_padding and (c.min_m > c.M or c.min_n > c.N or c.min_k > c.K):
        return False
    a0, b0, c0 = c.l0a_bytes // (c.bytes_a * 2), c.l0b_bytes // (c.bytes_b * 2), c.l0c_bytes // c.bytes_c
    return (
        up(c.min_m, c.box_align_m) <= a0 // c.min_k
        and up(c.min_n, c.box_align_n) <= b0 // c.min_k
        and acc_rows(c, c.min_m) * up(c.min_n, c.box_align_n) <= c0
    )


def held(c: Any, m: int, n: int) -> tuple[float, float, float]:
    cm, cn = ceil(c.M, m), ceil(c.N, n)
    ba, bb = c.bytes_a, c.bytes_b
    a = (ba * c.M * c.K) / c.bw_a + (bb * c.K * c.N * cm) / c.bw_b
    b = (ba * c.M * c.K * cn) / c.bw_a + (bb * c.K * c.N) / c.bw_b
    return a, b, (ba * c.M * c.K * cn) / c.bw_a + (bb * c.K * c.N * cm) / c.bw_b


def load(c: Any, stat: str, k: int, ways: tuple[float, float, float]) -> float:
    a, b, both = ways
    if stat == A:
        return a
    if stat == B:
        return b
    if k >= c.K:
        return a if a <= b else b
    return both


def mad(c: Any, m: int, n: int, k: int) -> int:
    kt = max(1, c.mad_k_fractal_bytes // c.bytes_a)
    cpr = max(1, c.mad_fp32_passes) if c.bytes_a == 4 else max(1, c.bytes_a // 2)
    nf = c.K // k
    tail = c.K - nf * k
    kb = nf + (1 if tail > 0 else 0)
    fr = nf * ceil(k, kt) + (ceil(tail, kt) if tail > 0 else 0)
    per_tile = kb * c.mad_head + cpr * ceil(m, c.align_m) * fr * ceil(n, c.align_n)
    return ceil(c.M, m) * ceil(c.N, n) * per_tile


def drain(c: Any, m: int, n: int) -> float:
    n1 = ceil(n, max(1, c.drain_c0_bytes // c.bytes_c))
    row = max(c.drain_row_cycles, c.bytes_c * n / c.bw_drain) + c.drain_penalty_cycles * (odd(n1) - 1)
    return ceil(c.M, m) * ceil(c.N, n) * (c.drain_fixed_cycles + m * row)


def allowed(c: Any, stat: str, dbc: bool, m: int, n: int, k: int, ways: tuple[float, float, float]) -> bool:
    if (stat != OS or dbc) and k != c.K:
        return False
    hold_a = ways[0] <= ways[1]
    if k == c.K and (m != c.M or n != c.N):
        if c.max_n_pipelined > 0 and stat in (A, OS) and n > c.max_n_pipelined:
            return False
        if c.max_n_nested_pipelined > 0 and stat == OS and hold_a and n > c.max_n_nested_pipelined:
            return False
    if dbc:
        rows_outer = stat == A or (stat == OS and hold_a)
        return (c.N // n if rows_outer else c.M // m) >= 2
    return True


def depths(c: Any) -> list[int]:
    top = max(up(c.K, c.align_k), c.min_k) if c.allow_padding else c.K
    found = []
    k = c.min_k
    while k <= top // c.align_k * c.align_k:
        if c.allow_padding or (c.allow_k_boundary and c.K % c.align_k == 0) or c.K % k == 0:
            found.append(k)
        k += c.align_k
    return found


def search(c: Any, stat: str, dbc: bool) -> tuple[Any, ...] | None:
    """The least (key, m, n, k) of one schedule."""
    a0 = c.l0a_bytes // (c.bytes_a * (1 if stat == A else 2))
    b0 = c.l0b_bytes // (c.bytes_b * (1 if stat == B else 2))
    c0 = c.l0c_bytes // (c.bytes_c * (2 if dbc else 1))
    ks = depths(c)
    best = None
    for m in range(c.min_m, (up(c.M, c.align_m) if c.allow_padding else c.M) + 1, c.align_m):
        rows = acc_rows(c, m)
        if rows * up(c.min_n, c.box_align_n) > c0:
            break
        for n in range(c.min_n, (up(c.N, c.align_n) if c.allow_padding else c.N) + 1, c.align_n):
            if rows * up(n, c.box_align_n) > c0 or (c.max_n and n > c.max_n):
                break
            cap = min(a0 // up(m, c.box_align_m), b0 // up(n, c.box_align_n)) // c.align_k * c.align_k
            ways, out = held(c, m, n), drain(c, m, n)
            grid = ceil(c.M, m) * ceil(c.N, n)
            for k in ks:
                if k > cap:
                    break
                if not allowed(c, stat, dbc, m, n, k, ways):
                    continue
                moved = load(c, stat, k, ways)
                compute = max(moved, mad(c, m, n, k))
                wall = max(compute, out) + min(compute, out) / grid if dbc else compute + out
                cost = llround(wall)
                if best is not None and cost > best[0][0]:
                    continue
                padded = ceil(c.M, m) * m * ceil(c.N, n) * n * ceil(c.K, k) * k
                key = (cost, padded, ceil(c.K, k), moved, -(m * n), -k)
                if best is None or key < best[0]:
                    best = (key, m, n, k)
    return best


def traffic(c: Any, stat: str, m: int, n: int, k: int, hold_a: bool) -> int:
    a, b = c.bytes_a * c.M * c.K, c.bytes_b * c.K * c.N
    cm, cn = ceil(c.M, m), ceil(c.N, n)
    if stat == OS and k < c.K:
        a, b = a * cn, b * cm
    elif stat == A or (stat == OS and hold_a):
        b *= cm
    else:
        a *= cn
    return a + b + (2 if c.c_read else 1) * c.bytes_c * c.M * c.N


def brute_force(c: Any) -> Pick | None:
    """The chooser's pick by exhaustion; None where it has to refuse."""
    if not answerable(c):
        return None
    best = search(c, OS, False)
    if best is None:
        return None
    stat, dbc = OS, False
    if best[1:] != (c.M, c.N, c.K):
        stats = [OS] + [A] * c.allow_a_stationary + [B] * c.allow_b_stationary
        for s in stats:
            for d in [False, True] if c.allow_double_buffer_c else [False]:
                if (s, d) == (OS, False):
                    continue
                found = search(c, s, d)
                if found is not None and found[0][0] < best[0][0]:
                    best, stat, dbc = found, s, d
    key, m, n, k = best
    ways = held(c, m, n)
    hold_a = ways[0] <= ways[1]
    return Pick(m, n, k, stat, hold_a, dbc, key[0], traffic(c, stat, m, n, k, hold_a), key[1])
