"""Sets of time, kept as sorted intervals that do not meet."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

Interval = tuple[int, int]


def merged(spans: list[Interval]) -> list[Interval]:
    """Intervals sorted, those that meet joined."""
    out: list[Interval] = []
    for begin, end in sorted(spans):
        if out and begin <= out[-1][1]:
            if end > out[-1][1]:
                out[-1] = (out[-1][0], end)
        else:
            out.append((begin, end))
    return out


def meet(a: list[Interval], b: list[Interval]) -> bool:
    """Whether two sets have a moment in common; quick when one of them is small."""
    small, large = (a, b) if len(a) <= len(b) else (b, a)
    for begin, end in small:
        at = bisect_right(large, (begin, 1 << 62))
        if at and large[at - 1][1] > begin:
            return True
        if at < len(large) and large[at][0] < end:
            return True
    return False


def include(into: list[Interval], spans: list[Interval]) -> None:
    """Add the moments of ``spans`` to ``into``."""
    for begin, end in spans:
        low = bisect_left(into, (begin, -1))
        if low and into[low - 1][1] >= begin:
            low -= 1
        high = low
        while high < len(into) and into[high][0] <= end:
            begin, end = min(begin, into[high][0]), max(end, into[high][1])
            high += 1
        into[low:high] = [(begin, end)]
