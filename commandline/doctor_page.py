"""The answer of ``claimcheck doctor`` as a page: a card for each cause, worst first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TextIO
from xml.etree.ElementTree import Element

from commandline.reports.markup import Content, code, items, node, said, section, write_page
from resourceapi.phrases import number, sentence

Json = dict[str, Any]
#: So many objects of a finding are named, and so many findings are shown.
MOST_OBJECTS, MOST_FINDINGS = 10, 1_000


def write_html(stream: TextIO, document: Json, when: str = "") -> None:
    """Write a page.

    :param document: what ``-o json`` has.
    :param when: the cluster was like that, for those who may read it later.
    """
    findings = document["findings"]
    more = len(findings) - MOST_FINDINGS
    write_page(
        stream,
        "Examined",
        node(
            "h1",
            number(len(findings), "finding") if findings else "Nothing wrong was found",
            class_="sentence",
        ),
        node("p", f"As it was at {when}.", class_="quiet") if when else None,
        *map(card, findings[:MOST_FINDINGS]),
        node("p", f"{number(more, 'other finding')}: see -o json.", class_="quiet") if more > 0 else None,
        section(
            "What could not be read",
            items(said(f"{each['file']}: {each['message']}") for each in document["failures"]),
        ),
        section("What was not looked at", items(map(said, (*document["unfinished"], *document["unread"])))),
    )


def card(finding: Json) -> Element:
    """A finding."""
    return node("article", _parts(finding), class_="card")


def _parts(finding: Json) -> Iterator[Content]:
    tag = node("span", finding["severity"], class_=f"tag {finding['severity']}")
    yield node("p", tag, f" {finding['code']}", class_="over")
    yield node("h3", said(sentence(finding["cause"])), class_="cause")
    objects = [_named(each) for each in finding["objects"]]
    yield items(map(said, objects[:MOST_OBJECTS]))
    if len(objects) > MOST_OBJECTS:
        yield node("p", f"and {number(len(objects) - MOST_OBJECTS, 'other')}", class_="quiet")
    if finding["devices"]:
        yield node("p", f"Nobody else can have {number(finding['devices'], 'device')}.")
    if finding["remedy"]:
        yield node("p", said(sentence(finding["remedy"])), class_="remedy")
    yield node("pre", code(finding["command"] or f"claimcheck lint {finding['code']}"))


def _named(found: Json) -> str:
    return f"{found['kind']} {'/'.join(found[key] for key in ('namespace', 'name') if found.get(key))}"
