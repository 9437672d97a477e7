"""CEL expressions of device selectors: compiled once, evaluated on devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from advice.device_inventory import read
from claimcheck.answers.cel import evaluate
from claimcheck.clusters import Device
from claimcheck.inputs import plain, profile_of
from deviceselectors.compiler import compile_expression
from deviceselectors.device_properties import DeviceProperties
from deviceselectors.environment import Environment
from deviceselectors.runtime.program import Program, ProgramError
from resourceapi.decoding import DecodingError
from resourceapi.errors import Unanswerable
from resourceapi.kinds import RESOURCE_SLICE
from resourceapi.model.versions import GROUP


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an expression gives for a device.

    - ``value``: whether a selector matches; None if the evaluation failed.
    - ``error``: kube-scheduler's message if it failed; empty if not.
    - ``cost``: what the evaluation cost, as kube-scheduler counts it; None if it did not begin.
    """

    value: bool | None
    error: str = ""
    cost: int | None = None


class Expression:
    """The CEL expression of a device selector, as kube-apiserver compiles it and kube-scheduler evaluates it.

    ``text`` is the expression. One that the server refuses has ``errors``, and cannot be evaluated.
    """

    def __init__(
        self,
        text: str,
        *,
        kube_version: str | None = None,
        feature_gates: Mapping[str, bool] | None = None,
    ) -> None:
        """Compile the expression.

        :param kube_version: the release, such as ``"1.34"``; the newest one if it is None.
        :param feature_gates: gates that differ from the release's defaults.
        :raises ClaimcheckError: for a release or gates that are not known. Errors of the expression are in ``errors``.
        """
        self.text = text
        self._profile = profile_of(kube_version, feature_gates)
        self._answer = evaluate(text, self._profile, derived=False)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    @property
    def errors(self) -> list[str]:
        """What the server says against it: line, column and message of each error in the text, or one message about all of it."""
        error = self._answer.error
        if error is None:
            return []
        located = [f"{line}:{column}: {message}" for line, column, message in self._answer.locations]
        return located or [error.message]

    @property
    def hint(self) -> str:
        """How to fix the errors; empty if that is not known."""
        return self._answer.hint

    @property
    def cost(self) -> int:
        """The cost that the server estimates, at most; 0 for an expression that does not compile."""
        return self._answer.max_cost

    @property
    def cost_limit(self) -> int:
        """The estimated cost above which the server refuses an expression."""
        return self._answer.cost_limit

    def evaluate(self, device: Device | Mapping[str, Any]) -> Evaluation:
        """What it gives for a device.

        :param device: a device of a cluster, or a dictionary with its ``driver`` and what ``spec.devices`` of a ResourceSlice says
            of it: ``attributes``, ``capacity``, ``allowMultipleAllocations``.
        :raises ClaimcheckError: if the server refuses the expression, or the device cannot be read.
        """
        program = self._program
        if isinstance(program, str):
            return Evaluation(None, program)
        result = program.evaluate(self._properties(device).prepared)
        return Evaluation(result.value, result.error or "", result.cost)

    def matches(self, device: Device | Mapping[str, Any]) -> bool:
        """Whether it matches a device.

        :raises ClaimcheckError: as :meth:`evaluate`, and with kube-scheduler's message if the evaluation fails.
        """
        found = self.evaluate(device)
        if found.error:
            raise Unanswerable(found.error)
        return bool(found.value)

    @cached_property
    def _program(self) -> Program | str:
        """What evaluates it, or why nothing can."""
        if self.errors:
            raise Unanswerable(f"the expression does not compile: {self.errors[0]}", self.hint)
        # what new requests may use, stored objects may as well
        root = compile_expression(self.text, Environment("stored")).ast
        assert root is not None
        try:
            return Program(root)
        except ProgramError as error:
            return str(error)

    def _properties(self, device: Device | Mapping[str, Any]) -> DeviceProperties:
        given = {**device.spec, "driver": device.driver} if isinstance(device, Device) else device
        value = plain(given, "device")
        driver = value.pop("driver", "") if isinstance(value, dict) else ""
        if not isinstance(driver, str) or not driver:
            raise Unanswerable("the device has no driver")
        spec = {"driver": driver, "devices": [value]}
        slice = {
            "apiVersion": f"{GROUP}/{'v1beta1' if 'basic' in value else 'v1'}",
            "kind": RESOURCE_SLICE.name,
            "spec": spec,
        }
        try:
            obj = read(slice, RESOURCE_SLICE, self._profile.schemas)
        except DecodingError as error:
            raise Unanswerable(f"device: {error.text}") from None
        if obj is None:
            raise Unanswerable(f"device: release {self._profile.name} has no such devices")
        return DeviceProperties(driver, obj["spec"]["devices"][0] or {})
