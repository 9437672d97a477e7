"""`--helm`: charts are rendered by the helm on the PATH, within bounds, and only on request."""

from __future__ import annotations

import gzip
import io
import shlex
import sys
import tarfile
from pathlib import Path

import pytest

from claimcheck.answers.reading import Text
from commandline.errors import UsageError
from commandline.helm import refer_elsewhere, render, render_all
from commandline.main import main
from documents import DocumentError
from documents.source import MAX_FILE_BYTES
from resourceapi.releases import Profile

PROFILE = Profile()
MANIFEST = """---
# Source: gpu/templates/class.yaml
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: %s
"""


@pytest.fixture(autouse=True)
def _chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chart = Path("-my chart; touch evil")
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("name: gpu\n")
    (chart / "templates" / "class.yaml").write_text("{{ . }}\n")
    Path("bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")


def _install_helm(script: str) -> None:
    helm = Path("bin/helm")
    helm.write_text(f"#!/bin/sh\n{script}\n")
    helm.chmod(0o755)


def _install_helm_that_prints(text: str) -> None:
    Path("printed").write_text(text)
    _install_helm(f'echo "$@" > asked; cat "{Path("printed").absolute()}"')


def test_rendered_charts_are_validated(capsys: pytest.CaptureFixture[str]) -> None:
    """With the template that an object comes from; the directory is an argument, whatever its name."""
    _install_helm_that_prints(MANIFEST % "A")
    assert main(["validate", "--helm", "."]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("./-my chart; touch evil (rendered):6:9: error: metadata.name: Invalid value")
    assert "= in: DeviceClass A (gpu/templates/class.yaml)" in out
    assert err == ""
    *options, release, directory = Path("asked").read_text().split()
    assert options[:2] == ["template", "--include-crds"]
    assert release == "release"
    assert Path(directory).is_absolute()  # no option, and what Helm would not look for elsewhere
    assert not Path("evil").exists()


@pytest.mark.parametrize(
    ("options", "release", "served", "not_served"),
    [
        (
            "",
            "1.37.0",
            "v1 v1/DeviceClass v1/DeviceTaintRule",
            "v1beta1 v1beta2 v1beta2/DeviceTaintRule v1alpha3",
        ),
        ("--kube-version v1.35.2", "1.35.0", "v1 v1/ResourceSlice", "v1/DeviceTaintRule v1beta2"),
        (
            "--kube-version 1.35 --runtime-config resource.k8s.io/v1beta2=true,resource.k8s.io/v1alpha3=true",
            "1.35.0",
            "v1 v1beta2 v1beta2/DeviceClass v1alpha3 v1alpha3/DeviceTaintRule",
            "v1beta1 v1alpha3/DeviceClass v1beta2/DeviceTaintRule",
        ),
        ("--kube-version 1.30", "1.30.0", "v1alpha2 v1alpha2/ResourceClass", "v1 v1beta1 v1alpha3"),
        ("--runtime-config resource.k8s.io/v1=false", "1.37.0", "", "v1 v1/DeviceClass"),
        ("--kube-version kep", "1.37.0", "v1 v1alpha3/ResourceSlicePatch", "v1/ResourceSlicePatch"),
    ],
    ids=["newest", "older", "older with versions", "classic", "without a version", "kep"],
)
def test_helm_knows_the_release_and_its_versions(
    options: str, release: str, served: str, not_served: str
) -> None:
    """Those by which the objects are judged: `kubeVersion` and `.Capabilities` depend on them."""
    _install_helm_that_prints(MANIFEST % "a")
    main(["validate", "--helm", *options.split(), "."])
    asked = Path("asked").read_text().split()
    assert f"--kube-version={release}" in asked
    told = {each.removeprefix("--api-versions=") for each in asked if each.startswith("--api-versions")}
    assert {f"resource.k8s.io/{each}" for each in served.split()} <= told
    assert not {f"resource.k8s.io/{each}" for each in not_served.split()} & told
    assert bool(told) == bool(served)


def test_values_that_helm_reads_are_not_skipped() -> None:
    """They may have a key `kind`, as those of charts do that install a DaemonSet or a Deployment."""
    _install_helm_that_prints(MANIFEST % "a")
    Path("-my chart; touch evil/values.yaml").write_text("kind: DaemonSet\n")
    assert main(["validate", "--fail-on-skipped", "."]) == 1
    assert main(["validate", "--fail-on-skipped", "--helm", "."]) == 0
    Path("-my chart; touch evil/values-other.yaml").write_text(MANIFEST % "evil")
    assert main(["validate", "--fail-on-skipped", "--helm", "."]) == 1


def test_in_several_processes(capsys: pytest.CaptureFixture[str]) -> None:
    """Charts come after the files."""
    _install_helm_that_prints(MANIFEST % "a")
    for name in ("b", "c", "d"):
        Path(f"{name}.yaml").write_text(MANIFEST % name)
    assert main(["validate", "--helm", "--jobs=2", "."]) == 0
    assert capsys.readouterr().out == "4 objects: 4 valid, 0 invalid\n"


def test_never_without_being_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """Not even with quiet; other commands have no such option."""
    _install_helm("touch ran")
    for command in ("validate", "validate -q", "quota", "convert --to v1"):
        main([*command.split(), "."])
        err = capsys.readouterr().err
        assert ("or --helm" in err) == (command == "validate")
    assert not Path("ran").exists()


def test_failing_helm(capsys: pytest.CaptureFixture[str]) -> None:
    """Its message, escaped; the chart counts as not read."""
    _install_helm(r"printf 'Error: \033[31m bad\n::error::x' >&2; exit 1")
    assert main(["validate", "--helm", "."]) == 2
    out = capsys.readouterr().out
    assert out.startswith(r"./-my chart; touch evil: error: helm template: Error: \x1b[31m bad")
    assert "\n::error" not in out


def test_no_helm(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Says so."""
    monkeypatch.setenv("PATH", str(Path("bin").absolute()))
    assert main(["validate", "--helm", "."]) == 2
    assert capsys.readouterr().err == "claimcheck: --helm: there is no helm on the PATH\n"


def test_helm_that_hangs() -> None:
    """It is ended."""
    _install_helm("exec sleep 600")
    found = render(".", PROFILE, seconds=0.1)
    assert isinstance(found, DocumentError)
    assert found.message == "helm template: not done within 0.1 s"


def test_helm_that_prints_without_end() -> None:
    """No more than a file may have is read."""
    _install_helm("exec yes")
    found = render(".", PROFILE)
    assert isinstance(found, DocumentError)
    assert found.message == f"helm template: more than {MAX_FILE_BYTES // 2**20} MiB"


def test_helm_that_fails_noisily() -> None:
    """The beginning of what it says."""
    _install_helm("yes 'no such thing' | head -c 1000000 >&2; exit 3")
    found = render(".", PROFILE)
    assert isinstance(found, DocumentError)
    assert len(found.message) < 2_100


def test_as_much_as_a_file() -> None:
    """Is rendered."""
    _install_helm(f"head -c {MAX_FILE_BYTES} /dev/zero")
    found = render(".", PROFILE)
    assert isinstance(found, Text)
    assert len(found.content) == MAX_FILE_BYTES


def test_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Templates can read Helm's environment: it has the PATH and an empty home."""
    monkeypatch.setenv("TOKEN", "secret")
    monkeypatch.setenv("HELM_KUBETOKEN", "secret")
    _install_helm('/usr/bin/env; ls -A "$HOME"')
    found = render(".", PROFILE)
    assert isinstance(found, Text)
    names = {line.partition(b"=")[0].decode() for line in found.content.splitlines()}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {  # which the shell sets
        "PATH",
        "HOME",
        "HELM_CACHE_HOME",
        "HELM_CONFIG_HOME",
        "HELM_DATA_HOME",
    }


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("files/s", "../../secret"),
        ("files/env", "/proc/self/environ"),
        ("charts/dependency", "../../elsewhere"),
        ("files/nowhere", "../../nowhere"),
        (".hidden", ".."),
        ("files/git", "../.git/config"),
    ],
)
def test_links_out_of_a_chart(name: str, target: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Helm follows them, so it is not run."""
    _install_helm("touch ran")
    chart = Path("-my chart; touch evil")
    (chart / name).parent.mkdir(exist_ok=True)
    (chart / name).symlink_to(target)
    assert main(["validate", "--helm", "."]) == 2
    expected = f"not run: {name} is a symbolic link that leads out of the chart, or to something hidden"
    assert expected in capsys.readouterr().out
    assert not Path("ran").exists()


def test_links_within_a_chart() -> None:
    """Are as good as copies."""
    _install_helm_that_prints(MANIFEST % "a")
    Path("-my chart; touch evil/values-prod.yaml").symlink_to("Chart.yaml")
    assert isinstance(render("-my chart; touch evil", PROFILE), Text)


def test_hidden_files() -> None:
    """Templates cannot read them: at the top of a checkout there are the credentials of git."""
    _install_helm('for chart; do :; done; cd "$chart" && find . again/ -type l ! -name again -exec cat {} +')
    chart = Path("-my chart; touch evil")
    for name in (".git/config", ".env", "files/.netrc", "charts/a/.git"):
        (chart / name).parent.mkdir(parents=True, exist_ok=True)
        (chart / name).write_text("secret")
    (chart / "files/shown").write_text("shown\n")
    (chart / ".helmignore").write_text("*.bak\n")
    (chart / "again").symlink_to(chart.absolute())  # and so is nothing that is reached by another way
    found = render(str(chart), PROFILE)
    assert isinstance(found, Text)
    lines = found.content.splitlines()
    assert set(lines) == {b"*.bak", b"name: gpu", b"shown", b"{{ . }}"}
    assert len(lines) > 4


def test_links_are_not_in_messages() -> None:
    """Helm tells of every link that it follows, and so of every file that is laid out for it."""
    _install_helm(
        "for each in $(seq 1000); do echo 'found symbolic link in path: a resolves to b' >&2; done; "
        "echo Error: no >&2; exit 1"
    )
    found = render("-my chart; touch evil", PROFILE)
    assert isinstance(found, DocumentError)
    assert found.message == "helm template: Error: no"


def _archive(name: str, content: bytes) -> bytes:
    """A packed chart with a file."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo(f"chart/{name}")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


_OF_A_FILE = b'{"properties": {"a": {"$ref" : "file:///etc/passwd"}}}'


@pytest.mark.parametrize(
    ("file", "content", "is_compared"),
    [
        ("values.schema.json", b'{"$schema": "http://json-schema.org/draft-07/schema#"}', True),
        ("values.schema.json", b'{"$ref": "#/$defs/a", "$defs": {"a": {"title": "\\u003ca\\u003e"}}}', True),
        ("values.schema.json", _OF_A_FILE, False),
        ("values.schema.json", b'{"\\u0024ref": "http://example.com"}', False),
        ("values.schema.json", b'{"$ref": "other.json"}', False),
        ("values.schema.json", b'{"$schema": "http://example.com"}', False),
        ("charts/sub/values.schema.json", _OF_A_FILE, False),
        ("files/other.json", _OF_A_FILE, True),
        ("charts/sub.tgz", _archive("values.schema.json", _OF_A_FILE), False),
        ("charts/sub.tgz", _archive("values.schema.json", b'{"type": "object"}'), True),
        ("charts/sub.tgz", _archive("README.md", _OF_A_FILE), True),
        (
            "charts/sub.tgz",
            _archive("charts/a.tgz", _archive("values.schema.json", b"{}")),
            False,
        ),
        ("charts/sub.tgz", b"no archive", False),
    ],
    ids=[
        "draft", "within", "file", "escaped", "relative", "other draft", "subchart", "no schema", "archive", "harmless archive",
        "archive without", "archive in an archive", "no archive",
    ],
)  # fmt: skip
def test_schemas_that_refer_to_something_else(
    file: str, content: bytes, is_compared: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Helm would fetch that, so it leaves them out, which is said."""
    _install_helm_that_prints(MANIFEST % "a")
    path = Path("-my chart; touch evil", file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    assert main(["validate", "--helm", "."]) == 0
    said = "values are not compared with a schema of the chart" in capsys.readouterr().err
    asked = Path("asked").read_text().split()
    assert (said, "--skip-schema-validation" in asked) == (not is_compared, not is_compared)


def test_archives_are_looked_through_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, and however little they contain: git keeps a thousand that are the same as one."""
    looked_through: list[str] = []
    opened = gzip.open

    def noted(path: str) -> object:
        looked_through.append(path)
        return opened(path)

    monkeypatch.setattr("commandline.helm.gzip.open", noted)
    monkeypatch.setattr("commandline.helm.MAX_FILE_BYTES", 300_000)
    for content in (gzip.compress(bytes(100_000)), gzip.compress(b"") * 5_000):
        looked_through.clear()
        charts = Path(f"of {len(content)}", "charts")
        charts.mkdir(parents=True)
        for number in range(10):
            (charts / f"{number}.tgz").write_bytes(content)
        assert refer_elsewhere(str(charts.parent))
        assert 2 <= len(looked_through) <= 4


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits another process")
def test_memory_is_limited() -> None:
    """A template may make a list of a thousand million numbers."""
    _install_helm(f"{shlex.quote(sys.executable)} -c 'print(len(bytearray(2 << 30)))'")
    found = render("-my chart; touch evil", PROFILE)
    assert isinstance(found, DocumentError)
    assert found.message.endswith("MemoryError")


@pytest.mark.parametrize("path", [".", "", "bin"])
def test_no_program_of_the_checkout(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places on the PATH that are relative are those of strangers: a file may be called helm."""
    _install_helm("touch ran")
    Path("helm").symlink_to("bin/helm")
    monkeypatch.setenv("PATH", f"{path}:/usr/bin:/bin")
    with pytest.raises(UsageError):
        render("-my chart; touch evil", PROFILE)
    assert not Path("ran").exists()


def test_many_charts() -> None:
    """Have a time limit together."""
    _install_helm("touch ran")
    (found,) = render_all(["."], PROFILE, seconds=0)
    assert isinstance(found, DocumentError)
    assert found.message == "helm template: not run: the 0 s for all charts are over"
    assert not Path("ran").exists()
    (found,) = render_all(["-my chart; touch evil"], PROFILE)
    assert isinstance(found, Text)


def test_what_all_charts_make_is_limited(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Together with what kustomize has made: it is all held until the end."""
    _install_helm_that_prints(MANIFEST % "a")
    monkeypatch.setattr("commandline.renderers.MAX_BYTES_IN_ALL", len(MANIFEST % "a"))
    refusal = "not run: the 0 MiB that may be rendered in all are used up"
    first, second = render_all(["-my chart; touch evil"] * 2, PROFILE)
    assert isinstance(first, Text)
    assert isinstance(second, DocumentError)
    assert second.message == f"helm template: {refusal}"
    kustomize = Path("bin/kustomize")
    kustomize.write_text(f'#!/bin/sh\nexec /bin/cat "{Path("printed").absolute()}"\n')
    kustomize.chmod(0o755)
    for name in ("x", "y"):
        Path(name).mkdir()
        Path(f"{name}/kustomization.yaml").write_text("resources: []\n")
    assert main(["validate", "--helm", "--kustomize", "."]) == 2
    out = capsys.readouterr().out
    assert out.count(refusal) == 2
    assert f"./y: error: kustomize: {refusal}" in out
    assert f"./-my chart; touch evil: error: helm template: {refusal}" in out


def test_what_helm_makes_is_never_written() -> None:
    """Not where a stranger's link has the name by which reports call it, which leads to a start-up file."""
    _install_helm_that_prints(
        """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, allocationMode: all}}]}}
"""
    )
    Path("profile").write_text("of the user")
    Path("-my chart; touch evil (rendered)").symlink_to("profile")
    assert main(["validate", "--fix", "--helm", "."]) == 1
    assert Path("profile").read_text() == "of the user"
