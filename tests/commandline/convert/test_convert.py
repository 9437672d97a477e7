"""`claimcheck convert`: what it changes, what it leaves alone, what it refuses."""

from __future__ import annotations

import io
import random
import sys
from pathlib import Path

import pytest

from commandline.main import main
from documents.comments import comments_in_text
from documents.emitting import block
from tests.commandline.commented_claim import V1, V1BETA1
from tests.corpus.cases import valid_object
from tests.corpus.parts import Parts

OTHER = "apiVersion: v1\nkind:   ConfigMap\nmetadata: {name: other}\n"


def _convert(tmp_path: Path, text: str, *options: str) -> int:
    file = tmp_path / "claim.yaml"
    file.write_text(text, encoding="utf-8")
    return main(["convert", *options, str(file)])


def test_comments_and_layout_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only what the version has otherwise changes."""
    assert _convert(tmp_path, V1BETA1, "--to", "v1") == 0
    assert capsys.readouterr().out == V1


COMMENTED_V1 = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim}
spec:
  devices:
    requests:
    - name: gpu # the gpu
      # one of them
      exactly: # exactly one
        # its class
        deviceClassName: gpu # any
        count: null # one
    - exactly: {deviceClassName: b} # short
      name: b
    config:
    - opaque:
        driver: gpu.example.com
        parameters: {a: null}
"""
COMMENTED_V1BETA1 = """apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaim
metadata: {name: claim}
spec:
  devices:
    requests:
    - name: gpu # the gpu
      # one of them
      # exactly one
      # one
      # its class
      deviceClassName: gpu # any
    - # short
      deviceClassName: b
      name: b
    config:
    - opaque:
        driver: gpu.example.com
        parameters: {a: null}
"""


def test_comments_of_keys_that_fall_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They stand above what comes in their place."""
    assert _convert(tmp_path, COMMENTED_V1, "--to", "v1beta1") == 0
    assert capsys.readouterr().out == COMMENTED_V1BETA1


def test_no_comment_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever a comment stands, it is kept, or its line is named and the file stays as it is."""
    lost = 0
    for number in range(120):
        source = random.Random(number)
        version, other = source.choice((("v1", "v1beta1"), ("v1beta1", "v1"), ("v1beta2", "v1beta1")))
        kind = source.choice(("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"))
        value = valid_object(Parts(source), kind, version)
        lines = block(value, source.choice((0, 2)))
        text = "".join(
            f"{line}{f' # {at}' if line.endswith((':', '{}', '[]')) and '|' not in line else ''}\n"
            for at, line in enumerate(lines)
        )
        code = _convert(tmp_path, text, "--to", other)
        output = capsys.readouterr()
        if code:
            assert output.out == ""
            lost += 1
            continue
        before, after = (
            sorted(comment for _, comment in comments_in_text(each)) for each in (text, output.out)
        )
        assert before == after
    assert lost < 6


def test_comment_without_a_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Shared anchors have the document written anew, and with it goes the comment: that is an error."""
    text = V1BETA1.replace("kind: ", "kind: &k ").replace(
        "  name: claim #", "  labels: {kind: *k}\n  name: claim #"
    )
    text = text.replace("    - name: gpu\n", "    - &r\n      name: gpu\n") + "    - {<<: *r, name: other}\n"
    assert _convert(tmp_path, text, "--to", "v1") == 1
    output = capsys.readouterr()
    assert "this comment would be lost" in output.err
    assert output.out == ""


REPORT = """apiVersion: resource.k8s.io/v1alpha3
kind: ResourcePoolStatusRequest
metadata:   {name: report}
spec: {driver: gpu.example.com}
"""


def test_kinds_with_one_version_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is nothing to convert them to, so they do not keep a file from being converted."""
    file = tmp_path / "mixed.yaml"
    file.write_text(f"{V1BETA1}---\n{REPORT}", encoding="utf-8")
    assert main(["convert", "--to", "v1", "--in-place", str(file)]) == 0
    assert file.read_text(encoding="utf-8") == f"{V1}---\n{REPORT}"
    assert _convert(tmp_path, REPORT.replace("v1alpha3", "v1beta1"), "--to", "v1") == 1
    assert "ResourcePoolStatusRequest has no version v1beta1 (it has v1alpha3)" in capsys.readouterr().err


def test_version_with_its_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--to` takes what an apiVersion is, too."""
    assert _convert(tmp_path, V1BETA1, "--to", "resource.k8s.io/v1") == 0
    assert capsys.readouterr().out == V1


def test_there_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is lost."""
    assert _convert(tmp_path, V1, "--to", "v1beta1") == 0
    assert capsys.readouterr().out == V1BETA1


def test_v1alpha3_has_the_shape_of_v1beta1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Claims from the time of 1.31 can be converted although no release serves them any more."""
    assert _convert(tmp_path, V1BETA1.replace("v1beta1", "v1alpha3"), "--to", "v1") == 0
    assert capsys.readouterr().out == V1


def test_other_objects_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Objects of other groups are passed through as they are."""
    assert _convert(tmp_path, f"{OTHER}---\n{V1BETA1}", "--to", "v1") == 0
    assert capsys.readouterr().out == f"{OTHER}---\n{V1}"


def test_object_without_a_usable_kind_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is no object of the group, whatever it looks like, is passed through."""
    text = "apiVersion: resource.k8s.io/v1\nkind: {a: b}\n"
    assert _convert(tmp_path, text, "--to", "v1beta1") == 0
    assert capsys.readouterr().out == text


def test_several_files_become_one_stream(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files are separated, and ended."""
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(V1BETA1.rstrip("\n"), encoding="utf-8")
    assert main(["convert", "--to", "v1", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{V1}---\n{V1}"


def test_in_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--in-place` rewrites files, and writes nothing else."""
    assert _convert(tmp_path, V1BETA1, "--to", "v1", "--in-place") == 0
    assert (tmp_path / "claim.yaml").read_text(encoding="utf-8") == V1
    assert capsys.readouterr().out == ""


def test_in_place_leaves_a_file_with_errors_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of a file is converted, or nothing."""
    text = f"{V1BETA1}---\n{V1BETA1.replace('count', 'number')}"
    assert _convert(tmp_path, text, "--to", "v1", "-i") == 1
    assert (tmp_path / "claim.yaml").read_text(encoding="utf-8") == text
    assert "claim.yaml:25:15: spec.devices.requests[0].number: unknown field" in capsys.readouterr().err


def test_version_that_the_kind_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the field, at its place."""
    assert _convert(tmp_path, V1, "--to", "v1alpha3") == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith(
        "claim.yaml:2:13: apiVersion: ResourceClaim has no version v1alpha3 (it has v1, v1beta2, v1beta1)\n"
    )


def test_field_that_the_version_cannot_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """v1beta1 has no difference between an empty `exactly` and none."""
    text = V1.partition("      exactly")[0] + "      exactly: {}\n"
    assert _convert(tmp_path, text, "--to", "v1beta1") == 1
    assert "spec.devices.requests[0].exactly: v1beta1 cannot hold this" in capsys.readouterr().err


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`-` is standard input, which cannot be rewritten in place."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(V1BETA1.encode())))
    assert main(["convert", "--to", "v1", "-"]) == 0
    assert capsys.readouterr().out == V1
    assert main(["convert", "--to", "v1", "-i", "-"]) == 2


def test_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be read is work that could not be done."""
    assert main(["convert", "--to", "v1", str(tmp_path / "no.yaml")]) == 2
    assert capsys.readouterr().err.endswith("no.yaml: no such file or directory\n")


def test_unknown_version(capsys: pytest.CaptureFixture[str]) -> None:
    """Versions are those that there are."""
    assert main(["convert", "--to", "v2", "x"]) == 2
    assert "invalid choice: 'v2'" in capsys.readouterr().err


ALLOCATED = """apiVersion: resource.k8s.io/v1beta2
kind: ResourceClaim
metadata: {name: claim}
status:
  allocation:
    devices:
      results:
      - {request: gpu, driver: d.example.com, pool: p, device: a, compatibilityGroups: {gpu-0: [mig]}}
"""


def test_fields_of_proposals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are kept with `--kube-version kep`, and unknown without."""
    assert _convert(tmp_path, ALLOCATED, "--to", "v1") == 1
    assert "compatibilityGroups" in capsys.readouterr().err
    assert _convert(tmp_path, ALLOCATED, "--to", "v1", "--kube-version", "kep") == 0
    assert capsys.readouterr().out == ALLOCATED.replace("v1beta2", "v1")


def test_check_lists_the_files_that_would_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written; the exit code says whether there are any."""
    monkeypatch.chdir(tmp_path)
    Path("old.yaml").write_text(V1BETA1)
    assert main(["convert", "--to", "v1", "--check", "old.yaml"]) == 1
    assert capsys.readouterr() == ("would change: old.yaml\n", "1 file would change\n")
    assert Path("old.yaml").read_text() == V1BETA1
    main(["convert", "--to", "v1", "--in-place", "old.yaml"])
    assert main(["convert", "--to", "v1", "--check", "old.yaml"]) == 0
    assert capsys.readouterr() == ("", "0 files would change, 1 file would not\n")


def test_diff_can_be_applied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lines that --in-place would change; nothing is written, and no color where no terminal is."""
    monkeypatch.chdir(tmp_path)
    Path("old.yaml").write_text(V1BETA1)
    assert main(["convert", "--to", "v1", "--diff", "old.yaml"]) == 1
    difference = capsys.readouterr().out
    assert Path("old.yaml").read_text() == V1BETA1
    assert difference.startswith("--- old.yaml\n+++ old.yaml\n@@ ")
    assert "\x1b" not in difference
    main(["convert", "--to", "v1", "old.yaml"])
    converted = capsys.readouterr().out
    applied = _applied(V1BETA1, difference)
    assert applied == converted


def test_colored_diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What goes is red, what comes is green; control characters of the file are escaped."""
    file = tmp_path / "old.yaml"
    file.write_text(V1BETA1 + "# \u202e\n", encoding="utf-8")
    main(["convert", "--to", "v1", "--diff", "--color", "always", str(file)])
    difference = capsys.readouterr().out
    assert "\x1b[31m-" in difference
    assert "\x1b[32m+" in difference
    assert "\u202e" not in difference


@pytest.mark.parametrize("option", ["--check", "--diff"])
def test_mistakes_count_more_than_changes(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that cannot be read ends with 2, and to write and not to write is a contradiction."""
    file = tmp_path / "old.yaml"
    file.write_text(V1BETA1)
    assert main(["convert", "--to", "v1", option, str(file), str(tmp_path / "nowhere.yaml")]) == 2
    assert main(["convert", "--to", "v1", option, "-i", str(file)]) == 2
    assert "use only one of them" in capsys.readouterr().err


def _applied(text: str, difference: str) -> str:
    """The text with a unified diff of one file applied."""
    lines, result, at = text.split("\n"), [], 0
    for line in difference.splitlines()[2:]:
        if line.startswith("@@"):
            start = int(line.split()[1].partition(",")[0][1:]) - 1
            result += lines[at:start]
            at = start
        elif line.startswith("+"):
            result.append(line[1:])
        else:
            assert lines[at] == line[1:]
            if line.startswith(" "):
                result.append(line[1:])
            at += 1
    return "\n".join(result + lines[at:])


def test_classic_objects_are_migrated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They have other fields, not only other forms of them."""
    text = "apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClass\nmetadata: {name: a}\ndriverName: x.example\n"
    assert _convert(tmp_path, text, "--to", "v1") == 1
    assert capsys.readouterr().err.splitlines() == [
        f"{tmp_path / 'claim.yaml'}:1:13: apiVersion: ResourceClass of classic DRA cannot be converted field by field",
        "  hint: claimcheck migrate rewrites it for v1",
    ]


_TEMPLATE = (
    "apiVersion: resource.k8s.io/{}\nkind: ResourceClaim\nmetadata: {{name: '{{{{ .Release.Name }}}}'}}\n"
)


@pytest.mark.parametrize("options", [(), ("--check",), ("--diff",), ("--in-place",)], ids=" ".join)
@pytest.mark.parametrize(
    ("template", "said"),
    [
        (
            _TEMPLATE.format("v1beta1"),
            "a.yaml:1:13: resource.k8s.io/v1beta1 in a part of a Helm chart, which is",
        ),
        (
            f"a: b\n---\n{_TEMPLATE.format('{{ .Values.v }}')}",
            "a.yaml:3:13: resource.k8s.io/{{ in a part of a",
        ),
        (
            'apiVersion: {{ include "version" . }}\nkind: ResourceClaim\n',
            "nothing was converted: templates of",
        ),
        (_TEMPLATE.format("v1"), ""),
    ],
    ids=["v1beta1", "version-from-values", "api-version-from-template", "v1"],
)
def test_a_chart_is_not_taken_for_converted(
    template: str, said: str, options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who converts a chart is told which templates are in other versions, with exit code 1; nothing is written."""
    file = tmp_path / "chart" / "templates" / "a.yaml"
    file.parent.mkdir(parents=True)
    (tmp_path / "chart" / "Chart.yaml").write_text("apiVersion: v2\nname: chart\nversion: 0.1.0\n", "utf-8")
    file.write_text(template, "utf-8")
    assert main(["convert", "--to", "v1", *options, str(tmp_path / "chart")]) == int(bool(said))
    assert said in capsys.readouterr().err
    assert file.read_text("utf-8") == template


def test_patches_that_are_not_converted_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A patch of a kustomization that is in another version fails, as objects would."""
    (tmp_path / "kustomization.yaml").write_text(
        "resources: [claim.yaml]\npatches: [{path: patch.yaml}]\n", "utf-8"
    )
    (tmp_path / "claim.yaml").write_text(V1, "utf-8")
    (tmp_path / "patch.yaml").write_text(V1BETA1, "utf-8")
    assert main(["convert", "--to", "v1", "--check", str(tmp_path)]) == 1
    assert "patch.yaml:2:13: resource.k8s.io/v1beta1 in a patch of a kust" in capsys.readouterr().err


_OF_1_34 = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, capacity: {requests: {memory: 1Gi}}}}]}}
"""


@pytest.mark.parametrize(
    ("version", "release", "complaint"),
    [
        ("v1beta1", "1.34", ""),
        (
            "v1beta1",
            "1.33",
            'spec.devices.requests[0].exactly.capacity: unknown field "spec.devices.requests[0].exactly.capacity"',
        ),
        ("v1beta2", "1.32", "apiVersion: 1.32 has no v1beta2 of ResourceClaim: it has v1beta1"),
        ("v1", "1.33", "apiVersion: 1.33 has no v1 of ResourceClaim: it has v1beta2, v1beta1"),
    ],
)
def test_for_a_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], version: str, release: str, complaint: str
) -> None:
    """A version or a field that the release does not have is an error."""
    code = _convert(tmp_path, _OF_1_34, "--to", version, "--kube-version", release)
    found = capsys.readouterr()
    assert code == (1 if complaint else 0)
    assert complaint in found.err
    assert bool(found.out) is not bool(complaint)
