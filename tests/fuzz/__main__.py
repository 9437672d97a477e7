"""`python -m tests.fuzz`: mutated documents in bulk through reading, decoding, conversion and validation, some
of them through the whole command.

Every document follows from the seed and its number, so `--from NUMBER --count 1` shows a failure again. Exit status 1
if a document raised an exception, took more than a second of CPU time or the run more than 200 MB, or if fewer than
half of the documents got past decoding.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import time
import traceback
from collections import Counter
from functools import cache
from typing import Any

import yaml

from documents.document import Document
from documents.parsing import parse
from resourceapi.kinds import KINDS
from resourceapi.model.versions import GROUP
from resourceapi.records.nodes import Node
from resourceapi.releases import PROPOSALS, Profile
from tests.conformance.profiles import MODERN, PROFILES
from tests.corpus.cases import valid_object
from tests.corpus.parts import Parts
from tests.fuzz.command import run_command
from tests.fuzz.memory import peak_megabytes
from tests.fuzz.mutations import garble, mutate
from tests.fuzz.objects import make_object
from validation.requests import CREATE, STATUS, STRICT, UPDATE, WARN, Request
from validation.server import Server

MAX_SECONDS = 1.0
MAX_MEGABYTES = 200
MIN_DECODED = 0.5

_HANGING_SECONDS = 5.0
_THROUGH_COMMAND = 0.25  # of the texts
_WITH_STATUS = (CREATE, CREATE, UPDATE, STATUS)
_VERBS = {"Pod": (CREATE,), **{kind.name: _WITH_STATUS for kind in KINDS.values() if kind.has_status}}
_NAME, _NAMESPACE = "an-object", "default"
_NAMESPACES = {_NAMESPACE: {"resource.kubernetes.io/admin-access": "true"}}
_NODES = [Node("node-a")]


class Hanging(Exception):
    """A document took so long that it was given up."""


class Outcome:
    """What a run has come to so far."""

    def __init__(self) -> None:
        self.codes: Counter[str] = Counter()
        self.failures: dict[str, list[int]] = {}
        self.slowest = (0.0, -1)
        self.documents = 0

    @property
    def decoded(self) -> float:
        """The share of documents that got past decoding (400; 404: no such version or subresource)."""
        refused = sum(self.codes[outcome] for outcome in ("failure", "unreadable", "400", "404"))
        return 1 - refused / max(self.documents, 1)


def run(seed: int, start: int, count: int) -> Outcome:
    """Run documents `start` to `start + count` of a seed."""
    profiles = [Profile(each.release, each.gates) for each in map(PROFILES.__getitem__, MODERN)]
    servers = [Server(each, namespaces=_NAMESPACES, nodes=_NODES) for each in (*profiles, Profile(PROPOSALS))]
    outcome = Outcome()
    signal.signal(signal.SIGVTALRM, _give_up)
    for number in range(start, start + count):
        pick = random.Random(f"{seed}/{number}")
        server = pick.choice(servers)
        request, text = make_request(pick, server.profile)
        began = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, _HANGING_SECONDS)
        try:
            outcome.codes[_ask(server, request, text)] += 1
            if text and pick.random() < _THROUGH_COMMAND:
                run_command(pick, text)
        except Exception:  # noqa: BLE001 - any of them is what is looked for
            outcome.codes["failure"] += 1
            outcome.failures.setdefault(traceback.format_exc(limit=-2), []).append(number)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        seconds = time.process_time() - began
        outcome.slowest = max(outcome.slowest, (seconds, number))
        outcome.documents += 1
    return outcome


def _give_up(signal_number: int, frame: object) -> None:
    raise Hanging


def make_request(pick: random.Random, profile: Profile) -> tuple[Request, bytes]:
    """A request for a mutated object; with a text, the object is to be read from there."""
    kind, version = pick.choice(_kinds_and_versions(profile.minor))
    if kind == "Pod" or pick.random() < 0.5:
        made = valid_object(Parts(pick), kind, version, with_status=True, name=_NAME)
    else:
        made = make_object(pick, kind, version, _NAME)
    if kind not in KINDS or KINDS[kind].namespaced:
        made["metadata"]["namespace"] = _NAMESPACE
    changed = mutate(pick, made) if pick.random() < 0.9 else made
    verb = pick.choice(_VERBS.get(kind, (CREATE, CREATE, UPDATE)))
    request = Request(
        verb=verb,
        api_version=made["apiVersion"],
        kind=kind,
        namespace=made["metadata"].get("namespace", ""),
        body=changed,
        old=made if verb != CREATE else None,
        name=_NAME if verb != CREATE else "",
        field_validation=pick.choice((STRICT, STRICT, WARN)),
    )
    return request, _text(pick, changed)


@cache
def _kinds_and_versions(minor: int) -> list[tuple[str, str]]:
    """What release 1.`minor` serves."""
    dra = [
        (kind, version)
        for kind, entry in KINDS.items()
        for version in entry.versions
        if entry.served(version, minor)
    ]
    return [*dra, ("Pod", "v1")]


def _text(pick: random.Random, document: dict[str, Any]) -> bytes:
    form = pick.random()
    if form < 0.6:
        return b""
    if form < 0.9:
        text = json.dumps(document).encode()
    else:
        text = yaml.dump(document, Dumper=yaml.CSafeDumper, allow_unicode=True).encode(
            "utf-8", "surrogatepass"
        )
    return garble(pick, text) if pick.random() < 0.3 else text


def _ask(server: Server, request: Request, text: bytes) -> str:
    """The code of the answer, for a text with several documents that of the last one."""
    if not text:
        return _answered(server, request)
    outcome = "unreadable"
    for document in parse(text):
        if isinstance(document, Document):
            outcome = _answered(server, request._replace(body=document.value))
    if text.startswith(b"{"):
        outcome = _answered(server, request._replace(raw=text))
    return outcome


def _answered(server: Server, request: Request) -> str:
    answer = server.handle(request)
    if not answer.accepted:
        json.dumps(answer.status())
    elif answer.object is not None and request.verb == CREATE and request.kind in KINDS:
        _require_lossless(server, request, answer.object)
    return str(answer.code)


def _require_lossless(server: Server, request: Request, returned: dict[str, Any]) -> None:
    """What the server has returned, it must take again in any version, and return it as it was."""
    if "\\udc" in json.dumps(returned):
        return  # opaque parameters keep bytes that are not UTF-8, which no other JSON can say
    kind = KINDS[request.kind]
    for version in kind.versions:
        if not kind.served(version, server.profile.minor):
            continue
        converted = server.read(returned, f"{GROUP}/{version}")
        again = server.handle(
            Request(
                api_version=converted["apiVersion"],
                kind=kind.name,
                namespace=request.namespace,
                body=converted,
            )
        )
        if not again.accepted:
            raise AssertionError(f"taken in {request.api_version}, but not in {version}: {again.message}")
        back = again.object and server.read(again.object, request.api_version)
        if back != returned:
            raise AssertionError(f"there and back by {version}:\n{json.dumps(returned)}\n{json.dumps(back)}")


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m tests.fuzz")
    arguments.add_argument("--count", type=int, default=250_000)
    arguments.add_argument("--from", type=int, default=0, dest="start")
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    outcome = run(options.seed, options.start, options.count)
    megabytes = peak_megabytes()
    for text, numbers in outcome.failures.items():
        print(f"--- {len(numbers)} documents, the first of them {numbers[0]}\n{text}")
    print("answers:", ", ".join(f"{code} {times}" for code, times in outcome.codes.most_common()))
    print(
        f"{outcome.documents} documents, {outcome.decoded:.1%} past decoding, {outcome.codes['failure']} failures"
    )
    print(
        f"slowest {outcome.slowest[0] * 1e3:.0f} ms (document {outcome.slowest[1]}), at most {megabytes:.0f} MB"
    )
    sound = not outcome.failures and outcome.slowest[0] <= MAX_SECONDS and megabytes <= MAX_MEGABYTES
    return 0 if sound and outcome.decoded >= MIN_DECODED else 1


if __name__ == "__main__":
    sys.exit(main())
