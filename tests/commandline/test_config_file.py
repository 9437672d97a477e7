"""What `.claimcheck.yaml` can set, where it is looked for, and what it cannot do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commandline.config_file import MAX_BYTES, NAMES, SETTINGS, find, settle
from commandline.errors import UsageError
from commandline.main import main
from commandline.subcommands import CONFIGURABLE, parser_of

FILE = NAMES[0]
CLASS = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: %s}\n"
#: What could run a program, reach a cluster, or write a file.
DANGEROUS = (
    "kubeconfig",
    "context",
    "output",
    "in-place",
    "old",
    "helm",
    "node-template",
    "config",
    "color",
    "filename",
    "jobs",
)


@pytest.fixture(autouse=True)
def _in_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path / "repository"
    for name in ("a", "b"):
        path = repository / "apps" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CLASS % name)
    (repository / ".git").mkdir()
    monkeypatch.chdir(repository)


def _count(capsys: pytest.CaptureFixture[str]) -> int:
    return int(capsys.readouterr().out.split()[0])


def test_sets_options(capsys: pytest.CaptureFixture[str]) -> None:
    """Those that the command line does not set."""
    Path(FILE).write_text("exclude: [a.yaml]\nquiet: true\n")
    assert main(["validate", "."]) == 0
    assert capsys.readouterr().out == ""
    assert main(["convert", "--to", "v1beta1", "."]) == 0
    assert capsys.readouterr().out.count("kind: DeviceClass") == 1


@pytest.mark.parametrize(
    ("arguments", "objects"),
    [
        ("validate .", 1),
        ("validate . --exclude b.yaml", 1),
        ("validate . --exclude none", 2),
        ("validate . --no-config", 2),
        ("validate . --config other.yaml", 0),
        ("validate . --config=empty.yaml", 2),
    ],
)
def test_command_line_counts_more(arguments: str, objects: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Its lists replace those of the file, and it chooses the file."""
    Path(FILE).write_text("exclude: a.yaml\n")
    Path("other.yaml").write_text("exclude: [a.yaml, b.yaml, other.yaml, empty.yaml]\n")
    Path("empty.yaml").write_text("# nothing\n")
    main([*arguments.split(), "--fail-on-empty"])
    assert _count(capsys) == objects


def test_is_found_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Up to the top of the repository; patterns are relative to the file."""
    Path(FILE).write_text("exclude: [apps/a.yaml]\n")
    monkeypatch.chdir("apps")
    main(["validate", "."])
    assert _count(capsys) == 1
    Path("..", FILE).unlink()
    (tmp_path / FILE).write_text("exclude: ['*']\n")
    main(["validate", "."])
    assert _count(capsys) == 2
    Path(NAMES[1]).write_text("exclude: ['*']\n")
    main(["validate", "."])
    assert _count(capsys) == 0


def test_search_ends_at_the_root() -> None:
    """Without an error."""
    assert find("/") is None or str(find("/")).startswith("/.claimcheck")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "kube-version: 1.36\nkube-versoin: 1.36\n",
            ":2: unknown option kube-versoin; did you mean kube-version?",
        ),
        ("nots: true\n", ":1: unknown option nots; did you mean notes?"),
        ("--notes: true\n", ":1: unknown option --notes; did you mean notes?"),
        ("xyzzy: true\n", f":1: unknown option xyzzy; known are {', '.join(SETTINGS)}"),
        ("\nnotes: 1\n", ":2: notes: expected true or false"),
        ("notes: 'true'\n", ":1: notes: expected true or false"),
        ("notes:\n", ":1: notes: expected true or false"),
        ("kube-version: [1.36]\n", ":1: kube-version: expected one value"),
        ("kube-version: {}\n", ":1: kube-version: expected one value"),
        ("exclude: {a: b}\n", ":1: exclude: expected a text, or a list of texts"),
        ("exclude: [a, true]\n", ":1: exclude: expected a text, or a list of texts"),
        ("notes: true\nnotes: true\n", ":2: notes is set twice"),
        ("- notes\n", ":1:1: expected a mapping of options"),
        ("notes: [\n", ":1:9: did not find expected node content (what begins here is not closed)"),
        ("notes: true\n---\nnotes: true\n", ": expected one document, found 2"),
        ("# " + "x" * MAX_BYTES, f": larger than {MAX_BYTES:,} bytes"),
    ],
)
def test_mistakes(content: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """File, line and what is wrong, with what may be meant."""
    Path(FILE).write_text(content)
    assert main(["validate", "."]) == 2
    assert capsys.readouterr().err == f"claimcheck: {FILE}{message}\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "\nkube-version: 1.20\n",
            "--kube-version: unknown release '1.20'; use one of 1.30, 1.32, 1.33, 1.34, 1.35, 1.36, 1.37, kep",
        ),
        ("\ndisable: CC0001\n", "--disable CC0001: no lint has this code; did you mean CC001?"),
        ("\nfeature-gates: {Nope: true}\n", "--feature-gates: unrecognized feature gate: Nope"),
        ("\ninventory: nowhere\n", "--inventory nowhere: no such file or directory"),
    ],
)
def test_values_that_mean_nothing(content: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As on the command line, with the place in the file."""
    Path(FILE).write_text(content)
    assert main(["validate", "apps"]) == 2
    assert capsys.readouterr().err == f"claimcheck: {message} ({FILE}:2)\n"
    arguments = [text for text in message.split(":")[0].split() if text.startswith("--")]
    main(["validate", "apps", *arguments, "x"])
    assert f"{FILE}:2" not in capsys.readouterr().err


def test_pairs_as_mapping(capsys: pytest.CaptureFixture[str]) -> None:
    """Gates as on the command line, or as YAML has them."""
    for gates in (
        "DRAConsumableCapacity=false,DRAPartitionableDevices=true",
        "{DRAConsumableCapacity: false}",
    ):
        Path(FILE).write_text(f"feature-gates: {gates}\nkube-version: '1.36'\n")
        assert main(["validate", "apps"]) == 0
        capsys.readouterr()


@pytest.mark.parametrize(("release", "code"), [("1.36", 0), ("v1.36.2", 0), ("kep", 0), ("keep", 2)])
def test_a_release_is_nothing_to_convert(release: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    """It has but the one with proposals; what is no release is an error there, too."""
    Path(FILE).write_text(f"kube-version: {release}\n")
    for command in ("convert --to v1 apps", "validate apps"):
        assert main(command.split()) == code
        assert ("unknown release 'keep'" in capsys.readouterr().err) == bool(code)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("subresource: statsu", "subresource: expected one of status, not statsu"),
        ("jobs: many", "jobs: many is no value of this option"),
        ("subresource: status", ""),
        ("jobs: 2", ""),
    ],
)
def test_types_and_choices(
    content: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of the option count, whichever can be set."""
    monkeypatch.setattr("commandline.config_file.SETTINGS", (*SETTINGS, "subresource", "jobs"))
    Path(FILE).write_text(f"{content}\n")
    parser = parser_of("validate")
    parser.make_configurable(("subresource", "jobs"))
    options = parser.parse(["apps"])
    if message:
        with pytest.raises(UsageError, match=f"{FILE}:1: {message}"):
            settle(options, parser)
    else:
        settle(options, parser)
        assert options.subresource == "status" or options.jobs == 2


@pytest.mark.parametrize("name", DANGEROUS)
def test_what_cannot_be_set(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever proposes a change to a repository can change the file: it reaches no cluster and writes nothing."""
    assert name not in SETTINGS
    Path(FILE).write_text(f"{name}: x\n")
    for command in (
        "validate apps",
        "convert --to v1 apps",
        "explain apps",
        "simulate apps",
        "quota apps",
        "cel true",
    ):
        assert main(command.split()) == 2
        assert f"{FILE}:1: " in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == [FILE, ".git", "apps"]


@pytest.mark.parametrize(
    "path", ["..", "../outside.yaml", "/etc/hostname", "link.yaml", "apps/../../outside.yaml", "a\\0b"]
)
def test_inventories_elsewhere(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Only what is below the file's directory is read, also if a symbolic link leads away."""
    Path("../outside.yaml").write_text(CLASS % "outside")
    Path("link.yaml").symlink_to("../outside.yaml")
    Path(FILE).write_text(f'inventory: "{path}"\n')
    assert main(["validate", "apps"]) == 2
    assert "is not below" in capsys.readouterr().err


@pytest.mark.parametrize("path", [".git/config", "to-git", "apps/.hidden/inventory.yaml", "pipe"])
def test_inventories_that_are_none(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing hidden, where credentials may be, and nothing but files and directories."""
    Path(".git/config").write_text("token")
    Path("to-git").symlink_to(".git/config")
    os.mkfifo("pipe")
    Path(FILE).write_text(f"inventory: {path}\n")
    assert main(["validate", "apps"]) == 2
    expected = "is neither a file nor a directory" if path == "pipe" else "is hidden"
    assert capsys.readouterr().err == f"claimcheck: {FILE}:1: inventory: {path} {expected}\n"


def test_inventory_with_links(capsys: pytest.CaptureFixture[str]) -> None:
    """A link in the directory does not lead out of it either."""
    Path("../netrc").write_text("machine example.com password secret")
    Path("inventory").mkdir()
    Path("inventory/a.yaml").symlink_to("../../netrc")
    Path("inventory/b.yaml").write_text(CLASS % "b")
    Path(FILE).write_text("inventory: inventory\n")
    assert main(["validate", "apps"]) == 0
    written = capsys.readouterr()
    assert "secret" not in written.out + written.err
    assert written.err == (
        "claimcheck: not read: inventory/a.yaml: links to hidden files, or out of the directory\n"
    )


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        (["x"] * 201, "201 patterns; at most 200 are possible"),
        (["x" * 5_001], "patterns of 5,001 characters in all; at most 5,000 are possible"),
    ],
)
def test_too_many_patterns(patterns: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They would take long to match."""
    Path(FILE).write_text("\nexclude: [" + ", ".join(patterns) + "]\n")
    assert main(["validate", "apps"]) == 2
    assert capsys.readouterr().err == f"claimcheck: --exclude: {message} ({FILE}:2)\n"


def test_inventory(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Relative to the file."""
    Path(FILE).write_text("inventory: apps/b.yaml\n")
    Path("claim.yaml").write_text(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n"
        "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: b}}]}}\n"
    )
    monkeypatch.chdir("apps")
    assert main(["validate", "../claim.yaml"]) == 0
    assert capsys.readouterr().out == "1 object: 1 valid, 0 invalid\n"


def test_messages_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    """A key is a stranger's text."""
    Path(FILE).write_text('"::error::\\e[31m\\n::x": 1\n', encoding="utf-8")
    assert main(["validate", "apps"]) == 2
    shown = capsys.readouterr().err
    assert "\x1b" not in shown
    assert not any(line.lstrip().startswith("::") for line in shown.splitlines())


@pytest.mark.parametrize("arguments", ["--config x --no-config", "--config nowhere.yaml"])
def test_contradictions(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is named has to be there, and cannot be refused at the same time."""
    assert main(["validate", "apps", *arguments.split()]) == 2
    assert capsys.readouterr().err.startswith("claimcheck: ")


def test_working_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then there is no file either."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["validate", str(tmp_path / "repository" / "apps")]) == 0


@pytest.mark.parametrize("command", CONFIGURABLE)
def test_defaults_without_a_file(command: str) -> None:
    """Each option that can be set has its default where nobody sets it."""
    parser = parser_of(command)
    required = {"convert": ["--to", "v1"], "cel": ["true"]}.get(command, [])
    options = parser.parse(required)
    settle(options, parser)
    for action in parser._actions:
        if action.dest not in ("help", "expression", "to", "paths"):
            assert getattr(options, action.dest) == action.default


@pytest.mark.parametrize(
    ("arguments", "version", "inventory"),
    [
        ([], "1.35", ["apps"]),
        (["--live"], "", []),
        (["--kubeconfig", "x"], "", []),
        (["--context", "x"], "", []),
        (["--live", "--kube-version", "1.36", "--inventory", "y"], "1.36", ["y"]),
    ],
)
def test_live_clusters_know_better(arguments: list[str], version: str, inventory: list[str]) -> None:
    """Which release they are, and what is in them."""
    Path(FILE).write_text("kube-version: 1.35\ninventory: apps\n")
    parser = parser_of("explain")
    options = parser.parse(arguments)
    settle(options, parser)
    assert (options.kube_version, options.inventory) == (version, inventory)
