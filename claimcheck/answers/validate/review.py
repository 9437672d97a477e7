"""Sends the objects of a run to the server, and lints them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from advice.findings import ERROR, NOTE, UPDATES_REFUSED, WARNING, Result
from claimcheck.answers.handling import ASK, CONTEXT, LINT, NOT_SERVED, was_read_from_server
from claimcheck.answers.outcome import Outcome, Skipped
from claimcheck.answers.validate.sending import (
    APPLY,
    AS_SENT,
    BAD_REQUEST,
    PATCH,
    SERVER_SIDE,
    ChangeRefused,
    refusals,
    send,
)
from resourceapi.api_client import Unavailable
from resourceapi.field_errors import render
from resourceapi.kinds import KINDS, kind_of
from resourceapi.manifests import MISSING, group_of, mapping, text, value_at
from resourceapi.model import workloads
from resourceapi.model.versions import GROUP
from resourceapi.recognition import with_sorted_keys
from resourceapi.releases import split_api_version
from validation.requests import (
    CREATE,
    NAMESPACE_MISMATCH,
    NAMESPACE_NOT_FOUND,
    OBJECT_NOT_FOUND,
    STATUS,
    UPDATE,
    UPDATE_REFUSED,
    Answer,
    Request,
)

if TYPE_CHECKING:
    from advice.findings import Finding
    from advice.interpreter import Interpreter
    from advice.lints import Facts, Warning
    from claimcheck.answers.cluster_context import Knowledge
    from claimcheck.answers.stored import StoredObjects
    from claimcheck.answers.validate.live_checks import LiveChecks
    from claimcheck.answers.validate.looking_ahead import LookingAhead
    from claimcheck.answers.validate.sending import Change
    from documents.manifest import Manifest
    from resourceapi.field_errors import Path
    from validation.server import Server


OFF = "off"
"""In place of a severity, for lints that are left out."""


class Question(NamedTuple):
    """What is asked about objects.

    :param namespace: the namespace of objects that do not name one.
    :param only_namespace: the namespace that the objects must be in; empty for any.
    :param subresource: ``status`` for updates of the status.
    :param sender: who sends the objects of files, see :mod:`claimcheck.answers.validate.sending`.
    :param change: how stored objects are changed by server-side apply and patches.
    :param live: whether the objects come from a cluster, so that their status counts.
    :param notes: whether lints may add notes.
    :param severities: what lints are reported as, by their codes: a severity, or `OFF` for those that are left out.
    """

    namespace: str = "default"
    only_namespace: str = ""
    subresource: str = ""
    sender: str = APPLY
    change: Change | None = None
    live: bool = False
    notes: bool = False
    severities: Mapping[str, str] = MappingProxyType({})


class Reviewer:
    """Adds the results of objects to an outcome.

    :param knowledge: what objects say about each other; without facts there are no lints.
    :param stored: the stored objects, of which the input has updates; None for requests to create objects.
    :param checks: the cluster in which the objects would be created or updated.
    """

    def __init__(
        self,
        server: Server,
        knowledge: Knowledge,
        outcome: Outcome,
        question: Question = Question(),  # noqa: B008 - nobody can change it
        *,
        stored: StoredObjects | None = None,
        checks: LiveChecks | None = None,
    ) -> None:
        self.server = server
        self.context, self.facts = knowledge.context, knowledge.facts
        self.outcome = outcome
        self.question = question
        self.update = STATUS if question.subresource == "status" else UPDATE
        self.stored = stored
        self.checks = checks
        self._interpreter: Interpreter | None = None
        self._ahead: LookingAhead | None = None

    def review(self, manifest: Manifest, how: str) -> None:
        """Add the result of one object.

        :param how: its :func:`claimcheck.answers.handling.handling_of`.
        """
        live = self.question.live
        refused = [] if live else refusals(manifest, how, self.question.sender, self.server.profile)
        if how == LINT and not refused and (result := self._linted(manifest)).findings:
            self.outcome.results.append(result)
            return
        if how not in (ASK, NOT_SERVED) and not refused:
            self.outcome.skipped.append(_skipped(manifest, context=how == CONTEXT))
            return
        if live:
            manifest = self._as_served(manifest)
        result = self._result(manifest)
        self.outcome.results.append(result)
        if how == NOT_SERVED:
            self._interpret().add_not_served(result, manifest)
            return
        if problem := self._namespace_problem(result, manifest):
            rule, message = problem
            self._interpret().add_refusal(result, manifest, rule, message, ("metadata", "namespace"))
            return
        for refusal in refused:
            self._interpret().add_error(result, manifest, *refusal)
        if how != ASK:
            return
        kept = self._find_stored(result, manifest)
        try:
            request = self._request(result, manifest)
        except Unavailable:
            self.outcome.results.pop()
            return
        except ChangeRefused as error:
            if self.question.change is not None and self.question.change.patch is not None:
                manifest = self._place_in(result, self.question.change.patch)
            self._interpret().add_error(result, manifest, error.rule, error.path, str(error))
            return
        if self.question.sender == PATCH:
            if request.old is None:
                message = f'{_resource(result)} "{result.name}" not found'
                self._interpret().add_refusal(
                    result, manifest, OBJECT_NOT_FOUND, message, ("metadata", "name")
                )
                return
            assert self.question.change is not None
            manifest = self._place_in(result, self.question.change.in_patch(request.body))
        answer = self._without_version_warning(self._answer(request, manifest))
        if answer.code == 404:
            result.answer = answer
            self._interpret().add_not_served(result, manifest)
            self._look_behind_version(result, manifest, request)
        elif not answer.accepted or answer.warnings:
            self._interpret().add_answer(result, manifest, answer)
        if self.facts is not None and self.question.sender != PATCH:
            self._lint(result, manifest, answer, self.facts, kept)
        if answer.accepted and result.stored is not None and result.stored.updates == UPDATES_REFUSED:
            message = f"updates of the stored object are refused: {result.stored.message}"
            self._interpret().add_refusal(result, manifest, UPDATE_REFUSED, message, ("metadata", "name"))
        if answer.code == BAD_REQUEST:
            self._look_ahead(result, manifest, request, answer)
        if self.question.severities:
            result.findings = list(filter(self._is_shown, result.findings))
            result.afterwards = list(filter(self._is_shown, result.afterwards))

    def _linted(self, manifest: Manifest) -> Result:
        """What lints say of an object that is not sent to the server."""
        value = manifest.value
        result = Result(
            manifest.file,
            manifest.index + 1,
            manifest,
            api_version=value["apiVersion"],
            kind=value["kind"],
            name=text(mapping(value, "metadata"), "name"),
        )
        if self.facts is not None:
            for warning in self._warnings(value, manifest.file, None):
                self._interpret().add_lint(result, manifest, warning)
            result.findings = list(filter(self._is_shown, result.findings))
        return result

    def _is_shown(self, finding: Finding) -> bool:
        """Whether a finding is reported after all; a lint that is made a note is like other notes."""
        severity = self.question.severities.get(finding.rule)
        if severity == NOTE and not self.question.notes:
            self.outcome.hidden_notes += 1
            return False
        return severity != OFF

    def _look_behind_version(self, result: Result, manifest: Manifest, request: Request) -> None:
        """Add what the server would report if the object were in a version that it serves."""
        from claimcheck.answers.validate.looking_ahead import foretell

        foretell(result, manifest, request, self.server, self._interpret())

    def _look_ahead(self, result: Result, manifest: Manifest, request: Request, answer: Answer) -> None:
        """Add what the server will report once it can read the object."""
        from advice.afterwards.foretelling import foretell, is_unreadable
        from claimcheck.answers.validate.looking_ahead import LookingAhead

        as_it_stands = self.question.sender == AS_SENT
        if not is_unreadable(answer) or (as_it_stands and manifest.has_repeated_keys):
            return
        as_it_stands = as_it_stands and bool(manifest.json_text)
        self._ahead = self._ahead or LookingAhead()
        self._ahead.foretell(
            result,
            lambda: foretell(
                result,
                manifest,
                request.body if as_it_stands else with_sorted_keys(request.body),
                self._interpret(),
                lambda value: self._without_version_warning(self.server.handle(request._replace(body=value))),
                lambda value, answer: self._warnings(value, manifest.file, answer),
            ),
        )

    def _result(self, manifest: Manifest) -> Result:
        value = manifest.value
        api_version, kind, metadata = value.get("apiVersion"), value.get("kind"), value.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
        kind = kind if isinstance(kind, str) else ""
        known = kind_of(api_version, kind) or KINDS.get(kind)
        if known is not None and not known.namespaced:
            namespace = ""
        elif not isinstance(namespace, str) or not namespace:
            namespace = self.question.namespace
        return Result(
            manifest.file,
            manifest.index + 1,
            manifest,
            api_version=api_version if isinstance(api_version, str) else "",
            kind=kind,
            namespace=namespace,
            name=name if isinstance(name, str) else "",
        )

    def _namespace_problem(self, result: Result, manifest: Manifest) -> tuple[str, str] | None:
        """The rule and what kubectl or the server says, if the object cannot be in its namespace."""
        wanted = self.question.only_namespace
        if wanted and result.namespace and result.namespace != wanted:
            from claimcheck.answers.cluster_context import namespace_mismatch

            return NAMESPACE_MISMATCH, namespace_mismatch(result.namespace, wanted)
        if self.checks is None or not result.namespace or result.namespace in self.context.namespaces:
            return None
        if self.checks.has_namespace(result.namespace):
            return None
        return NAMESPACE_NOT_FOUND, f'namespaces "{result.namespace}" not found'

    @staticmethod
    def _place_in(result: Result, patch: Manifest) -> Manifest:
        """What is wrong with a patched object is shown in the patch."""
        result.file, result.document, result.source = patch.file, patch.index + 1, patch
        return patch

    def _request(self, result: Result, manifest: Manifest) -> Request:
        """What is sent to the server, or what a server that applies or patches itself goes on with.

        :raises Unavailable: if the stored object cannot be read.
        :raises ChangeRefused: if the server does not change it so.
        """
        old, body = None, manifest.value
        if self.stored is not None:
            old = self.stored.of(result)
        elif self.checks is not None:
            old = self.checks.stored(result, self.server)
            result.verb = CREATE if old is None else self.update
        if (
            self.question.change is not None
            and self.question.sender == SERVER_SIDE
            and not self.question.live
        ):
            body = self.question.change.applied(old, body, result.namespace)
        elif old is not None and self.question.change is not None and self.question.sender == PATCH:
            body = self.question.change.patched(old)
        elif old is not None and self.checks is not None and self.question.sender == APPLY:
            from cluster.applying import applied

            body = applied(old, body, result.namespace) or old
        if old is None and self.question.sender == APPLY and not self.question.live:
            from cluster.applying import created

            body = created(body, result.namespace)
        return Request(
            verb=CREATE if old is None else self.update,
            api_version=result.api_version,
            kind=result.kind,
            namespace=result.namespace,
            name="" if old is None else result.name,
            body=body,
            old=old,
            is_patch=self.question.sender in (SERVER_SIDE, PATCH)
            or (self.question.sender == APPLY and self.checks is not None),
            deleted=old is not None and "deletionTimestamp" in mapping(old, "metadata"),
        )

    def _answer(self, request: Request, manifest: Manifest) -> Answer:
        """What the client gets; where `kubectl apply` finds nothing to change, it asks nothing."""
        if self.checks is not None and request.body is request.old:
            return Answer(200, build=lambda: request.body)
        return send(self.server, request, manifest, self.question.sender)

    def _without_version_warning(self, answer: Answer) -> Answer:
        if self.question.live:  # we chose the version, not the user
            answer.warnings = [text for text in answer.warnings if " is deprecated in " not in text]
        return answer

    def _as_served(self, manifest: Manifest) -> Manifest:
        """A live object in a version that the server serves, if there is one: we chose the version, not the user."""
        from claimcheck.answers.validate.upgrade import served_version
        from cluster.live_objects import LiveObject
        from resourceapi.decoding import DecodingError

        value = manifest.value
        if group_of(value) != GROUP or kind_of(value["apiVersion"], value["kind"]) is None:
            return manifest
        version = served_version(value, self.server)
        if not version or value["apiVersion"] == f"{GROUP}/{version}":
            return manifest
        assert isinstance(manifest, LiveObject)
        with suppress(DecodingError):  # then the server answers why
            return manifest.with_value(self.server.read(value, f"{GROUP}/{version}", answered=True))
        return manifest

    def _find_stored(self, result: Result, manifest: Manifest) -> Answer | None:
        """Note of an object that was read from a server what becomes of it there; returns the answer to an update."""
        if self.stored is not None or self.checks is not None:
            return None  # it is an update already
        if not (self.question.live or was_read_from_server(manifest.value)):
            return None
        from claimcheck.answers.validate.upgrade import update_of_stored
        from resourceapi.decoding import DecodingError

        try:
            result.stored, answer = update_of_stored(manifest.value, result, self.server)
        except DecodingError:  # no server can have stored it
            return None
        return answer

    def _is_dropped(self, answer: Answer, path: Path) -> bool:
        """Whether the server drops a field only because its gate is off.

        It keeps fields that the stored object has, and drops the status of a new object in any case.
        """
        if path[0] == "status" and not self.question.live and self.stored is None:
            return False
        return not answer.accepted or value_at(answer.object, path) is MISSING

    def _interpret(self) -> Interpreter:
        if self._interpreter is None:
            from advice.interpreter import Interpreter
            from claimcheck.answers.handling import can_migrate

            self._interpreter = Interpreter(
                self.server.profile, self.context.namespaces, self.question.severities, can_migrate
            )
        return self._interpreter

    def _lint(
        self, result: Result, manifest: Manifest, answer: Answer, facts: Facts, kept: Answer | None
    ) -> None:
        from advice.lints.table import DROPPED

        facts.hidden_notes.clear()
        for warning in self._warnings(manifest.value, manifest.file, answer):
            self._interpret().add_lint(result, manifest, warning)
            if warning.code == DROPPED.code and result.stored is not None and _loses(kept, warning.path):
                result.stored = result.stored._replace(lost=(*result.stored.lost, render(warning.path)))
        for code, count in facts.hidden_notes.items():
            if self.question.severities.get(code) != OFF:
                self.outcome.hidden_notes += count
        from advice.silencing import unknown_codes

        for warning in unknown_codes(manifest):
            self._interpret().add_lint(result, manifest, warning)
        if manifest.text:
            from advice.lints import yaml_texts

            for warning in yaml_texts.check(manifest):
                self._interpret().add_lint(result, manifest, warning)
        for notice in manifest.notices:
            self._interpret().add_notice(result, manifest, notice)
        if manifest.has_repeated_keys:
            self._interpret().add_repeated_keys(result, manifest)

    def _warnings(self, value: dict[str, Any], file: str, answer: Answer | None) -> list[Warning]:
        """The lints' warnings about an object, given the server's answer if it was asked."""
        if self.facts is None:
            return []
        from advice.lints import lint

        raised = {code for code, severity in self.question.severities.items() if severity in (ERROR, WARNING)}

        def keeps(path: Path) -> bool:
            return answer is not None and (answer.code == 404 or not self._is_dropped(answer, path))

        return list(lint(value, self.facts, file, notes=self.question.notes, raised=raised, keeps=keeps))


def _resource(result: Result) -> str:
    """The resource of an object and its group, as the server names them."""
    kind = kind_of(result.api_version, result.kind) or KINDS.get(result.kind)
    resource = workloads.RESOURCES.get(result.kind, result.kind) if kind is None else kind.resource
    return ".".join(filter(None, (resource, split_api_version(result.api_version)[0])))


def _loses(updated: Answer | None, path: Path) -> bool:
    """Whether even an update that leaves a stored object as it is drops a field."""
    return updated is not None and updated.accepted and value_at(updated.object, path) is MISSING


def _skipped(manifest: Manifest, *, context: bool) -> Skipped:
    value = manifest.value
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    api_version, kind = value.get("apiVersion"), value.get("kind")
    return Skipped(
        manifest.file,
        manifest.index + 1,
        api_version=api_version if isinstance(api_version, str) else "",
        kind=kind if isinstance(kind, str) else "",
        name=name if isinstance(name, str) else "",
        context=context,
    )
