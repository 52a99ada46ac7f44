"""Log helpers on top of Python's logging; the logger is called ``pypto``."""

from __future__ import annotations

import enum
import logging

LOGGER = logging.getLogger("pypto")


class LogLevel(enum.IntEnum):
    """Levels of messages; the values are those of :mod:`logging`."""

    DEBUG = 10
    INFO = 20
    WARN = 30
    ERROR = 40
    FATAL = 50
    EVENT = 60
    NONE = 70


logging.addLevelName(LogLevel.EVENT, LogLevel.EVENT.name)


def set_log_level(level: LogLevel) -> None:
    """Drop messages below ``level``."""
    LOGGER.setLevel(int(level))


def get_log_level() -> LogLevel:
    """The level in force; INFO and the like of a parent logger when none was set here."""
    effective = LOGGER.getEffectiveLevel()
    return max((level for level in LogLevel if level <= effective), default=LogLevel.DEBUG)


def log_debug(message: str) -> None:
    """Log for developers."""
    LOGGER.debug(message)


def log_info(message: str) -> None:
    """Log for users."""
    LOGGER.info(message)


def log_warn(message: str) -> None:
    """Log a warning."""
    LOGGER.warning(message)


def log_error(message: str) -> None:
    """Log an error."""
    LOGGER.error(message)


def log_fatal(message: str) -> None:
    """Log an error that ends the work."""
    LOGGER.critical(message)


def log_event(message: str) -> None:
    """Log something that is always worth a line."""
    LOGGER.log(LogLevel.EVENT, message)
