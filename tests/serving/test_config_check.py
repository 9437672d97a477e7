"""`--check`, and what a service makes of the same configuration when it starts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from cryptography import x509

import scheduler.application
import scheduler.config
import webhook.application
import webhook.config
from commandline.main import main
from serving.application import Application
from serving.certificates import LEAF, LEAF_KEY, Terms, advance
from serving.config_file import ConfigError

DAY = timedelta(days=1)
GIVEN = {"certificateFile": "tls.crt", "keyFile": "tls.key"}
# An API server is asked, and everything about it is left out.
CONFIGS = {
    "serve": {"tls": {"directory": "own"}, "apiServer": {"namespaces": "Watch"}},
    "schedule": {"tls": {"directory": "own"}},
}
COMMANDS = pytest.mark.parametrize("command", CONFIGS)


def write(tmp_path: Path, command: str, **changes: object) -> Path:
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(CONFIGS[command] | changes))
    return file


def application(command: str, file: Path) -> Application:
    if command == "serve":
        return webhook.application.Webhooks(webhook.config.load_config(str(file)))
    return scheduler.application.Scheduler(scheduler.config.load_config(str(file)))


@COMMANDS
def test_defaults_are_for_a_pod(tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A check does not look for them, and says so; a service that starts needs them."""
    file = write(tmp_path, command)
    assert main([command, "--config", str(file), "--check"]) == 0
    output = capsys.readouterr()
    assert output.out == f"{file}: usable\n"
    ca_file = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
    assert output.err == f"not checked: {ca_file}, the default of apiServer.caFile\n"
    with pytest.raises(ConfigError, match=r"apiServer\.caFile: cannot use \S+ \(the default\)"):
        application(command, file).prepare()


@COMMANDS
def test_files_that_are_named(tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They have to be there, for a check as well."""
    api_server = CONFIGS[command].get("apiServer", {})
    file = write(tmp_path, command, apiServer={**api_server, "caFile": "none.crt"})
    assert main([command, "--config", str(file), "--check"]) == 2
    assert "apiServer.caFile: cannot use " in capsys.readouterr().err


@COMMANDS
@pytest.mark.parametrize(
    ("left", "code", "said"),
    [
        (30 * DAY, 0, ""),
        (3 * DAY, 0, "tls.certificateFile: certificate expires soon: "),
        (-DAY, 2, "tls.certificateFile: certificate has expired: "),
    ],
)
def test_given_certificates_that_end(
    tmp_path: Path, command: str, left: timedelta, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A check tells of them, with the place of the setting."""
    terms = Terms(("localhost",), 300 * DAY, 90 * DAY, DAY)
    made = advance(None, terms, datetime.now(UTC) - 90 * DAY + left)
    for name in (LEAF, LEAF_KEY):
        (tmp_path / name).write_bytes(made[name])
    file = write(tmp_path, command, tls=GIVEN)
    assert main([command, "--config", str(file), "--check"]) == code
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("not checked")]
    assert len(lines) == bool(said)
    assert not said or (lines[0].startswith(f"{file}:") and said in lines[0])


@COMMANDS
def test_own_certificates_name_the_service(tmp_path: Path, command: str) -> None:
    """Whoever looks at one in a list of certificates knows whose it is."""
    keeper = application(command, write(tmp_path, command)).certificates(tmp_path)
    assert keeper is not None
    keeper.maintain(datetime.now(UTC))
    leaf = x509.load_pem_x509_certificate((tmp_path / "own" / "current" / LEAF).read_bytes())
    service = {"serve": "webhook", "schedule": "scheduler"}[command]
    assert leaf.subject.rfc4514_string() == f"CN=Claimcheck {service}"
    assert leaf.issuer.rfc4514_string().startswith(f"CN=Claimcheck {service} authority ")


@pytest.mark.parametrize("address", ["", "here"], ids=["none", "name"])
def test_a_service_leads_to_an_address(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without that of its pod, the sidecar does not start: its worker ended again and again. A check is made elsewhere."""
    monkeypatch.setenv("POD_IP", address)
    terms = Terms(("localhost",), 300 * DAY, 90 * DAY, DAY)
    (tmp_path / "ca.crt").write_bytes(advance(None, terms, datetime.now(UTC))[LEAF])
    service, server = {"service": "claimcheck-scheduler"}, {"caFile": "ca.crt"}
    file = write(tmp_path, "schedule", leaderElection=service, apiServer=server)
    assert main(["schedule", "--config", str(file), "--check"]) == 0
    message = "leaderElection.service: the variable POD_IP has to be an IP address of this replica"
    with pytest.raises(ConfigError, match=message):
        application("schedule", file).prepare()
