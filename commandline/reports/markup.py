"""Pages and pictures that a browser shows without a server: trees of elements, in which strangers' texts are nothing but text.

Nothing is put together from strings. A character that is invisible, or changes the direction of others, is written out, and
what XML cannot hold with it. A page asks for nothing, runs nothing, and leads nowhere.
"""

from __future__ import annotations

import unicodedata
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Literal, TextIO
from xml.etree.ElementTree import Element, tostring

from commandline.distribution import version

#: What comes after so many characters of a text is left out, which is said.
MOST_SHOWN = 1_000
#: On a narrow screen, the cells of a row with more columns stand below each other.
_MOST_BESIDE = 4
_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters that look like nothing
_SVG = "http://www.w3.org/2000/svg"

Content = Element | str | None


def visible(text: str) -> str:
    """The text with each invisible character as ``<U+202E>`` in angle quotes; what is long is cut."""
    more = len(text) - MOST_SHOWN
    text = text[:MOST_SHOWN]
    if not (text.isascii() and text.isprintable()):
        text = "".join(f"\u2039U+{ord(each):04X}\u203a" if _is_invisible(each) else each for each in text)
    return f"{text}… ({more:,} more characters)" if more > 0 else text


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) in _INVISIBLE or character in _BLANK


def node(tag: str, *children: Content | Iterable[Content], **attributes: str) -> Element:
    """An element; what is None is left out.

    :param attributes: ``class_`` stands for ``class``, and other lines for dashes: ``aria_hidden``.
    """
    names = {key: key.rstrip("_").replace("_", "-") for key in attributes}
    made = Element(tag, {names[key]: visible(value) for key, value in attributes.items()})
    for child in children:
        for each in (child,) if child is None or isinstance(child, (str, Element)) else child:
            if isinstance(each, str):
                _add_text(made, visible(each))
            elif each is not None:
                made.append(each)
    return made


def _add_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def said(text: str) -> Element:
    """A stranger's text, whose direction is its own."""
    return node("bdi", text)


def code(text: str) -> Element:
    """Several lines of code."""
    lines = text.split("\n")[:MOST_SHOWN]
    return node("code", [part for line in lines for part in (said(line), node("br"))][:-1])


def items(texts: Iterable[Content | Sequence[Content]], tag: str = "ul", **attributes: str) -> Element | None:
    """A list with an item for each; None without any."""
    found = [
        node("li", *([each] if each is None or isinstance(each, (str, Element)) else each)) for each in texts
    ]
    return node(tag, found, **attributes) if found else None


def section(title: str, *content: Content, level: str = "h2") -> Element | None:
    """A section with a heading; None where there is nothing to say."""
    return (
        node("section", node(level, title), *content) if any(each is not None for each in content) else None
    )


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Content]],
    caption: Content = None,
    figures: Iterable[int] = (),
) -> Element | None:
    """A table, in which the first cell of a row names it; None without rows.

    :param figures: the columns that have numbers.
    """
    aligned = frozenset(figures)
    stacked = columns if len(columns) > _MOST_BESIDE else ()
    found = [_row(cells, aligned, stacked) for cells in rows]
    if not found:
        return None
    head = [
        node("th", name, scope="col", **({"class_": "figure"} if place in aligned else {}))
        for place, name in enumerate(columns)
    ]
    told = node("caption", caption) if caption is not None else None
    # Where rows are stacked, a browser no longer takes them for a table by itself.
    roles = {"role": "table"} if stacked else {}
    kind = "rows stacked" if stacked else "rows"
    return node("table", told, node("thead", node("tr", head)), node("tbody", found), class_=kind, **roles)


def _row(cells: Sequence[Content], figures: frozenset[int], stacked: Sequence[str]) -> Element:
    made = []
    for place, cell in enumerate(cells):
        shown = said(cell) if isinstance(cell, str) else cell
        settings = {"class_": "figure"} if place in figures else {}
        if not place:
            made.append(
                node("th", shown, scope="row", **settings, **({"role": "rowheader"} if stacked else {}))
            )
        elif not stacked:
            made.append(node("td", shown, **settings))
        elif cell == "" or (isinstance(cell, Element) and not len(cell)):
            made.append(node("td", class_="nothing", role="cell"))
        else:
            label = node("span", f"{stacked[place]}: ", class_="label")
            made.append(node("td", label, shown, role="cell", **settings))
    return node("tr", made, **({"role": "row"} if stacked else {}))


def write_page(stream: TextIO, title: str, *content: Content) -> None:
    """Write a page of HTML that needs no other file."""
    style = _style()
    allowed = b64encode(sha256((style.text or "").encode()).digest()).decode()
    head = node(
        "head",
        node("meta", charset="utf-8"),
        Element(
            "meta",
            {
                "http-equiv": "Content-Security-Policy",
                "content": f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'",
            },
        ),
        node("meta", name="viewport", content="width=device-width, initial-scale=1"),
        node("meta", name="referrer", content="no-referrer"),
        node("title", f"{visible(title)} \u2013 Claimcheck"),
        style,
    )
    made_by = node("p", f"Made by claimcheck {version()}.", class_="quiet small")
    page = node("html", head, node("body", node("main", *content, made_by)), lang="en")
    stream.write("<!doctype html>\n" + _written(page, "html") + "\n")


def write_picture(stream: TextIO, title: str, width: int, height: int, *content: Content) -> None:
    """Write a picture in SVG that needs no other file."""
    picture = node("svg", node("title", title), _style(), *content, role="img")
    picture.attrib |= {
        "xmlns": _SVG,
        "width": str(width),
        "height": str(height),
        "viewBox": f"0 0 {width} {height}",
    }
    stream.write(_written(picture, "xml") + "\n")


def _style() -> Element:
    """The styles of the page of ``claimcheck ui``."""
    made = Element("style")
    made.text = (files("commandline.page") / "static" / "page.css").read_text("utf-8").strip()
    return made


def _written(root: Element, method: Literal["html", "xml"]) -> str:
    """All but ASCII is written by number, whatever the encoding of the stream; in a log, nothing of it is a command."""
    text = tostring(root, "unicode", method=method).encode("ascii", "xmlcharrefreplace").decode("ascii")
    return text.replace("##[", "#&#35;[")
