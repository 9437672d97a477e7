"""The answer of ``claimcheck impact`` as a page: what gets worse comes first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from commandline.doctor_page import card
from commandline.reports.markup import Content, items, node, said, section, table, write_page
from resourceapi.phrases import number, sentence

Json = dict[str, Any]
#: So many rows of a part are shown.
MOST_ROWS = 1_000


def write_html(
    stream: TextIO, document: Json, summary: str, rollouts: Iterable[str], devices: Iterable[str]
) -> None:
    """Write a page.

    :param document: what ``-o json`` has.
    :param summary: how many things get worse and better.
    :param rollouts: those that the change begins, as lines.
    :param devices: the devices that change, as lines.
    """
    write_page(
        stream,
        "What the change does",
        node("h1", said(sentence(summary)), class_="sentence"),
        *_listed("Rollouts", list(rollouts)),
        *_worse(document),
        *_listed("Devices that change", [line.strip() for line in devices if line.strip()]),
        *_table(
            "Devices chosen",
            ("Class", "Now", "Then"),
            [(each["name"], f"{each['before']:,}", f"{each['after']:,}") for each in document["classes"]],
        ),
        *_listed("Start", [f"{each['pod']} on {each['node']}" for each in document["starting"]]),
        section("New findings", *map(card, document["found"][:MOST_ROWS])),
        section("No longer wrong", *map(card, document["solved"][:MOST_ROWS])),
        *(node("p", said(each), class_="quiet small") for each in (*document["notes"], *document["unknown"])),
    )


def _worse(document: Json) -> Iterator[Content]:
    yield from _table(
        "Leave their nodes",
        ("Pod", "Node", "When", "Why", "Then"),
        [
            (
                each["pod"],
                each["node"],
                each["when"],
                each["why"],
                "a new one takes its place" if each["returns"] else "nothing starts it again",
            )
            for each in document["leaving"]
        ],
    )
    pending = [
        f"{', '.join(each['pods'][:10])}{', …' if len(each['pods']) > 10 else ''}: {'; '.join(each.get('causes') or [each['reason']])}"
        for each in document["pending"]
    ]
    yield from _listed("Stay pending", pending)
    yield from _listed(
        "Wait for what is not there", [f"{each['pod']}: {each['reason']}" for each in document["waiting"]]
    )
    yield from _table(
        "Quotas exceeded",
        ("ResourceQuota", "What", "Used", "Allowed"),
        [
            (each["quota"], each["resource"], str(each["used"]), str(each["hard"]))
            for each in document["exceeded"]
        ],
    )
    lost = [
        f"claim {each['claim']}: {'/'.join(each['device'].values())}: {each['reason']}"
        for each in document["lost"]
    ]
    yield from _listed("Keep their devices, but would not get them again", lost)


def _table(title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[Content]:
    yield section(title, table(columns, rows[:MOST_ROWS]), _others(len(rows)))


def _listed(title: str, rows: list[str]) -> Iterator[Content]:
    yield section(title, items(map(said, rows[:MOST_ROWS])), _others(len(rows)))


def _others(rows: int) -> Content:
    more = rows - MOST_ROWS
    return node("p", f"and {number(more, 'other')}: see -o json", class_="quiet") if more > 0 else None
