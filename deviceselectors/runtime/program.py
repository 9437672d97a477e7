"""Programs: type-checked expressions that can be evaluated on devices."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any

from deviceselectors.ast import Node
from deviceselectors.environment import Environment
from deviceselectors.runtime import compilation, effort
from deviceselectors.runtime.costs import CostExceededError
from deviceselectors.runtime.device import Device
from deviceselectors.runtime.interpreter import Interpreter
from deviceselectors.runtime.planning import Plan, ProgramError
from deviceselectors.runtime.results import as_attribute, as_match
from deviceselectors.runtime.values import CelError, CelPanic, with_hint

if TYPE_CHECKING:
    from deviceselectors.compiler import Compiled

COST_LIMIT = 1_000_000
_LIMIT_ERROR = "operation cancelled: actual cost limit exceeded"

#: Stands for the fast variant of expressions whose cost is not bounded.
_NONE = object()

#: The evaluation on a device failed; printed it is kube-scheduler's text.
EvaluationError = CelError


class Result:
    """The outcome of an evaluation: a value, or the error's text; `cost` is None if evaluation did not begin."""

    __slots__ = ("cost", "error", "value")

    def __init__(self, value: Any, error: str | None, cost: int | None) -> None:
        self.value = value
        self.error = error
        self.cost = cost


class Program:
    """An expression that can be evaluated on any number of devices, from any number of threads.

    Python code is generated on first use: the exact variant by `evaluate`, the fast one by `matches` and `attribute`.
    Where it must not be (see `compilation`), or is refused, the expression is interpreted.
    """

    __slots__ = ("_bound", "_cost_limit", "_exact", "_fast", "_finish", "_is_refused", "_plan")

    def __init__(self, root: Node, *, derived: bool = False, cost_limit: int = COST_LIMIT) -> None:
        """`root` has passed the type checker; `derived` tells the expression of a derived attribute from a selector.

        :raises ProgramError: with kube-apiserver's text
        """
        self._plan = Plan(root)
        self._cost_limit = cost_limit
        self._finish: Callable[[Any], Any] = as_attribute if derived else as_match
        #: the functions that count, without and with comparing to the limit
        self._exact: list[Any] = [None, None]
        self._bound: float | None = None
        #: the function that does not count; None before it is needed, `_NONE` if there is none
        self._fast: Any = None
        #: whether code that was generated for it may not be run
        self._is_refused = False

    def prepare(self, device: Device) -> None:
        """Generate now what `matches` needs on such a device, which takes time once."""
        fast = self._fast or self._make_fast()
        if fast is _NONE or not device.plain:
            self._exact_for(device)

    def matches(self, device: Device) -> bool:
        """Whether a selector matches the device.

        :raises EvaluationError: if the evaluation fails
        """
        fast = self._fast or self._make_fast()
        if fast is _NONE or not device.plain:
            if device.error is not None:
                raise CelError(device.error)
            return self._checked(self.evaluate(device))  # type: ignore[no-any-return]
        effort.begin()
        try:
            value = fast(device)
        except CelPanic as panic:
            raise CelError(panic.message) from None
        if value is True or value is False:
            return value
        if value.__class__ is CelError:
            raise value
        return as_match(value)

    def attribute(self, device: Device) -> dict[str, Any]:
        """The derived attribute of the device, as `resource.k8s.io/v1` JSON.

        :raises EvaluationError: if the evaluation fails, or gives no attribute value
        """
        fast = self._fast or self._make_fast()
        if fast is _NONE or not device.plain:
            if device.error is not None:
                raise CelError(device.error)
            return self._checked(self.evaluate(device))  # type: ignore[no-any-return]
        effort.begin()
        try:
            value = fast(device)
        except CelPanic as panic:
            raise CelError(panic.message) from None
        if value.__class__ is CelError:
            raise value
        return as_attribute(value)

    def _checked(self, result: Result) -> Any:
        if result.error is not None:
            raise CelError(result.error)
        return result.value

    def _make_fast(self) -> Any:
        self._fast = (self._generated(self._generate_fast) if self._is_bounded() else None) or _NONE
        return self._fast

    def _generate_fast(self) -> Any:
        from deviceselectors.runtime.fast_path import FastGenerator

        return FastGenerator(self._plan).program()

    def _exact_for(self, device: Device) -> Any:
        bounded = device.plain and self._is_bounded()
        return self._exact[bounded] or self._make_exact(bounded)

    def _make_exact(self, bounded: bool) -> Any:
        generated = self._generated(lambda: self._generate_exact(bounded))
        self._exact[bounded] = generated or Interpreter(self._plan, self._cost_limit)
        return self._exact[bounded]

    def _generate_exact(self, bounded: bool) -> Any:
        from deviceselectors.runtime.generator import Generator

        return Generator(self._plan, self._cost_limit, bounded=bounded).program()

    def _generated(self, generate: Callable[[], Any]) -> Any:
        """The function that is generated, None if there can be none."""
        if self._is_refused or not compilation.is_enabled():
            return None
        try:
            return generate()
        except compilation.REFUSALS as error:
            self._is_refused = True
            compilation.report_refusal(self._plan.root, error)
            return None

    @property
    def cost_bound(self) -> float:
        """What it costs at most on a device within the API's limits, infinite if that is not known."""
        if self._bound is None:
            from deviceselectors.runtime.bounds import cost_bound

            self._bound = cost_bound(self._plan)
        return self._bound

    def _is_bounded(self) -> bool:
        """Whether no device within the API's limits can make the cost reach its limit."""
        return self.cost_bound < self._cost_limit

    def evaluate(self, device: Device) -> Result:
        """The value (a bool, or for a derived attribute the attribute) with the cost that kube-scheduler counts."""
        effort.begin()
        if device.error is not None:
            return Result(None, device.error, None)
        exact = self._exact_for(device)
        try:
            value, cost = exact(device)
        except CostExceededError as error:
            return Result(None, _LIMIT_ERROR, error.cost)
        except CelPanic as panic:
            return Result(None, with_hint(panic.message), panic.cost)
        if value.__class__ is CelError:
            return Result(None, str(value), cost)
        try:
            return Result(self._finish(value), None, cost)
        except CelError as error:
            return Result(None, str(error), cost)


_CACHE_SIZE = 512
#: Longer expressions get a new program each time, so that the cache cannot hold much memory.
_MAX_CACHED_LENGTH = 4096
_cache: OrderedDict[tuple[str, Environment, int], Program] = OrderedDict()
_lock = Lock()


def program(compiled: Compiled, cost_limit: int = COST_LIMIT) -> Program:
    """The program of an expression that compiled without error; programs are cached, by expression, environment and limit."""
    if compiled.ast is None:
        raise ValueError(f"the expression does not compile: {compiled.error}")
    key = (compiled.expression, compiled.environment, cost_limit)
    with _lock:
        found = _cache.get(key)
        if found is not None:
            _cache.move_to_end(key)
            return found
    made = Program(compiled.ast, derived=compiled.environment.derived, cost_limit=cost_limit)
    if len(compiled.expression) <= _MAX_CACHED_LENGTH:
        with _lock:
            _cache[key] = made
            if len(_cache) > _CACHE_SIZE:
                _cache.popitem(last=False)
    return made


__all__ = ["COST_LIMIT", "EvaluationError", "Program", "ProgramError", "Result", "program"]
