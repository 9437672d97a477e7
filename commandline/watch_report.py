"""The report of ``claimcheck watch``: what ``claimcheck doctor`` says of the cluster, written once for all who ask."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from io import StringIO
from time import time

from claimcheck.answers.doctor.examination import Examination
from commandline.doctor_page import write_html
from commandline.doctor_report import document
from serving.bodies import JSON
from serving.documents import Document
from serving.routes import HTTPError, json_bytes

#: As long as nothing is known, and where the report would have more bytes.
_NOT_YET, _NOT_FOUND, _TOO_LARGE = (
    "the cluster has not been examined yet",
    "there is nothing here but /report and /report.html",
    "the report is too large: ask claimcheck doctor -n NAMESPACE",
)
MOST_BYTES = 16 * 1024 * 1024
_PATH, _HTML_PATH = "/report", "/report.html"


class Report:
    """What was found last; may be read by any thread."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._written: Mapping[str, Document] | None = None

    def publish(self, found: Examination) -> None:
        """Write what has been found."""
        now, answer, page = time(), document(found), StringIO()
        write_html(page, answer, f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d %H:%M:%S} UTC")
        text = json.dumps(answer, ensure_ascii=False)
        self._written = {
            _PATH: Document(f"{JSON}; charset=utf-8", json_bytes(text), now),
            _HTML_PATH: Document("text/html; charset=utf-8", page.getvalue().encode(), now),
        }

    def find(self, path: str, for_browser: bool) -> Document:
        """The report at a path.

        :raises HTTPError: if there is none.
        """
        written = self._written
        if path not in (_PATH, _HTML_PATH):
            raise HTTPError(_NOT_FOUND, 404)
        if written is None:
            raise HTTPError(_NOT_YET, 503)
        found = written[_HTML_PATH if for_browser else path]
        if len(found.content) > MOST_BYTES:
            raise HTTPError(_TOO_LARGE, 500)
        return found
