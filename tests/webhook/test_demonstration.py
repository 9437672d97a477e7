"""`claimcheck serve --demo`: a service to try, without a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from commandline.main import main
from tests.webhook.running import PATIENCE_SECONDS

EXAMPLES = Path(__file__).parents[2] / "manifests" / "examples" / "inventory"


def test_it_shows_an_answer_and_serves() -> None:
    """It prints the answer to an example and the address of the page, serves until it is told to end, and leaves nothing behind."""
    command = [str(Path(sys.executable).with_name("claimcheck")), "serve", "--demo", str(EXAMPLES)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        text = ""
        for line in process.stdout:
            text += line
            if "#token=" in line:
                break
        address, _, token = line.strip().partition("#token=")
        asked = Request(f"{address}api/v1/cluster", headers={"Authorization": f"Bearer {token}"})
        with urlopen(asked, timeout=PATIENCE_SECONDS) as response:
            assert json.load(response)["devices"] > 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
    answer = json.loads(text[text.index("\n{") : text.index("\n}\n") + 2])
    causes = answer["response"]["status"]["details"]["causes"]
    assert any(cause["field"].endswith("cel.expression") for cause in causes)
    review = Path(text[text.index("(") + 1 : text.index(")")])
    assert not review.exists()


@pytest.mark.usefixtures("interruptible")
def test_make_run_validates_serves_and_ends() -> None:
    """`make run` reports on the examples, shows an answer of the service and the address of the page, and ends without a trace when interrupted."""
    project = Path(__file__).parents[2]
    # what is set up already, whatever is newer than it
    ready = ["-o", ".venv/.ready", f"BIN={Path(sys.executable).parent}"]
    command = ["make", *ready, "run"]
    with subprocess.Popen(
        command,
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        text = ""
        for line in process.stdout:
            text += line
            if "#token=" in line:
                break
        os.killpg(process.pid, signal.SIGINT)
        text += process.stdout.read()
        process.wait(PATIENCE_SECONDS)
    assert "manifests/examples/bad/" in text
    assert '"allowed": false' in text
    assert "Traceback" not in text
    assert not Path(text[text.index("example review (") + 16 :].partition(")")[0]).exists()


def test_missing_inventory() -> None:
    """An inventory that is not there is said so, before anything is started."""
    assert main(["serve", "--demo", "nowhere"]) == 2


def test_check_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --check nothing is served: it is told whether the objects can be used, and where they cannot."""
    assert main(["serve", "--demo", str(EXAMPLES), "--check"]) == 0
    assert capsys.readouterr().out == f"--demo {EXAMPLES}: usable\n"
    (tmp_path / "class.yaml").write_text(
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\n"
        "spec:\n  selectors:\n  - cel:\n      expression: 5\n"
    )
    assert main(["serve", "--demo", str(tmp_path), "--check"]) == 2
    assert f"{tmp_path / 'class.yaml'}:7:19: json: cannot unmarshal number" in capsys.readouterr().err
