"""Who asks for devices: pods and workloads with the claims that they would have, and claims by themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from commandline.asking import COPIES, answer_to_create, group_of, name_of, namespace_of
from commandline.cluster_state import CLAIM, TEMPLATE, ClusterState
from resourceapi.decoding import DecodingError
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object
from validation.workloads import template_of

if TYPE_CHECKING:
    from commandline.treatment import Manifest


class Asker:
    """A pod with its claims (v1, normal form); `kind` and `name` are those of the object that it comes from.

    `problem`: why it cannot be answered for. `copies`: how many such pods there are; each gets its own claims from
    templates (`fresh`: their places).
    """

    def __init__(self, manifest: Manifest, namespace: str, pod_spec: Object) -> None:
        self.file, self.line = manifest.file, manifest.line
        self.kind: str = manifest.value["kind"]
        self.namespace = namespace
        self.name = name_of(manifest.value)
        self.pod_spec = pod_spec
        self.claims: list[Object] = []
        self.fresh: list[int] = []
        self.copies = 1
        self.problem = ""

    @property
    def title(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    def claims_of_copy(self, number: int) -> list[Object]:
        """The claims of one of several pods: those from templates are its own."""
        if not number:
            return self.claims
        return [
            {**claim, "metadata": {**claim["metadata"], "name": f"{name_of(claim)}-{number}"}}
            if index in self.fresh
            else claim
            for index, claim in enumerate(self.claims)
        ]


class Askers:
    """Finds the askers among manifests, whose claims and templates join those of the cluster."""

    def __init__(self, state: ClusterState, default_namespace: str) -> None:
        self._state = state
        self._default_namespace = default_namespace
        self._used: set[tuple[str, str]] = set()
        #: what the server says against claims and templates in the files
        self._refused: dict[tuple[str, str], str] = {}
        self._made = 0

    def of(self, manifests: Iterable[Manifest]) -> list[Asker]:
        """The askers in the order of the manifests: pods, workloads, and claims and templates that none of them uses."""
        read = [(manifest, *self._read(manifest)) for manifest in manifests]
        pods = {
            index: self._pod(manifest, obj, problem)
            for index, (manifest, obj, problem) in enumerate(read)
            if group_of(manifest) != GROUP
        }
        found = []
        for index, (manifest, obj, problem) in enumerate(read):
            asker = pods.get(index) or self._claim(manifest, obj, problem)
            if asker is not None and (asker.claims or asker.problem):
                found.append(asker)
        return found

    def _read(self, manifest: Manifest) -> tuple[Object, str]:
        """The object as the server takes it, or what it says against it. Claims and templates are remembered."""
        answer = answer_to_create(self._state.server, manifest, self._default_namespace)
        if not answer.accepted or answer.object is None:
            named = f"{namespace_of(manifest, self._default_namespace)}/{name_of(manifest.value)}"
            self._refused[manifest.value["kind"], named] = answer.message
            return manifest.value, answer.message
        if group_of(manifest) != GROUP:
            return answer.object, ""
        try:
            obj = self._state.normal_form(answer.object)
            given = self._state.normal_form(manifest.value)
        except DecodingError as error:
            return manifest.value, error.text
        kind = manifest.value["kind"]
        namespace = namespace_of(manifest, self._default_namespace)
        obj = {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}
        known = self._state.of(kind).get(f"{namespace}/{name_of(obj)}", given)
        if kind == CLAIM and "status" in known:
            obj = {**obj, "status": known["status"]}
        self._state.remember(kind, obj)
        return obj, ""

    def _pod(self, manifest: Manifest, obj: Object, problem: str) -> Asker:
        kind = manifest.value["kind"]
        pod = obj
        if not problem and kind != "Pod":
            pod = template_of(kind, obj) or {}
        asker = Asker(manifest, namespace_of(manifest, self._default_namespace), {})
        asker.problem = problem
        if problem:
            return asker
        asker.pod_spec = pod.get("spec") or {}
        if field := COPIES.get(kind):
            copies = (obj.get("spec") or {}).get(field, 1)
            asker.copies = max(copies, 0) if isinstance(copies, int) else 1
        made = _made_claims(manifest.value)
        for entry in asker.pod_spec.get("resourceClaims") or ():
            self._add_claim(asker, entry, made)
        return asker

    def _add_claim(self, asker: Asker, entry: Object, made: dict[str, str]) -> None:
        name = entry.get("name", "")
        claim_name = made.get(name) or entry.get("resourceClaimName")
        if claim_name:
            self._used.add((CLAIM, f"{asker.namespace}/{claim_name}"))
            claim = self._state.of(CLAIM).get(f"{asker.namespace}/{claim_name}")
            if claim is not None:
                asker.claims.append(claim)
            else:
                asker.problem = self._missing("claim", CLAIM, f"{asker.namespace}/{claim_name}")
            return
        template_name = entry.get("resourceClaimTemplateName", "")
        self._used.add((TEMPLATE, f"{asker.namespace}/{template_name}"))
        template = self._state.of(TEMPLATE).get(f"{asker.namespace}/{template_name}")
        if template is None:
            asker.problem = self._missing("template", TEMPLATE, f"{asker.namespace}/{template_name}")
            return
        asker.fresh.append(len(asker.claims))
        asker.claims.append(_from_template(template, asker.namespace, f"{asker.name}-{name}"))

    def _missing(self, noun: str, kind: str, name: str) -> str:
        """Why there is no claim or template of this name."""
        if refused := self._refused.get((kind, name)):
            return f"{noun} {name} is not valid: {refused}"
        unread = self._state.unread.get(kind)
        if unread is not None and unread.read_namespace != name.partition("/")[0]:
            return f"{noun} {name} could not be read ({unread.reason})"
        return f"{noun} {name} is neither in the files nor in the inventory"

    def _claim(self, manifest: Manifest, obj: Object, problem: str) -> Asker | None:
        """A claim or template by itself: as if a pod used nothing else."""
        kind, namespace = manifest.value["kind"], namespace_of(manifest, self._default_namespace)
        if (kind, f"{namespace}/{name_of(obj)}") in self._used and not problem:
            return None
        asker = Asker(manifest, namespace, {})
        asker.problem = problem
        if not problem:
            prefix = "" if manifest.value["metadata"].get("name") else obj["metadata"].get("generateName", "")
            if prefix:
                # The server makes a name for each; those that it answers with are all the same.
                self._made += 1
                obj = {**obj, "metadata": {**obj["metadata"], "name": f"{prefix}{self._made}"}}
            asker.claims = [_from_template(obj, namespace, name_of(obj)) if kind == TEMPLATE else obj]
            asker.fresh = [0] if kind == TEMPLATE else []
        return asker


def _from_template(template: Object, namespace: str, name: str) -> Object:
    made: Object = template.get("spec") or {}
    metadata = {**(made.get("metadata") or {}), "namespace": namespace, "name": name}
    return {"metadata": metadata, "spec": made.get("spec") or {}}


def _made_claims(value: Object) -> dict[str, str]:
    """The claims that a controller has made for a pod already, by the names of their entries."""
    status: Any = value.get("status")
    entries: Any = status.get("resourceClaimStatuses") if isinstance(status, dict) else None
    return dict(_made(entries)) if isinstance(entries, list) else {}


def _made(entries: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for entry in entries:
        if isinstance(entry, dict):
            name, claim = entry.get("name"), entry.get("resourceClaimName")
            if isinstance(name, str) and isinstance(claim, str) and claim:
                yield name, claim
