"""kubectl and `curl` get the recorded answers of `tests/commandline/validate/key_order.json` from a real server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.e2e.control_plane import ApiServer
from tests.e2e.kubectl import Kubectl

RECORDED = json.loads(
    (Path(__file__).parent.parent / "commandline/validate/key_order.json").read_text(encoding="utf-8")
)
URL = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"


def test_recorded_answers(api_server: Callable[[str], ApiServer], tmp_path: Path) -> None:
    """Every client gets the answer that is recorded for it, `curl` the one of kubectl if it sends YAML."""
    server = api_server("1.37")
    kubectl, file = Kubectl(server, tmp_path / "cache"), tmp_path / "claim.json"
    query = {"fieldValidation": "Strict", "dryRun": "All"}
    for case in RECORDED:
        file.write_text(case["body"], encoding="utf-8")
        for verb in ("create", "apply"):
            output = kubectl(verb, "--dry-run=server", "-f", str(file))
            assert output.errors.partition(f'"{file}": ')[2].strip() == case["kubectl"], (case["note"], verb)
        sent = server.client.ask("POST", URL, case["body"], query)
        assert sent.body.get("message", "") == case["as sent"], case["note"]
    as_yaml = server.client.ask("POST", URL, RECORDED[0]["body"], query, "application/yaml")
    assert as_yaml.body["message"] == RECORDED[0]["kubectl"]
