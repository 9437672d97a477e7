"""Which names are taken for misspelt ones."""

from __future__ import annotations

import pytest

from advice.lints.named_objects import Misspellings


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("gpu.exmaple.com", "gpu.example.com"),
        ("gpu.nvida.com", "gpu.nvidia.com"),
        ("gpu.example.co", "gpu.example.com"),
        ("dranett", "dranet"),
        ("gup-claim", "gpu-claim"),
        ("single-gpus", "single-gpu"),
        ("shared-templete", "shared-template"),
        ("sharedgpu", "shared-gpu"),
        ("single_gpu", "single-gpu"),
        ("foo--bar", "foo-bar"),
        ("vf-tst8", "vf-test8"),
    ],
)
def test_misspelt(word: str, name: str) -> None:
    """Letters that are missing, doubled, exchanged or others, and separators."""
    assert Misspellings(["other", name, "claim"]).meant_by(word) == name


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("claim-1", "claim-2"),
        ("claim-a", "claim-b"),
        ("2-gpu", "4-gpu"),
        ("gpu1", "gpu"),
        ("a100", "h100"),
        ("gpu.nvidia.com", "cpu.nvidia.com"),
        ("qat-template-sym", "qat-template-asym"),
        ("vgpu", "gpu"),
        ("dra.net", "dranet"),
        ("gpu-small", "gpu-large"),
        ("gpu", "gpu"),
        ("", "a"),
        ("x" * 300, "x" * 299),
    ],
)
def test_other_names(word: str, name: str) -> None:
    """Names of different things, as people tell them apart."""
    assert Misspellings([name]).meant_by(word) == ""
