"""`-o html` and `-o svg`: one file that needs no other, in which strangers' texts are nothing but text."""

from __future__ import annotations

import re
import unicodedata
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

import pytest
import yaml

from commandline.reports.markup import MOST_SHOWN, node, visible
from tests.commandline import snapshot_files
from tests.commandline.pictures.hostile_files import COMMANDS, write_files, written

FILES = (*COMMANDS, "validate.html")
TAGS = frozenset(
    [
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "h2",
        "h3",
        "p",
        "span",
        "div",
        "bdi",
        "br",
        "code",
        "pre",
        "section",
        "article",
        "ul",
        "li",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "blockquote",
        "svg",
        "g",
        "rect",
        "path",
        "text",
    ]
)
ATTRIBUTES = frozenset(
    [
        "charset",
        "name",
        "content",
        "http-equiv",
        "lang",
        "class",
        "scope",
        "role",
        "x",
        "y",
        "d",
        "rx",
        "width",
        "height",
        "viewBox",
        "viewbox",
        "transform",
        "xmlns",
    ]
)


class _Page(HTMLParser):
    """What a browser makes of a page: its elements and their attributes, and its texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: dict[str, set[str]] = {}
        self.texts: list[str] = []
        self.in_style = False
        self.style = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.in_style = tag == "style"
        for name, value in attrs:
            self.attributes.setdefault(name, set()).add(value or "")

    def handle_endtag(self, tag: str) -> None:
        self.in_style = False

    def handle_data(self, data: str) -> None:
        if self.in_style:
            self.style += data
        else:
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The files of a hostile cluster."""
    found = write_files(tmp_path_factory.mktemp("hostile"))
    return {path.name: path.read_text(encoding="utf-8") for path in found}


@pytest.mark.parametrize("name", FILES)
def test_hostile_texts_are_text(name: str, hostile: dict[str, str]) -> None:
    """No element, attribute, address, comment or invisible character comes from the cluster, and no line is a command of a log."""
    text = hostile[name]
    assert "owned" in text
    if name.endswith(".svg"):
        tags, attributes, texts, _ = _of_picture(fromstring(text))
    else:
        page = _Page(text)
        tags, attributes, texts = page.tags, set(page.attributes), page.texts
    assert tags <= TAGS
    assert attributes <= ATTRIBUTES
    odd = {each for said in texts for each in said.replace("\n", "") if unicodedata.category(each)[0] == "C"}
    assert odd == set()
    assert text.isascii()
    assert "##[" not in text
    assert not re.search(r"^\s*::", text, re.MULTILINE)
    assert "x" * (MOST_SHOWN + 1) not in text


def _of_picture(root: Element) -> tuple[set[str], set[str], list[str], str]:
    tags, attributes, texts, style = set(), set(), [], ""
    for each in root.iter():
        tags.add(each.tag.rpartition("}")[2])
        attributes |= set(each.attrib)
        if each.tag.endswith("style"):
            style = each.text or ""
        else:
            texts.append(each.text or "")
    return tags, attributes, texts, style


@pytest.mark.parametrize("name", [each for each in FILES if each.endswith(".html")])
def test_page_may_do_nothing(name: str, hostile: dict[str, str]) -> None:
    """It says itself that it asks for nothing, runs nothing, and has no styles but its own, which name no address."""
    page = _Page(hostile[name])
    own = b64encode(sha256(page.style.encode()).digest()).decode()
    assert (
        f"default-src 'none'; style-src 'sha256-{own}'; base-uri 'none'; form-action 'none'"
        in page.attributes["content"]
    )
    assert "url(" not in page.style
    assert "@import" not in page.style


def test_what_is_invisible_is_written_out() -> None:
    """As on the page of `claimcheck ui`; what is long is cut, and it is said how much."""
    cases = {
        "plain \u00e4 \u20ac \U0001f600": "plain \u00e4 \u20ac \U0001f600",
        "\u202egnp": "\u2039U+202E\u203agnp",
        "a\0b\x1b[31m": "a\u2039U+0000\u203ab\u2039U+001B\u203a[31m",
        "\ud800\u3164": "\u2039U+D800\u203a\u2039U+3164\u203a",
        "x" * 1_002: "x" * 1_000 + "\u2026 (2 more characters)",
    }
    assert {given: visible(given) for given in cases} == cases
    element = node("p", "a", node("b", "c"), "d", None, ["e"], class_="f", aria_hidden="true")
    assert (element.text, element[0].tail, element.attrib) == (
        "a",
        "de",
        {"class": "f", "aria-hidden": "true"},
    )


LISTING = str(snapshot_files.DIRECTORY / "devices" / "listing" / "cluster.yaml")


def _words(text: str) -> str:
    return " ".join(" ".join(_Page(text).texts).split())


def test_devices_are_a_map_and_a_table() -> None:
    """Each node is a tile with a square for each device; the table says who holds them."""
    said = _words(written("devices", "--inventory", LISTING, "-o", "html"))
    for part in (
        "9 devices",
        "counters used up 1",
        "n1 2 of 3 free",
        "gpu-1: free, tainted",
        "team/train",
        "bandwidth 60G of 100G",
    ):
        assert part in said
    root = fromstring(written("devices", "--inventory", LISTING, "-o", "svg", "--driver", "gpu.example.com"))
    texts = _of_picture(root)[2]
    assert "gpu-1: free, tainted" in texts
    assert "n1" in texts
    assert "n2" not in texts


def test_pods_are_explained_and_simulated() -> None:
    """The sentence comes first, then what would help, and what each rule leaves; of a simulation, how many are placed."""
    unplaced = snapshot_files.DIRECTORY / "simulate" / "unplaced"
    given = ["-f", str(unplaced / "workloads.yaml"), "--inventory", str(unplaced / "cluster.yaml")]
    said = _words(written("explain", *given, "-o", "html"))
    for part in (
        'did you mean "a100"?',
        "What would help",
        'It would fit with "a100" instead',
        "\u22123 model is",
    ):
        assert part in said
    said = _words(written("simulate", *given, "-o", "html"))
    for part in ("pods would be placed", "What keeps the others", "Insufficient cpu"):
        assert part in said


def test_what_is_wrong_and_what_a_change_does(tmp_path: Path) -> None:
    """A card for each cause, worst first; of a change what it does, in a sentence and by parts."""
    from tests.claimcheck.doctor.test_checks import cluster, named

    file = tmp_path / "cluster.yaml"
    added = [
        each
        for name in ("more pods than devices", "a pool that lacks a slice")
        for each in named(name)["add"]
    ]
    file.write_text(yaml.safe_dump_all(cluster({"add": added})), encoding="utf-8")
    said = _words(written("doctor", "--inventory", str(file), "-o", "html"))
    for part in (
        "2 findings",
        "error CD001",
        "Pod team/next-1",
        "claimcheck simulate -A",
        "Nobody else can have 1 device",
    ):
        assert part in said
    given = ["--inventory", str(file), "--drain", "node-1"]
    said = _words(written("impact", *given, "-o", "html"))
    for part in ("Pods that leave their nodes:", "Leave their nodes", "team/train", "Stay pending"):
        assert part in said
    quota = {"spec": {"hard": {"count/resourceclaims.resource.k8s.io": "0"}}}
    change = tmp_path / "quota.yaml"
    change.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "metadata": {"name": "q", "namespace": "team"},
                **quota,
            }
        ),
        encoding="utf-8",
    )
    said = _words(written("impact", "--inventory", str(file), str(change), "-o", "html"))
    assert "Quotas exceeded" in said


def test_findings_stand_at_their_lines(tmp_path: Path) -> None:
    """The line with its carets, and the hint."""
    file = tmp_path / "claim.yaml"
    file.write_text(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n"
        "spec:\n  devices:\n    requests:\n    - name: r\n      exactly: {deviceClassname: gpu}\n",
        encoding="utf-8",
    )
    said = _words(written("validate", str(file), "-o", "html"))
    for part in ("1 of 1 objects would be refused", "claim.yaml:8", "^^^", "did you mean `deviceClassName`?"):
        assert part in said
