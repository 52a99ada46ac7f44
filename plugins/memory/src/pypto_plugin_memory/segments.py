"""Bytes that carry tags: per memory, the ranges that were written, in order and without overlap."""

from __future__ import annotations

Tag = object
Segment = tuple[int, int, Tag]
Memory = dict[object, list[Segment]]


def write_range(segments: list[Segment], low: int, high: int, tag: Tag) -> None:
    """Put a tag on the bytes of a range."""
    out: list[Segment] = []
    placed = False
    for a, b, t in segments:
        if b <= low or a >= high:
            if a >= high and not placed:
                out.append((low, high, tag))
                placed = True
            out.append((a, b, t))
            continue
        if a < low:
            out.append((a, low, t))
        if not placed:
            out.append((low, high, tag))
            placed = True
        if b > high:
            out.append((high, b, t))
    if not placed:
        out.append((low, high, tag))
    segments[:] = out


def holds(segments: list[Segment], low: int, high: int, tag: Tag) -> bool:
    """Whether every byte of a range carries the tag."""
    cursor = low
    for a, b, t in segments:
        if b <= cursor:
            continue
        if a > cursor or t is not tag:
            return False
        cursor = b
        if cursor >= high:
            return True
    return cursor >= high


def join(a: Memory, b: Memory) -> Memory:
    """What is certain on both ways: bytes with one tag keep it, others have none."""
    out: Memory = {}
    for key in a:
        if key in b:
            out[key] = _common(a[key], b[key])
    return out


def _common(a: list[Segment], b: list[Segment]) -> list[Segment]:
    out: list[Segment] = []
    i = j = 0
    while i < len(a) and j < len(b):
        low, high = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if low < high and a[i][2] is b[j][2]:
            if out and out[-1][1] == low and out[-1][2] is a[i][2]:
                out[-1] = (out[-1][0], high, a[i][2])
            else:
                out.append((low, high, a[i][2]))
        if a[i][1] <= b[j][1]:
            i += 1
        else:
            j += 1
    return out
