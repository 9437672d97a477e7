"""The devices as a picture: a tile for nodes that are alike, a square for each of their devices. What a colour says, a shape says as well."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, TextIO
from xml.etree.ElementTree import Element

from allocator.devices import Device
from claimcheck.answers.devices.cluster_devices import MOST_LISTED, ClusterDevices
from commandline.devices import words
from commandline.devices.device_map import DeviceMap, Group
from commandline.reports.markup import (
    Content,
    items,
    node,
    said,
    section,
    table,
    visible,
    write_page,
    write_picture,
)
from commandline.reports.writing import failure_lines
from resourceapi.phrases import number

#: A square with what is between two, and a tile with what is between two, in pixels.
_STEP, _TILE, _BETWEEN = 19, 184, 8
#: The height of the lines above the squares, and of a line of the legend.
_LABEL, _LINE = 44, 24
_COLUMNS = 6
_IN_ROW = (_TILE - 16) // _STEP
#: How many characters of a name there is room for; all of it is told to whoever points at it.
_ROOM = 24
_STRANGE = "invalid pool"
_TITLE = "Devices"


@cache
def _looks() -> Any:
    """How the statuses look, as on the page of ``claimcheck ui``."""
    return json.loads((files("commandline.devices") / "looks.json").read_text("utf-8"))


def mark(status: str, *, tainted: bool, used: float | None = None, title: str = "", **place: str) -> Element:
    """A square that says the status of a device, and how full it is."""
    looks = _looks()
    look = looks["statuses"].get(status) or looks["statuses"][_STRANGE]
    level = round(16 * (0.5 if used is None else used), 1)
    return node(
        "svg",
        node("title", title) if title else None,
        node("rect", class_="ground", width="16", height="16", rx="2"),
        node("rect", class_="level", y=f"{16 - level:g}", width="16", height=f"{level:g}")
        if status == "shared"
        else None,
        node("path", class_="sign", d=look["sign"]) if "sign" in look else None,
        node("rect", class_="edge", x="1", y="1", width="14", height="14", rx="1.5"),
        node("path", class_="taint", d=looks["taint"]) if tainted else None,
        class_=f"mark {look['tone']}",
        viewBox="0 0 16 16",
        width="16",
        height="16",
        **place,
    )


def write_map(stream: TextIO, devices: ClusterDevices, chosen: Sequence[Device]) -> None:
    """Write the devices as a picture in SVG."""
    groups, elsewhere = DeviceMap(devices, chosen).tiles()
    legend = list(_legend([*groups, *elsewhere]))
    drawn: list[Element] = []
    for place, (square, meaning) in enumerate(legend):
        left, top = str(_BETWEEN + (place % 3) * 2 * (_TILE + _BETWEEN)), place // 3 * _LINE + _BETWEEN
        square.attrib |= {"x": left, "y": str(top)}
        drawn += [square, node("text", meaning, x=str(int(left) + 24), y=str(top + 13))]
    top = -(-len(legend) // 3) * _LINE + 2 * _BETWEEN
    tiles = [*((each, False) for each in groups), *((each, True) for each in elsewhere)]
    for first in range(0, len(tiles), _COLUMNS):
        row = tiles[first : first + _COLUMNS]
        lines = max(-(-len(group.devices) // _IN_ROW) for group, _ in row)
        for column, (group, is_elsewhere) in enumerate(row):
            drawn.append(_tile(group, _BETWEEN + column * (_TILE + _BETWEEN), top, lines, is_elsewhere))
        top += _LABEL + lines * _STEP + 2 * _BETWEEN
    width = _BETWEEN + min(max(len(tiles), 3), _COLUMNS) * (_TILE + _BETWEEN)
    ground = node("rect", class_="paper", width=str(width), height=str(top))
    write_picture(
        stream, _TITLE, max(width, 6 * (_TILE + _BETWEEN)) if len(legend) > 1 else width, top, ground, *drawn
    )


def _tile(group: Group, left: int, top: int, lines: int, is_elsewhere: bool) -> Element:
    name, about = _about(group, is_elsewhere)
    squares = [
        mark(
            each.status,
            tainted=each.tainted,
            title=each.words,
            x=str(8 + place % _IN_ROW * _STEP),
            y=str(_LABEL + place // _IN_ROW * _STEP),
        )
        for place, each in enumerate(group.devices)
    ]
    return node(
        "g",
        node("title", f"{name}: {about}"),
        node("rect", class_="frame", width=str(_TILE), height=str(_LABEL + lines * _STEP + _BETWEEN), rx="6"),
        node("text", _cut(name), class_="name", x="8", y="18"),
        node("text", _cut(about, _ROOM + 4), class_="about-it", x="8", y="35"),
        squares,
        transform=f"translate({left} {top})",
    )


def _cut(text: str, room: int = _ROOM) -> str:
    """As much of a text as there is room for: the end, which tells names apart."""
    shown = visible(text)
    return shown if len(shown) <= room else f"…{shown[1 - room :]}"


def _about(group: Group, is_elsewhere: bool) -> tuple[str, str]:
    """What a tile is about, and what is to be said of it."""
    free = sum(each.status == "free" for each in group.devices)
    others = f", {number(group.size, 'pool' if is_elsewhere else 'node')} alike" if group.size > 1 else ""
    closed = f", closed: {group.closed}" if group.closed else ""
    return group.names[0], f"{free} of {len(group.devices)} free{others}{closed}"


def _legend(groups: Iterable[Group]) -> Iterator[tuple[Element, str]]:
    """Each status that there is, with the number of devices."""
    counts: Counter[str] = Counter()
    tainted = 0
    for group in groups:
        for each in group.devices:
            counts[each.status] += group.size
            tainted += group.size * each.tainted
    for status in sorted(counts, key=[*_looks()["statuses"], *sorted(counts)].index):
        meaning = _looks()["statuses"].get(status, {}).get("meaning", status)
        yield mark(status, tainted=False), f"{meaning} {counts[status]:,}"
    if tainted:
        yield mark("free", tainted=True), f"tainted {tainted:,}"


def write_html(stream: TextIO, devices: ClusterDevices, chosen: Sequence[Device]) -> None:
    """Write the devices as a page: as a map, and as a table."""
    groups, elsewhere = DeviceMap(devices, chosen).tiles()
    legend = [(square, " ", meaning) for square, meaning in _legend([*groups, *elsewhere])]
    tiles = [*((each, False) for each in groups), *((each, True) for each in elsewhere)]
    boxes = [_box(group, is_elsewhere) for group, is_elsewhere in tiles]
    write_page(
        stream,
        _TITLE,
        node("h1", number(len(chosen), "device")),
        items(legend, class_="legend plain"),
        items(boxes, class_="map plain"),
        section("What could not be read", items(map(said, failure_lines(devices.state.failures)))),
        section("All of them", table(_COLUMN_NAMES, (_row(devices, device) for device in chosen))),
    )


_COLUMN_NAMES = ("Device", "Node", "Status", "Held by", "Taints", "Attributes", "Capacity")


def _row(devices: ClusterDevices, device: Device) -> Sequence[Content]:
    """What a table says of a device."""
    status, uses, left = devices.status(device), devices.uses(device), devices.capacity_left(device)
    state = words.node_state(devices, device)
    capacity = [
        f"{name} {f'{left[name]} of ' if name in left else ''}{words.amount(value or {})}"
        for name, value in sorted(device.capacity.items())
    ]
    return (
        str(device.id),
        words.place(device),
        node(
            "span",
            mark(status, tainted=devices.is_tainted(device)),
            " ",
            ", ".join(filter(None, (status, state))),
        ),
        _listed([*words.users(uses), *words.pods(uses)]),
        _listed(f"{taint.key}:{taint.effect}" for taint in device.taints),
        _listed(f"{name} {words.value(value or {})}" for name, value in sorted(device.attributes.items())),
        _listed(capacity),
    )


def _listed(texts: Iterable[str]) -> Content:
    """Each text on a line of its own; as many as are listed elsewhere."""
    found = list(texts)
    more = len(found) - MOST_LISTED
    lines: list[Content] = [node("p", said(each)) for each in found[:MOST_LISTED]]
    return node("div", lines, node("p", f"and {number(more, 'other')}") if more > 0 else None)


def _box(group: Group, is_elsewhere: bool) -> Content:
    name, about = _about(group, is_elsewhere)
    squares = [mark(each.status, tainted=each.tainted, title=each.words) for each in group.devices]
    return node(
        "div",
        node("span", said(name), class_="name"),
        node("span", said(about), class_="quiet small"),
        node("span", squares, class_="squares"),
        class_="tile",
    )
