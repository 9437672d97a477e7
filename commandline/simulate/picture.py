"""The report of ``claimcheck simulate`` as a page: which pods are placed where, what keeps the others, and what is left of the devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TextIO
from xml.etree.ElementTree import Element

from commandline.explain.picture import failures, notes, remedies
from commandline.reports.markup import Content, items, node, said, section, table, write_page
from resourceapi.phrases import number, sentence, some

Json = dict[str, Any]
#: Devices and pods that are named in a sentence.
_MOST = 8


def write_html(stream: TextIO, document: Json) -> None:
    """Write a page.

    :param document: what ``-o json`` has.
    """
    first, *others = document["runs"]
    compared = table(
        ("Objective", "Placed", "Nodes used", "Not placed"),
        (
            (each["objective"], f"{each['placed']:,}", f"{each['nodesUsed']:,}", some(each["left"], _MOST))
            for each in document["runs"]
        ),
        figures=(1, 2),
    )
    write_page(
        stream,
        "Simulated",
        node(
            "h1",
            f"{first['placed']:,} of {number(document['pods'], 'pod')} would be placed",
            class_="sentence",
        ),
        compared,
        section("What keeps the others", *map(_unplaced, document.get("unplaced", ()))),
        section("What waits for something else", _pairs(document["waiting"], "missing")),
        section("What cannot be simulated", _pairs(document["problems"], "problem")),
        section("Classes that do not exist", items(map(said, document["unknownClasses"]))),
        section("New nodes that would help", *_new_nodes(document.get("newNodes"))),
        *(_run(run, named=bool(others)) for run in document["runs"]),
        section("What could not be read", failures(document)),
        *notes(document),
    )


def _pairs(found: Sequence[Json], key: str) -> Content:
    return items(said(f"{each['object']}: {each[key]}") for each in found)


def _unplaced(group: Json) -> Element:
    return node(
        "article",
        node("h3", said(sentence(group["reason"])), class_="cause"),
        node("p", said(some(group["pods"], _MOST)), class_="quiet"),
        items(said(sentence(each)) for each in group.get("causes", ())),
        remedies(group.get("remedies", ())),
        class_="card",
    )


def _new_nodes(found: Json | None) -> Iterator[Content]:
    if found is None:
        return
    rows = (
        (
            ", ".join(f"{count:,} \u00d7 {name}" for name, count in way["nodes"].items()),
            f"{way['total']:,}",
            some(way["left"], _MOST),
        )
        for way in found["ways"]
    )
    yield table(("Nodes", "Number", "Still not placed"), rows, figures=(1,)) or node(
        "p", "None of the templates helps."
    )
    if not found["complete"]:
        yield node("p", "There was no time to try all.", class_="box problem")


def _run(run: Json, *, named: bool) -> Element | None:
    rows = ((each["pod"], each["node"] or "", _got(each)) for each in run["placements"])
    title = f"Where they go: {run['objective']}" if named else "Where they go"
    return section(title, table(("Pod", "Node", "Devices"), rows), *_what_is_left(run["fragmentation"]))


def _got(placement: Json) -> str:
    devices = some([each["device"] for each in placement.get("devices", ())], _MOST)
    return "; ".join(filter(None, (devices, placement.get("error"), placement.get("reason"))))


def _what_is_left(found: Json | None) -> Iterator[Content]:
    """What is left of the devices once the pods are placed."""
    if found is None:
        yield node("p", "There was no time to find out what is left of the devices.", class_="box problem")
        return
    yield table(
        ("Driver", "Partition", "Still placeable", "If counters were in one set", "In an empty cluster"),
        (
            (
                each["driver"],
                each["partition"],
                f"{each['placeable']:,}",
                f"{each['sufficientFor']:,}",
                f"{each['whole']:,}",
            )
            for each in found["partitions"]
        ),
        "Partitions that are left",
        (2, 3, 4),
    )
    yield table(
        ("Driver", "With the same", "Groups", "Unused groups", "Free devices", "Most in one group"),
        (
            (
                each["driver"],
                each["attribute"] or "pool",
                f"{each['groups']:,}",
                f"{each['intact']:,}",
                f"{each['free']:,}",
                f"{each['largestRest']:,}",
            )
            for each in found["groups"]
        ),
        "Devices that are left",
        (2, 3, 4, 5),
    )
    yield table(
        ("Driver", "Capacity", "Free", "Of", "Most in one device"),
        (
            (
                each["driver"],
                each["capacity"],
                f"{each['free']:,g}",
                f"{each['total']:,g}",
                f"{each['largestRest']:,g}",
            )
            for each in found["shares"]
        ),
        "Capacity that is left of shared devices",
        (2, 3, 4),
    )
