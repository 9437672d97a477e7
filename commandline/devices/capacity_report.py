"""How much of the devices is free, for people, for programs and for spreadsheets."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Sequence
from io import StringIO
from typing import Any

from claimcheck.answers.devices.capacity import SIZES, Capacity, Stock
from claimcheck.answers.room import Room
from commandline.reports.escaping import on_one_line, without_commands
from commandline.reports.writing import table
from commandline.simulate.json_report import fragmentation_document
from resourceapi.phrases import number

Json = dict[str, Any]
#: A spreadsheet takes what begins so for a formula.
_FORMULA = frozenset("=+-@\t\r")


def document(capacity: Capacity) -> Json:
    """The counts as plain data."""
    left = capacity.left
    return {
        "models": [_stock(each) for each in capacity.models],
        "classes": [_stock(each) for each in capacity.classes],
        "unfinished": list(capacity.late),
        "fragmentation": None if left is None else fragmentation_document(left),
    }


def _stock(stock: Stock) -> Json:
    who = (
        {"deviceClass": stock.device_class}
        if stock.device_class
        else {"driver": stock.driver, "model": stock.model}
    )
    return {
        **who,
        "devices": stock.devices,
        "held": stock.held,
        "free": stock.free,
        "wholeNodes": stock.whole_nodes,
        "onWholeNodes": stock.on_whole_nodes,
        "near": [
            {"by": name, "sets": [{"size": size, "count": count} for size, count in sets.items()]}
            for name, sets in stock.near.items()
        ],
        "stranded": [{"reason": reason, "devices": count} for reason, count in stock.stranded.items()],
    }


def room_document(found: Sequence[Room]) -> Json:
    """How many more fit, as plain data: `order` has the places of nodes among `nodes`."""
    objectives = []
    for each in found:
        nodes = {name: place for place, name in enumerate(dict.fromkeys(each.order))}
        objectives.append(
            {
                "objective": each.objective,
                "copies": len(each.order),
                "isAll": each.is_all,
                "reason": each.reason,
                "nodes": list(nodes),
                "order": [nodes[name] for name in each.order],
            }
        )
    return {"objectives": objectives}


def lines(capacity: Capacity) -> Iterator[str]:
    """Two tables: models, and classes."""
    for title, stocks in (("driver", capacity.models), ("class", capacity.classes)):
        if stocks:
            near = _near(stocks)
            head = (
                title,
                "model",
                "devices",
                "held",
                "free",
                "whole nodes",
                *_near_names(near),
                "stranded",
            )
            rows = [(*_names(each), *_counts(each, near), _stranded(each)) for each in stocks]
            yield from table([head, *rows], left=(0, 1, len(head) - 1))
            yield ""
    if capacity.late:
        yield f"no time to look at {number(len(capacity.late), 'class')} (--timeout): {', '.join(capacity.late)}"
    yield "Free: what requests without tolerations get now. Stranded: held by nobody, and they do not get it."


def _names(stock: Stock) -> tuple[str, str]:
    return stock.device_class or stock.driver, stock.model


def _near(stocks: Sequence[Stock]) -> Collection[str]:
    """What any of their devices are near each other by."""
    return dict.fromkeys(name for each in stocks for name in each.near)


def _near_names(near: Collection[str]) -> list[str]:
    return [f"{size} on a {name.rpartition('/')[2]}" for name in near for size in SIZES]


def _counts(stock: Stock, near: Collection[str]) -> Iterator[str]:
    yield from (f"{each:,}" for each in (stock.devices, stock.held, stock.free, stock.whole_nodes))
    for name in near:
        for size in SIZES:
            yield f"{stock.near.get(name, {}).get(size, 0):,}"


def _stranded(stock: Stock) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in stock.stranded.items())


def as_csv(capacity: Capacity) -> str:
    """A row for each model and class."""
    stocks = [*capacity.models, *capacity.classes]
    written = StringIO()
    writer = csv.writer(written, lineterminator="\r\n")
    near = _near(stocks)
    head = ("class", "driver", "model", "devices", "held", "free", "whole nodes", *_near_names(near))
    writer.writerow(map(_cell, (*head, "stranded", "why")))
    for each in stocks:
        names = (each.device_class, each.driver, each.model)
        counts = [count.replace(",", "") for count in _counts(each, near)]
        writer.writerow([*map(_cell, names), *counts, sum(each.stranded.values()), _cell(_stranded(each))])
    return without_commands(written.getvalue())


def _cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula, and no terminal for what controls it."""
    shown = on_one_line(text)
    return f"'{shown}" if shown[:1] in _FORMULA else shown
