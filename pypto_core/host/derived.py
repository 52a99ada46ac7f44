"""A bounded memory for answers that follow from what a host holds: the host never changes, so they stay right."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

_MOST = 256


class Derived:
    """Answers by question; the ones not asked for longest are forgotten. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, question: Hashable) -> Any:
        """The answer that was put here, or None."""
        with self._lock:
            answer = self._answers.get(question)
            if answer is not None:
                self._answers.move_to_end(question)
            return answer

    def put(self, question: Hashable, answer: Any) -> None:
        """Keep an answer."""
        with self._lock:
            self._answers[question] = answer
            while len(self._answers) > _MOST:
                self._answers.popitem(last=False)
