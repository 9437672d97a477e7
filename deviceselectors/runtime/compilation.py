"""Whether expressions are compiled to Python code in this process, and what is said of those whose code is refused.

It is a setting of the process, not a parameter of programs: they are made in many places of several packages, which
share some of them, and one place that forgets a parameter would compile what must not be. It is made once, before the
first expression is read; processes that are forked afterwards have it too.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from deviceselectors.ast import Node
from deviceselectors.runtime.verifier import UnsafeCodeError
from deviceselectors.unparsing import unparse
from resourceapi.shortening import shortened

#: What makes a program go without compiled code: the verifier refuses it, or Python's own compiler does.
REFUSALS = (UnsafeCodeError, SyntaxError, RecursionError)

_LOGGER = logging.getLogger("claimcheck")
_MAX_LOGGED = 200
#: So many expressions are remembered as logged, by their shortened text; beyond that, old ones are logged again.
_MAX_TOLD = 512

_is_enabled = True
_watch: Callable[[], object] | None = None
_told: OrderedDict[str, None] = OrderedDict()
_lock = Lock()


def is_enabled() -> bool:
    """Whether expressions are compiled; if not, they are interpreted."""
    return _is_enabled


def set_enabled(enabled: bool) -> None:
    """Let expressions be compiled, or interpreted; programs that have been compiled stay so."""
    global _is_enabled
    _is_enabled = enabled


def watch_refusals(watch: Callable[[], object] | None) -> None:
    """Have a function called for each program that is interpreted because its code is refused; it replaces another."""
    global _watch
    _watch = watch


def report_refusal(root: Node, error: Exception) -> None:
    """Say that the program of an expression is interpreted; in the log once for an expression."""
    if _watch is not None:
        _watch()
    expression = unparse(root, _MAX_LOGGED)
    with _lock:
        if expression in _told:
            return
        _told[expression] = None
        if len(_told) > _MAX_TOLD:
            _told.popitem(last=False)
    reason = shortened(f"{type(error).__name__}: {error}", _MAX_LOGGED)
    # as JSON has them: what users write must not look like lines of a log, or steer terminals
    _LOGGER.warning(
        "expression is interpreted, its compiled code was refused: %s: %s",
        json.dumps(expression),
        json.dumps(reason),
    )
