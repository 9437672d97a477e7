"""What a word on the command line can become."""

from __future__ import annotations

import pytest

from commandline.completion import FILES, NO_FILES, NO_SPACE
from commandline.lint import code_names
from commandline.main import complete, main
from commandline.reports import FORMATS
from commandline.subcommands import COMPLETE, SUBCOMMANDS, parser_of
from resourceapi.releases import MODERN_RELEASES

Answer = tuple[list[str], int]


def _complete(capsys: pytest.CaptureFixture[str], *words: str) -> Answer:
    assert main([COMPLETE, *words]) == 0
    *found, directive = capsys.readouterr().out.splitlines()
    return [line.partition("\t")[0] for line in found], int(directive.removeprefix(":"))


@pytest.mark.parametrize(
    ("words", "found", "directive"),
    [
        ([], list(SUBCOMMANDS), NO_FILES),
        ([""], list(SUBCOMMANDS), NO_FILES),
        (["mi"], ["migrate", "migrate-storage"], NO_FILES),
        (["--v"], ["--version"], NO_FILES),
        (["nonsense", ""], [], NO_FILES),
        (["help", "qu"], ["quota"], NO_FILES),
        (["help", "quota", ""], [], NO_FILES),
        (["validate", ""], [], FILES),
        (["validate", "--kube-v"], ["--kube-version"], NO_FILES),
        (
            ["validate", "--kube-version", "1.3"],
            ["1.30", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37"],
            NO_FILES,
        ),
        (["validate", "--kube-version=k"], ["--kube-version=kep"], NO_FILES),
        (["validate", "--kube-version", "1.36", "x"], [], FILES),
        (["validate", "--output", ""], list(FORMATS), NO_FILES),
        (["validate", "-o", "sar"], ["sarif"], NO_FILES),
        (["validate", "--color", ""], ["auto", "always", "never"], NO_FILES),
        (["validate", "--disable", ""], list(code_names()), NO_FILES | NO_SPACE),
        (["validate", "--disable", "CC001,CC002"], ["CC001,CC002"], NO_FILES | NO_SPACE),
        (
            ["validate", "--feature-gates", "DRAAd"],
            [
                "DRAAdminAccess=true",
                "DRAAdminAccess=false",
                "DRAAdminControlledDeviceAttributes=true",
                "DRAAdminControlledDeviceAttributes=false",
            ],
            NO_FILES | NO_SPACE,
        ),
        (["validate", "--inventory", ""], [], FILES),
        (
            ["validate", "--runtime-config", "resource.k8s.io/v1beta"],
            ["resource.k8s.io/v1beta2=true", "resource.k8s.io/v1beta1=true"],
            NO_FILES | NO_SPACE,
        ),
        (["validate", "--filename=x"], [], FILES),
        (["validate", "--jobs", ""], [], NO_FILES),
        (["validate", "--nonsense=", ""], [], FILES),
        (["validate", "--nonsense=x"], [], NO_FILES),
        (["validate", "--", "--col"], [], FILES),
        (["convert", "--to", "v1b"], ["v1beta2", "v1beta1"], NO_FILES),
        (["convert", "--kube-version", ""], list(MODERN_RELEASES), NO_FILES),
        (["simulate", "--compare=first-fit,b"], ["--compare=first-fit,best-fit"], NO_FILES | NO_SPACE),
        (["migrate-storage", ""], ["save", "clear", "restore"], NO_FILES),
        (["migrate-storage", "save", ""], [], FILES),
        (["migrate-storage", "--kubeconfig", "x", "save", ""], [], FILES),
        (["completion", ""], ["bash", "zsh", "fish"], NO_FILES),
        (["completion", "bash", "z"], [], NO_FILES),
        (["cel", "true", "x"], [], NO_FILES),
    ],
)
def test_candidates(
    words: list[str], found: list[str], directive: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands, options, their values, or files."""
    assert _complete(capsys, *words) == (found, directive)


@pytest.mark.parametrize("subcommand", SUBCOMMANDS)
def test_all_options_are_candidates(subcommand: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each that the help names."""
    found, _ = _complete(capsys, subcommand, "--")
    assert set(found) == {name for name in parser_of(subcommand).option_names() if name.startswith("--")}


@pytest.mark.parametrize("subcommand", SUBCOMMANDS)
def test_lines_are_lines(subcommand: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One tab at most, nothing that a shell would have to be protected from in the words, short descriptions."""
    main([COMPLETE, subcommand, "--"])
    for line in capsys.readouterr().out.splitlines():
        word, _, meaning = line.partition("\t")
        assert set(word) <= set("abcdefghijklmnopqrstuvwxyz-:0123456789"), word
        assert len(meaning) <= 80
        assert "\t" not in meaning


def test_for_kubectl(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """kubectl_complete-claimcheck gets what follows `kubectl claimcheck`."""
    monkeypatch.setattr("sys.argv", ["kubectl_complete-claimcheck", "validate", "--color", "al"])
    assert complete() == 0
    assert capsys.readouterr().out == f"always\n:{NO_FILES}\n"
