"""What is left out of the files that arguments stand for: what patterns exclude, what Helm makes manifests from,
and the patches of kustomizations."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from documents.errors import EmptyDirectory
from documents.finding import Exclusion, Files

TREE = (
    "ok.yaml",
    "gen/a.yaml",
    "gen/deep/b.yaml",
    "apps/gen/c.yaml",
    "apps/d.tmpl.yaml",
    "charts/gpu/Chart.yaml",
    "charts/gpu/values.yaml",
    "charts/gpu/values-prod.yaml",
    "charts/gpu/values.schema.json",
    "charts/gpu/crds/crd.yaml",
    "charts/gpu/templates/claim.yaml",
    "charts/gpu/templates/more/claim.yaml",
    "charts/gpu/charts/dep/Chart.yaml",
    "charts/gpu/charts/dep/templates/claim.yaml",
    "plain/templates/claim.yaml",
    "plain/values.yaml",
)
OF_CHART = {name for name in TREE if name.startswith("charts/gpu/") and "crds" not in name}
ALL = set(TREE) - OF_CHART


@pytest.fixture(autouse=True)
def _tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in TREE:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("apiVersion: v2\nname: gpu\n" if path.name == "Chart.yaml" else "kind: A\n")
    monkeypatch.chdir(tmp_path)


def _names(files: Files) -> set[str]:
    return {str(Path(str(found))) for found in files}


@pytest.mark.parametrize(
    ("patterns", "left_out"),
    [
        ([], set()),
        (["gen"], {"gen/a.yaml", "gen/deep/b.yaml", "apps/gen/c.yaml"}),
        (["gen/"], {"gen/a.yaml", "gen/deep/b.yaml", "apps/gen/c.yaml"}),
        (["./gen/*"], {"gen/a.yaml", "gen/deep/b.yaml"}),
        (["gen/deep"], {"gen/deep/b.yaml"}),
        (["**/deep"], {"gen/deep/b.yaml"}),
        (["**/gen/c.yaml"], {"apps/gen/c.yaml"}),
        (["*.tmpl.yaml", "ok.yaml"], {"apps/d.tmpl.yaml", "ok.yaml"}),
        (["[ab].yaml"], {"gen/a.yaml", "gen/deep/b.yaml"}),
        (["deep/b.yaml"], set()),
        (["en", "", "/"], set()),
    ],
)
def test_excluded(patterns: list[str], left_out: set[str]) -> None:
    """A pattern is the name of files and directories, or with a slash a path from the base on."""
    assert _names(Files(["."], Exclusion(patterns))) == ALL - left_out


def test_base_of_patterns() -> None:
    """Paths are looked at from the base, wherever the command runs."""
    assert "apps/gen/c.yaml" not in _names(Files(["."], Exclusion(["gen/c.yaml"], "apps")))


def test_named_files_are_excluded_too() -> None:
    """Tools such as pre-commit name all files; nothing is left, and that is no error."""
    files = Files(["gen/a.yaml", "gen", "apps/gen"], Exclusion(["gen"]))
    assert list(files) == []
    assert files.excluded == 3


def test_everything_in_a_directory_excluded() -> None:
    """No error: there are manifests."""
    assert list(Files(["gen"], Exclusion(["*.yaml"]))) == []


def test_patterns_end_soon() -> None:
    """Also one that would take a backtracking matcher for ever."""
    exclusion = Exclusion(["*a" * 100 + "b"])
    assert not exclusion("a" * 5_000)


@pytest.mark.parametrize(
    "arguments",
    [
        ["."],
        ["charts"],
        ["charts/gpu"],
        ["charts/gpu/"],
        ["charts/gpu/templates"],
        ["charts/gpu/templates/more"],
        ["charts/gpu/templates/claim.yaml", "charts/gpu/values.yaml", "charts/gpu/Chart.yaml"],
        ["charts/gpu/charts/dep/templates/claim.yaml"],
    ],
)
def test_charts(arguments: list[str]) -> None:
    """What Helm makes manifests from is left out, with its dependencies, and the chart is noted once; CRDs stay."""
    files = Files(arguments)
    assert not _names(files) & OF_CHART
    assert [str(Path(chart)) for chart in files.charts] == ["charts/gpu"]


def test_inside_a_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative to the chart's own directory as well."""
    monkeypatch.chdir("charts/gpu")
    files = Files(["templates/claim.yaml", "values.yaml"])
    assert list(files) == []
    assert files.charts == ["."]


def test_templates_without_a_chart() -> None:
    """Directories and files of such names are as any others."""
    assert _names(Files(["plain"])) == {"plain/templates/claim.yaml", "plain/values.yaml"}


def test_a_chart_is_no_reason_to_hide_mistakes() -> None:
    """What does not exist is reported."""
    (found,) = Files(["charts/nowhere"])
    assert found == "charts/nowhere"
    Path("empty").mkdir()
    (error,) = Files(["empty"])
    assert isinstance(error, EmptyDirectory)


KUSTOMIZATION = """
resources: [ok.yaml, part.yaml]
patches:
- path: part.yaml
- patch: "kind: B"
- path: ./more/../deep/b.yaml
- {path: 3}
- 5
patchesStrategicMerge:
- "kind: B\nmetadata: {name: x}"
- old.yml
patchesJson6902:
- target: {kind: B}
  path: ops.json
- path: ../ok.yaml
- path: ../../outside.yaml
"""


@pytest.mark.parametrize("name", ["kustomization.yaml", "kustomization.yml", "Kustomization"])
def test_patches_of_kustomizations(name: str) -> None:
    """They are parts of objects, and left out wherever they are below the directory; the kustomization is noted once."""
    patches = {"k/part.yaml", "k/deep/b.yaml", "k/old.yml", "k/ops.json", "ok.yaml"}
    Path("k/deep").mkdir(parents=True)
    for path in (*patches, "k/other.yaml"):
        Path(path).write_text("kind: A\n")
    Path("k", name).write_text(KUSTOMIZATION)
    files = Files(["."])
    assert not _names(files) & patches
    assert {"k/other.yaml", "gen/a.yaml"} <= _names(files)
    assert [str(Path(each)) for each in files.kustomizations] == ["k"]


def test_a_patch_that_is_named_itself() -> None:
    """A file that the user names is read, whatever a kustomization says."""
    Path("k").mkdir()
    Path("k/part.yaml").write_text("kind: A\n")
    Path("k/kustomization.yaml").write_text("patches: [{path: part.yaml}]")
    files = Files(["k", "k/part.yaml"])
    assert list(files) == ["k/kustomization.yaml", "k/part.yaml"]
    assert _names(Files(["k"])) == {"k/kustomization.yaml"}


@pytest.mark.parametrize("content", ["patches: {", "- a", "", "patches: 3", "patches: [{path: /ok.yaml}]"])
def test_kustomizations_that_name_no_patches(content: str) -> None:
    """Whatever is wrong with one, no file is left out because of it."""
    Path("kustomization.yaml").write_text(content)
    files = Files(["."])
    assert _names(files) == ALL | {"kustomization.yaml"}
    assert files.kustomizations == []


def test_links_are_not_followed_elsewhere() -> None:
    """Nor to hidden files: whoever adds a file does not choose what else is read. Those that an argument names are followed."""
    Path("secret").write_text("token")
    Path("gen/.git").mkdir()
    Path("gen/.git/config").write_text("token")
    Path("gen/..data").mkdir()  # as the kubelet mounts ConfigMaps
    Path("gen/..data/mounted.yaml").write_text("kind: A\n")
    for name, target in (
        ("out.yaml", "../secret"),
        ("env.json", "/proc/self/environ"),
        ("hidden.yaml", ".git/config"),
        ("twice.yaml", "out.yaml"),
        ("up.yaml", "../gen/a.yaml"),
        ("mounted.yaml", "..data/mounted.yaml"),
    ):
        Path("gen", name).symlink_to(target)
    os.mkfifo("gen/pipe.yaml")
    Path("gen/null.yaml").symlink_to("/dev/null")
    files = Files(["gen"])
    assert _names(files) == {"gen/a.yaml", "gen/deep/b.yaml", "gen/up.yaml", "gen/mounted.yaml"}
    assert set(files.links) == {"gen/out.yaml", "gen/env.json", "gen/hidden.yaml", "gen/twice.yaml"}
    assert list(Files(["gen/out.yaml"])) == ["gen/out.yaml"]


def test_directories_are_matched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not again for every file in them."""
    asked: list[str] = []
    exclusion = Exclusion(["x"])
    is_meant = exclusion._is_meant

    def note(name: str, path: str) -> bool:
        asked.append(path)
        return is_meant(name, path)

    monkeypatch.setattr(exclusion, "_is_meant", note)
    for file in ("a/b/1", "a/b/2", "a/b/3"):
        assert not exclusion(file)
    assert asked == ["a", "a/b", "a/b/1", "a/b/2", "a/b/3"]


SKIPPED = {
    ".evil.json": "hidden",
    ".k8s/evil.json": "hidden",
    ".k8s/deep/evil.yml": "hidden",
    "k/part.yaml": "patch",
    "charts/gpu/values-prod.yaml": "part of a chart",
    "charts/gpu/charts/evil.yaml": "part of a chart",
    "charts/gpu/charts/dep/templates/claim.yaml": "part of a chart",
    "charts/gpu/templates/claim.yaml": "part of a chart",
    "charts/gpu/templates/more/claim.yaml": "part of a chart",
    "charts/gpu/values.yaml": "part of a chart",
    "UPPER.YAML": "suffix",
    "elsewhere.yaml": "link",
    "elsewhere": "link",
    "loop.yaml": "no regular file",
    "pipe.yaml": "no regular file",
}
"""What looks like a manifest and is not read, and why."""


def _write(name: str, content: str | bytes = "apiVersion: v1\nkind: A\n") -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def test_skipped_manifests() -> None:
    """Each is told, and why; files that are no manifests are not."""
    for name in SKIPPED:
        if name.startswith((".", "k/", "UPPER")) or name.endswith("evil.yaml"):
            _write(name)
    _write("k/kustomization.yaml", "patches: [{path: part.yaml}]")
    _write(".github/workflows/ci.yml", "on: push\njobs: {}\n")
    _write(".vscode/settings.json", '{"a": "kind"}')
    _write(".list.yaml", "- kind: A\n")
    _write(".git/a.yaml")
    _write("README.md", "kind: A\n")
    Path("charts/gpu/values.schema.json").write_text("{}")
    outside = Path("..", f"{Path.cwd().name}-outside")
    outside.mkdir()
    Path("elsewhere.yaml").symlink_to("/etc/passwd")
    Path("elsewhere").symlink_to(outside, target_is_directory=True)
    Path("inside").symlink_to("gen", target_is_directory=True)
    Path(".venv/lib").mkdir(parents=True)  # what is in it is looked at where it is
    Path(".venv/lib64").symlink_to("lib", target_is_directory=True)
    Path("loop.yaml").symlink_to("loop.yaml")
    os.mkfifo("pipe.yaml")
    files = Files(["."])
    list(files)
    assert {str(Path(file)): reason for file, reason, _ in files.skipped()} == SKIPPED


@pytest.mark.parametrize(
    ("content", "is_told"),
    [
        (b'{"\\u006bind": "A"}', True),
        (b'"k\\x69nd": A\n', True),
        (b"!!binary a2luZA==: A\n", True),
        ("kind: A\n".encode("utf-16"), True),
        (b"kind: {{ .Values.kind }}\n", True),
        (b"kind: [\n", True),
        (b"a: 1\n---\napiVersion: v1\n", True),
        (b"#" * (33 << 20), True),
        (b"on: push\n", False),
        (b"a: {kind: B}\n", False),
        (b"- kind: B\n", False),
        (b"{{ a }}\n", False),
        (b"", False),
    ],
)
def test_what_looks_like_a_manifest(content: bytes, is_told: bool) -> None:
    """An apiVersion or kind, however it is written, and what cannot be read, so that nobody can tell."""
    _write("one/.hidden.yaml", content)
    files = Files(["one"])
    list(files)
    assert [reason for _, reason, _ in files.skipped()] == ["hidden"] * is_told


def test_excluded_files_are_not_told() -> None:
    """Whoever excludes a file knows of it."""
    _write(".k8s/evil.json")
    files = Files(["gen", ".k8s", "."], Exclusion([".k8s", "charts"]))
    list(files)
    assert list(files.skipped()) == []


def test_hidden_files_that_are_read_by_way_of_links() -> None:
    """As the kubelet mounts ConfigMaps: they are not skipped."""
    _write("mount/..data/a.yaml")
    Path("mount/a.yaml").symlink_to("..data/a.yaml")
    files = Files(["mount"])
    assert list(files) == ["mount/a.yaml"]
    assert list(files.skipped()) == []


@pytest.mark.parametrize(
    ("name", "content", "is_told"),
    [
        ("hidden/Chart.yaml", "apiVersion: v2\nname: gpu\nversion: 1.0.0\n", False),
        ("hidden/Chart.yaml", "apiVersion: v2\nname: gpu\n---\napiVersion: v1\nkind: A\n", True),
        ("hidden/Chart.yaml", "apiVersion: v1\nkind: A\n", True),
        (".k8s/kustomization.yaml", "resources: []\n", False),
        (
            ".k8s/kustomization.yaml",
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
            False,
        ),
        (".k8s/kustomization.yml", "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n", False),
        (".k8s/kustomization.yaml", "apiVersion: v1\nkind: A\n", True),
        (".k8s/kustomization.yaml", "kind: A\n", True),
        (
            ".a.json",
            '{"\\u0061piVersion": "v1", "\\u006bind": "A", "a": ' + "[" * 2000 + "]" * 2000 + "}",
            True,
        ),
    ],
)
def test_manifests_that_look_like_something_else(name: str, content: str, is_told: bool) -> None:
    """kubectl takes whatever stands in a file of any name, and reads some that are refused here."""
    _write(name, content)
    files = Files(["."])
    list(files)
    assert (name in {str(Path(each)) for each, _, _ in files.skipped()}) == is_told


@pytest.mark.parametrize(
    ("content", "read", "brought"),
    [
        (
            "resources: [x.txt, plain, sub/z.TXT, gone/x.txt]",
            {"x.txt", "plain", "sub/z.TXT"},
            {("resources from elsewhere", "")},
        ),
        ("Re\u017fources: [x.txt]\nresources: [plain]", {"x.txt", "plain"}, set()),
        ("bases: [x.txt]\ncomponents: [plain]\ncrds: [sub/z.TXT]", {"x.txt", "plain", "sub/z.TXT"}, set()),
        (
            "resources: [.x.txt, .h/x.txt, link.txt, hidden.txt, t/../x.txt]",
            {"x.txt"},
            {("what is in other directories", "")},
        ),
        ("resources: [../apps]", set(), {("what is in other directories", "")}),
        ("resources: [https://h/x.yaml]", set(), {("resources from elsewhere", "")}),
        ("resources: [github.com/o/r]", set(), {("resources from elsewhere", "")}),
        (
            "patches: [{patch: '[{op: remove, path: /spec}]', target: {kind: B}}]",
            set(),
            {("patches within it", "B")},
        ),
        (
            "patches: [{patch: '[{op: add, path: /kind}]', target: {kind: B}}]",
            set(),
            {("patches within it", "")},
        ),
        (
            "patches: [{patch: '[{op: add, path: /a}]', target: {kind: B.*}}]",
            set(),
            {("patches within it", "")},
        ),
        (
            "patches: [{Patch: '[{op: add, path: /a}]', Target: {name: b}}]",
            set(),
            {("patches within it", "")},
        ),
        ("patches: [{patch: 'kind: B'}]", set(), {("patches within it", "B")}),
        (
            "patches: [{patch: 'kind: B', options: {allowKindChange: true}}]",
            set(),
            {("patches within it", "")},
        ),
        (
            "patches: [{patch: 'kind: List\n\n  items: [{kind: B}, {kind: C}]'}]",
            set(),
            {("patches within it", "B"), ("patches within it", "C")},
        ),
        ("patches: [{patch: '{kind: B, kind: C}'}]", set(), {("patches within it", "")}),
        (
            "patches: [{patch: '[{op: add, path: /kind, path: /a}]', target: {kind: B}}]",
            set(),
            {("patches within it", "")},
        ),
        (
            "patches: [{patch: '[{op: add, path: /kind, Path: /a}]', target: {kind: B}}]",
            set(),
            {("patches within it", "")},
        ),
        (
            "patches: [{patch: 'kind: B', target: {Kind: B, kind: C}}]",
            set(),
            {("what it names, as it cannot be read", "")},
        ),
        ("resources: []\nresources: [plain]", {"plain"}, {("what it names, as it cannot be read", "")}),
        (
            "labels: [{pairs: {a: b}}, {fields: [{path: spec}]}]",
            set(),
            {("labels in fields of its own", "")},
        ),
        ("patches: [{patch: '{'}]", set(), {("patches within it", "")}),
        ("patchesStrategicMerge: ['kind: B']", set(), {("patchesStrategicMerge within it", "B")}),
        (
            "patchesJson6902: [{patch: '[{op: add, path: /a}]', target: {kind: B}}]",
            set(),
            {("patchesJson6902 within it", "B")},
        ),
        ("patches: [{path: ops.txt, target: {kind: B}}]", set(), {("patches in other files", "B")}),
        ("patches: [{path: ../ops.txt, target: {kind: B}}]", set(), {("patches in other files", "")}),
        ("patches: [{path: x.txt, target: {kind: B}}]", set(), set()),
        ("replacements: [{targets: [{select: {kind: B}}]}]", set(), {("replacements", "B")}),
        ("replacements: [{path: r.yaml}]", set(), {("replacements", "")}),
        ("generators: [a]\ntransformers: [b]", set(), {("generators", ""), ("transformers", "")}),
        ("helmCharts: [{name: a}]", set(), {("helmCharts", "")}),
        ("namePrefix: a-\nconfigMapGenerator: [{name: a}]", set(), set()),
        ("resources: {", set(), {("what it names, as it cannot be read", "")}),
    ],
)
def test_what_a_kustomization_brings_in(content: str, read: set[str], brought: set[tuple[str, str]]) -> None:
    """Files below the directory are read whatever their name; what cannot be read is noted, with the kind it is about."""
    for name in ("x.txt", "plain", "sub/z.TXT", ".x.txt", ".h/x.txt", "unnamed.txt"):
        _write(f"k/{name}")
    _write("k/ops.txt", "[{op: add, path: /a, value: 1}]")
    _write("ops.txt", "[]")
    _write("k/github.com/o/r/a.yaml")
    Path("k/link.txt").symlink_to("../ok.yaml")
    Path("k/hidden.txt").symlink_to(".x.txt")
    _write("k/Kustomization", content)
    files = Files(["k"])
    assert _names(files) == {f"k/{name}" for name in read} | {"k/github.com/o/r/a.yaml"}
    skipped = {file: (reason, found) for file, reason, found in files.skipped()}
    found = skipped.pop("k/Kustomization", ("kustomization", ()))
    assert found[0] == "kustomization"
    assert {(each.what, each.kind) for each in found[1]} == brought
    hidden = {"k/.x.txt", "k/.h/x.txt", "k/hidden.txt"} if ".x.txt" in content else set()
    patch = {"k/x.txt"} if "path: x.txt" in content else set()
    assert {file: reason for file, (reason, _) in skipped.items()} == {
        **dict.fromkeys(hidden, "hidden"),
        **dict.fromkeys(patch, "patch"),
    }


def test_what_other_arguments_name_is_no_file_elsewhere() -> None:
    """An overlay beside its base, say, is all read if both are given."""
    _write("overlay/kustomization.yaml", "resources: [../gen]")
    for arguments, is_told in ((["overlay"], True), (["overlay", "gen"], False), (["."], False)):
        files = Files(arguments)
        list(files)
        assert bool([each for each in files.skipped() if each.reason == "kustomization"]) == is_told


def test_hidden_kustomizations() -> None:
    """What they name is noted, and not left out of what is read."""
    _write(
        ".k8s/kustomization.yaml", "resources: [evil.txt]\npatches: [{path: ../ok.yaml}, {patch: 'kind: B'}]"
    )
    _write(".k8s/evil.txt")
    files = Files(["."])
    assert "ok.yaml" in _names(files)
    assert {"./.k8s/evil.txt": "hidden", "./.k8s/kustomization.yaml": "kustomization"}.items() <= {
        file: reason for file, reason, _ in files.skipped()
    }.items()
    files = Files(["."], Exclusion([".k8s", "charts"]))
    list(files)
    assert list(files.skipped()) == []


def test_excluded_kustomizations() -> None:
    """Nothing is told of one, nor read because of it."""
    _write("k/kustomization.yaml", "resources: [evil.txt]\npatches: [{patch: 'kind: B'}]")
    _write("k/evil.txt")
    files = Files(["k"], Exclusion(["kustomization.yaml"]))
    assert list(files) == []
    assert list(files.skipped()) == []


def test_what_files_mention() -> None:
    """Those that are left out count too, but for links elsewhere; neither standard input nor a pipe is read for it."""
    Path("gen/link.yaml").symlink_to("../ok.yaml")
    Path("ok.yaml").write_text("elsewhere")
    os.mkfifo("gen/pipe.yaml")
    files = Files(["-", "gen"])
    list(files)
    assert not files.mentions([b"elsewhere", b"hidden"])
    _write("gen/.a.yaml", "hidden")
    list(files)
    assert files.mentions([b"elsewhere", b"hidden"])


def test_what_helm_makes_manifests_of_whatever_its_name(tmp_path: Path) -> None:
    """It renders all files of templates but partial ones, and unpacks charts; READMEs are none."""
    manifest = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\n"
    files = {
        "Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
        **dict.fromkeys(("templates/a.tpl", "templates/b", "charts/d/templates/e.txt"), manifest),
        **dict.fromkeys(("templates/_h.tpl", "templates/NOTES.txt", "charts/d/README.md"), manifest),
        "charts/f-1.0.0.tgz": "\x1f\x8b",
    }
    chart = tmp_path / "chart"
    for name, content in files.items():
        chart.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        chart.joinpath(name).write_text(content)
    found = Files([str(chart)])
    list(found)
    assert [os.path.relpath(each.file, chart) for each in found.skipped()] == [
        "charts/d/templates/e.txt",
        "charts/f-1.0.0.tgz",
        "templates/a.tpl",
        "templates/b",
    ]
