"""`--kustomize`: kustomizations are built by the program on the PATH, within bounds, and only on request."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from commandline import kustomize
from commandline.main import main
from documents.kustomizations import Kustomization

CLASS = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: %s}\n"
#: Prints the file `printed`, and notes what it was asked and what it sees. If asked again, prints the marks of all objects.
SCRIPT = """#!/bin/sh
echo "$@" > {here}/asked
set > {here}/environment
rm -rf {here}/seen
cp -r "$2" {here}/seen
marks=$(/bin/grep -rhoE 'claimcheck.example.com/[0-9a-f]+' "$2/..")
if [ -z "$marks" ]; then exec /bin/cat {here}/printed; fi
printf 'kind: ConfigMap\\nmetadata:\\n  annotations:\\n'
for mark in $marks; do printf '    %s: x\\n' "$mark"; done
"""


@pytest.fixture(autouse=True)
def _kustomizations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A base with a patch over it, as files that are wrong without it, and a program that makes one class of it."""
    monkeypatch.chdir(tmp_path)
    for name in ("app/base", "app/over", "bin"):
        Path(name).mkdir(parents=True)
    Path("app/base/kustomization.yaml").write_text("resources: [class.yaml]\n")
    Path("app/base/class.yaml").write_text(CLASS % "Base")
    Path("app/over/kustomization.yaml").write_text("resources: [../base]\npatches: [{path: patch.yaml}]\n")
    Path("app/over/patch.yaml").write_text(CLASS % "Patch")
    Path("app/over/.hidden").write_text("secret")
    Path("printed").write_text(CLASS % "Built")
    program = Path("bin/kustomize")
    program.write_text(
        SCRIPT.format(here=tmp_path).replace("cp -r", "/bin/cp -r").replace("rm -rf", "/bin/rm -rf")
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def test_what_is_built_is_validated(capsys: pytest.CaptureFixture[str]) -> None:
    """Instead of the files that it is built of; bases are not built themselves."""
    assert main(["validate", "--kustomize", "app"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("app/over (rendered):3:18: error: metadata.name: Invalid value")
    assert "1 object: 0 valid, 1 invalid; 1 error" in out
    assert "Base" not in out + err
    assert "Patch" not in out + err
    assert Path("asked").read_text().startswith("build ")


@pytest.mark.parametrize("directory", ["app/over", "./app/over/", "."])
def test_a_base_beside_it(directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Who names an overlay has its base built in as well."""
    assert main(["validate", "--kustomize", directory]) == 1
    assert "(rendered):3:18: error: metadata.name: Invalid value" in capsys.readouterr().out
    assert Path("asked").read_text().endswith("/copy/over\n")


def test_a_file_that_is_named_is_validated(capsys: pytest.CaptureFixture[str]) -> None:
    """As it is, too: whoever writes a kustomization may have it leave out the file's objects."""
    assert main(["validate", "--kustomize", "app", "./app/base/class.yaml"]) == 1
    out = capsys.readouterr().out
    assert "class.yaml:3:18: error: metadata.name: Invalid value" in out
    assert "2 objects: 0 valid, 2 invalid" in out


def test_each_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many kustomizations take objects from each other: else a chain of them took time in proportion to its square."""
    read: list[str] = []

    class Noted(Kustomization):
        def __init__(self, directory: str, name: str) -> None:
            read.append(directory)
            super().__init__(directory, name)

    monkeypatch.setattr(kustomize, "Kustomization", Noted)
    for number in range(20):
        Path(f"chain/{number}").mkdir(parents=True)
        Path(f"chain/{number}/kustomization.yaml").write_text(f"resources: [../{number + 1}]\n")
    Path("chain/20").mkdir()
    Path("chain/20/kustomization.yaml").write_text("resources: [.]\n")
    main(["validate", "--kustomize", "chain"])
    assert Path("asked").read_text().endswith("/0\n")
    assert sorted(read) == sorted(f"chain/{number}" for number in range(21))


def test_a_base_out_of_reach(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What is outside of the directory that is searched, and of the working directory, is not read."""
    monkeypatch.chdir("app/over")
    assert main(["validate", "--kustomize", "."]) == 2
    assert (
        "kustomize: not run: it takes objects from outside of the working directory"
        in capsys.readouterr().out
    )
    assert not Path("../../asked").exists()


def test_without_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is run."""
    assert main(["validate", "app"]) == 1
    assert "app/base/class.yaml:3:18: error" in capsys.readouterr().out
    assert not Path("asked").exists()


def test_what_the_program_sees() -> None:
    """No environment, no programs, no hidden files, and no proxy that answers."""
    assert main(["validate", "--kustomize", "--fail-on-skipped", "app"]) == 1
    variables = dict(
        line.split("=", 1) for line in Path("environment").read_text().splitlines() if "=" in line
    )
    assert not list(Path(variables["PATH"].strip("'")).glob("*"))
    assert variables["HTTPS_PROXY"].strip("'") == "http://127.0.0.1:9"
    assert sorted(file.name for file in Path("seen").iterdir()) == ["kustomization.yaml", "patch.yaml"]


@pytest.mark.parametrize(
    ("kustomization", "reason"),
    [
        ("resources: ['https://example.com/a.yaml']", "names what is not here"),
        ("resources: [../base]\npatches: [{path: 'http://127.0.0.1:1/p.yaml'}]", "names what is not here"),
        ("resources: ['github.com/owner/repository']", "names what is not here"),
        (
            "resources: [../base]\nconfigMapGenerator: [{name: a, files: ['http://localhost/x']}]",
            "names what is",
        ),
        ("resources: [../base]\ngenerators: [generator.yaml]", "has others make objects"),
        ("resources: [../base]\nhelmCharts: [{name: a}]", "has others make objects"),
        ("resources: [../base]\nOpenAPI: {path: schema.json}", "has others make objects"),
        ("resources: [", "cannot be read"),
    ],
    ids=["resource", "patch", "repository", "file", "generators", "charts", "openapi", "broken"],
)
def test_what_is_not_run(kustomization: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What would be fetched, or made by other programs, is refused before."""
    Path("app/over/kustomization.yaml").write_text(kustomization)
    assert main(["validate", "--kustomize", "app"]) == 2
    out, _ = capsys.readouterr()
    assert "app/over: error: kustomize: not run: app/over/kustomization.yaml " + reason in out
    assert not Path("seen/patch.yaml").exists()  # the base alone may be built now


def test_addresses_in_texts() -> None:
    """An annotation is not fetched."""
    with Path("app/over/kustomization.yaml").open("a") as file:
        file.write("commonAnnotations: {docs: 'https://example.com'}\n")
    assert main(["validate", "--kustomize", "app"]) == 1
    assert Path("asked").exists()


def test_links(capsys: pytest.CaptureFixture[str]) -> None:
    """A link out of the directory is refused, as kustomize would read what it leads to."""
    Path("app/over/outside.yaml").symlink_to("/etc/passwd")
    assert main(["validate", "--kustomize", "app"]) == 2
    assert "kustomize: not run: over/outside.yaml is a symbolic link that leads" in capsys.readouterr().out


def test_directories_within_each_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each gets a copy with all that is below it; together they take no more room than a bound says, also as tiny files."""
    deepest = Path("deep", *["d"] * 20)
    deepest.mkdir(parents=True)
    for directory in (deepest, *list(deepest.parents)[:20]):
        (directory / "kustomization.yaml").write_text("resources: [class.yaml]\n")
        (directory / "class.yaml").write_text(CLASS % "class")
    for number in range(100):
        (deepest / str(number)).write_text("")
    monkeypatch.setattr(kustomize, "MAX_COPIED_IN_ALL", 5 * 100 * 4096)
    assert main(["validate", "--kustomize", "deep"]) == 2
    out = capsys.readouterr().out
    assert out.count("kustomize: not run: the directories to be copied have more than 1 MiB in all") > 15


def test_no_program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said, and nothing is validated."""
    monkeypatch.setenv("PATH", "bin:")
    assert main(["validate", "--kustomize", "app"]) == 2
    assert (
        capsys.readouterr().err
        == "claimcheck: --kustomize: there is neither kustomize nor kubectl on the PATH\n"
    )


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_real_kubectl(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The patch is in what is validated."""
    kubectl = shutil.which("kubectl", path="/usr/local/bin:/usr/bin:/bin")
    if kubectl is None:
        pytest.skip("kubectl is elsewhere")
    monkeypatch.setenv("PATH", str(Path(kubectl).parent))
    Path("app/base/class.yaml").write_text(CLASS % "class")
    Path("app/over/patch.yaml").write_text(
        (CLASS % "class") + "spec: {selectors: [{cel: {expression: 'nothing'}}]}\n"
    )
    assert main(["validate", "--kustomize", "app"]) == 1
    assert "app/over (rendered):" in capsys.readouterr().out
