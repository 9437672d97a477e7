"""The answer of ``claimcheck explain`` as a page: for each workload the sentence first, then what would help, then what each rule leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TextIO
from xml.etree.ElementTree import Element

from commandline.reports.markup import Content, code, items, node, said, section, table, write_page
from resourceapi.phrases import number, sentence

Json = dict[str, Any]
_WHO = {
    "user": "the pod\u2019s owner",
    "holder": "who holds the devices",
    "administrator": "a cluster administrator",
}
_BAR = 120


def write_html(stream: TextIO, document: Json) -> None:
    """Write a page.

    :param document: what ``-o json`` has.
    """
    objects = document["objects"]
    several = [number(len(objects), "object")] if len(objects) != 1 else []
    write_page(
        stream,
        "Explained",
        *(node("h1", each) for each in several),
        *(node("article", _explained(each, "h2" if several else "h1")) for each in objects),
        section("What could not be read", failures(document)),
        *notes(document),
    )


def notes(document: Json) -> Iterator[Element]:
    """What has been checked, and what has not."""
    return (node("p", said(each), class_="quiet small") for each in document["notes"])


def failures(document: Json) -> Content:
    """What could not be read."""
    return items(said(f"{each['file']}: {each['message']}") for each in document["failures"])


def _explained(explained: Json, heading: str) -> Iterator[Content]:
    name = f"{explained['kind']} {explained['namespace']}/{explained['name']}"
    yield node("p", said(name), class_="over")
    yield node(heading, said(sentence(explained["said"])), class_="sentence")
    if explained.get("problem", "") not in explained["said"]:
        yield node("p", said(sentence(explained["problem"])))
    yield section(
        "What else is wrong",
        items(said(sentence(each)) for each in explained.get("findings", ())),
        level="h3",
    )
    yield section("What would help", remedies(explained.get("remedies", ())), level="h3")
    kinds = [_kind(each) for each in explained.get("nodeKinds", ())]
    yield section("What each rule leaves", *kinds, level="h3")
    yield section("Who holds them", items(map(said, explained.get("holders", ()))), level="h3")
    yield section(
        "Nodes that are not asked for devices", items(_refused(explained.get("nodes") or {})), level="h3"
    )
    if words := explained.get("kubeSchedulerWouldSay"):
        yield section("kube-scheduler says", node("blockquote", said(words)), level="h3")


def _refused(nodes: Json) -> Iterator[Content]:
    told = {each["node"] for each in nodes.get("rejected", ())}
    for each in nodes.get("excluded", ()):
        if each["node"] not in told:
            yield said(f"{each['node']}: {each['reason']}")
    for each in nodes.get("rejected", ()):
        yield said(f"{each['node']}: {'; '.join(why['detail'] or why['reason'] for why in each['reasons'])}")


def remedies(found: Iterable[Json]) -> Content:
    """The changes that would help, as cards."""
    cards = [_remedy(each) for each in found]
    return node("div", cards, class_="cards") if cards else None


def _remedy(remedy: Json) -> Element:
    value = remedy.get("value")
    who = f"Can be done by {_WHO[remedy['who']]}. " if remedy["who"] in _WHO else ""
    return node(
        "div",
        node("p", "It would fit ", said(remedy["text"]), ".", class_="cause"),
        node("p", node("span", code(value), class_="copy")) if isinstance(value, str) else None,
        node("p", who, "Helps on ", said(_named(remedy)), ".", class_="quiet small"),
        class_="card",
    )


def _named(found: Json, most: int = 3) -> str:
    """The names of nodes: ``n1, n2 and 94 others``."""
    more = found["nodes"] - most
    return ", ".join(found["names"][:most]) + (f" and {number(more, 'other')}" if more > 0 else "")


def _kind(kind: Json) -> Element:
    return node(
        "div",
        node("p", "On ", said(_named(kind)), class_="quiet"),
        *(node("p", said(kind[key]), class_="box problem") for key in ("error", "lacks") if key in kind),
        *map(_request, kind["requests"]),
        class_="funnels",
    )


def _request(request: Json) -> Element | None:
    steps = request["steps"]
    there = steps[0]["left"] + sum(each["devices"] for each in steps[0]["lost"]) if steps else 0
    needed = "all" if request["allocationMode"] == "All" else f"{request['needed']:,}"
    asked = f"Request {request['request']} of claim {request['claim']}, class {request['deviceClass']}"
    return table(
        ("Rule", "Left", "What falls away, and why"),
        ((step["title"], _bar(step["left"], there), _lost(step)) for step in steps),
        node("span", said(asked), f": needs {needed}, finds {request['available']:,}"),
    )


def _bar(left: int, there: int) -> Element:
    """How many are left, of all that are there."""
    width = str(round(_BAR * left / there)) if there else "0"
    drawn = node(
        "svg",
        node("rect", class_="level", width=width, height="10"),
        class_="bar",
        width=str(_BAR),
        height="10",
    )
    return node("span", drawn, f" {left:,}")


def _lost(step: Json) -> Element:
    lost = [
        node("p", node("span", f"\u2212{each['devices']:,}", class_="lost"), " ", said(each["text"]))
        for each in step["lost"]
    ]
    return node("div", lost)
