"""The report of `claimcheck watch`: what `claimcheck doctor` says, written once."""

from __future__ import annotations

import json
from io import StringIO

import pytest

from commandline import watch_report
from commandline.doctor_page import write_html
from commandline.doctor_report import document
from commandline.main import main
from commandline.watch_report import Report
from serving.routes import HTTPError
from tests.claimcheck.doctor.test_checks import CASES, cluster, examination

_CASE = next(each for each in CASES if each["finds"])
_FOUND = examination(cluster(_CASE), _CASE)


def test_it_is_what_doctor_says() -> None:
    report = Report()
    report.publish(_FOUND)
    found = report.find("/report", False)
    assert json.loads(found.content) == document(_FOUND)
    page = StringIO()
    write_html(page, document(_FOUND))
    shown = report.find("/report.html", False)
    when, told = shown.content.decode().split("As it was at ")[1].split(".</p>", 1)
    assert when.endswith(" UTC")
    assert told in page.getvalue()
    assert report.find("/report", True) == shown
    assert shown.content_type.startswith("text/html")


def test_it_is_written_once() -> None:
    report = Report()
    report.publish(_FOUND)
    assert report.find("/report", False).content is report.find("/report", False).content


@pytest.mark.parametrize(("path", "code"), [("/report", 503), ("/report.html", 503), ("/metrics", 404)])
def test_there_is_none_before_the_first_look(path: str, code: int) -> None:
    with pytest.raises(HTTPError) as caught:
        Report().find(path, False)
    assert caught.value.code == code


def test_one_that_is_too_large_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report()
    report.publish(_FOUND)
    size = len(report.find("/report", False).content)
    monkeypatch.setattr(watch_report, "MOST_BYTES", size)
    assert report.find("/report", False)
    monkeypatch.setattr(watch_report, "MOST_BYTES", size - 1)
    with pytest.raises(HTTPError, match="too large"):
        report.find("/report", False)


def test_the_port_has_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "--report-port", "65536"]) == 2
    assert "--report-port 65536" in capsys.readouterr().err
