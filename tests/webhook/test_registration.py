"""Whether the API server asks about the labels that are guarded."""

from __future__ import annotations

from typing import Any

import pytest

from commandline.manifests.config_map import use_config
from commandline.manifests.options import MODES
from manifests.kustomize import DIRECTORY, render
from webhook.label_guard import check_registration, unregistered

DEFAULT = ["resource.kubernetes.io/admin-access", "admin-access.dra.example.com"]
ODD = "it's.example.com/\\key"


class Server:
    """An API server that gives one answer."""

    def __init__(self, code: int, body: Any) -> None:
        self.answer = code, body

    def request(self, verb: str, path: str, body: object = None, query: object = None) -> tuple[int, Any]:
        assert (verb, path.rpartition("/")[2]) == ("GET", "claimcheck-namespaces")
        return self.answer


def _configuration(mode: str) -> dict[str, Any]:
    (found,) = (
        obj
        for obj in render(DIRECTORY / "overlays" / mode)
        if obj["metadata"]["name"] == "claimcheck-namespaces"
    )
    return found


@pytest.mark.parametrize("mode", MODES)
def test_keys_of_the_manifests(mode: str) -> None:
    """The manifests register the labels of their own configuration; another one is missing."""
    assert unregistered(_configuration(mode), DEFAULT) == []
    assert unregistered(_configuration(mode), [*DEFAULT, "team.example.com/admin", ODD]) == [
        "team.example.com/admin",
        ODD,
    ]


def test_without_the_condition() -> None:
    """All changes are told."""
    configuration = _configuration(MODES[0])
    del configuration["webhooks"][0]["matchConditions"]
    assert unregistered(configuration, [ODD]) == []


NOT_FOUND = {"kind": "Status", "message": 'validatingwebhookconfigurations "claimcheck-namespaces" not found'}


@pytest.mark.parametrize(
    ("code", "body", "missing"),
    [
        (200, _configuration(MODES[0]), ["team.example.com/admin"]),
        (404, NOT_FOUND, [*DEFAULT, "team.example.com/admin"]),
        (403, {"message": "forbidden"}, []),
        (503, None, []),
    ],
    ids=["registered", "missing", "forbidden", "away"],
)
def test_what_is_logged(code: int, body: Any, missing: list[str], caplog: pytest.LogCaptureFixture) -> None:
    """The labels that nobody asks about, and what to do; nothing where the service may not know."""
    check_registration(Server(code, body), [*DEFAULT, "team.example.com/admin"])
    if missing:
        (record,) = caplog.records
        assert record.message == "labels are not guarded"
        assert record.__dict__["fields"]["labels"] == missing
        assert "claimcheck manifests --config FILE" in record.__dict__["fields"]["hint"]
    else:
        assert not caplog.records


def test_odd_keys_of_a_configuration(tmp_path: Any) -> None:
    """What `manifests --config` registers is found."""
    file = tmp_path / "webhook.yaml"
    file.write_text(
        "apiServer: {serves: BuiltIn, namespaces: Watch}\n"
        "policies: {adminAccessLabels: {mode: Enforce, labels: [{key: team.example.com/admin}]}}\n",
        "utf-8",
    )
    objects = render(DIRECTORY / "overlays" / "built-in-guard")
    use_config(objects, str(file), is_elsewhere=True)
    (found,) = (obj for obj in objects if obj["metadata"]["name"] == "claimcheck-namespaces")
    assert unregistered(found, ["team.example.com/admin", DEFAULT[0]]) == []
