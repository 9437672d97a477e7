"""What users install: a wheel and a source distribution that work without this checkout, and without `kubernetes`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest

from tests.built_distribution import ROOT, build

EXAMPLES = ROOT / "manifests" / "examples"
NOT_INSTALLED = ("manifests/examples/", "manifests/chart/", "manifests/krew/")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution and the wheel."""
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def clean(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment with the wheel and what it requires, and nothing else."""
    environment = tmp_path_factory.mktemp("environment")
    return _installed(built[1], environment)


@pytest.fixture(scope="module")
def with_client(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the extra `kubernetes`, and pytest."""
    return _installed(built[1], tmp_path_factory.mktemp("with_client"), "kubernetes", "pytest")


def _installed(wheel: Path, environment: Path, extra: str = "", *others: str) -> Path:
    """The `bin` of an environment with the wheel, what it requires, and other distributions with what these require."""
    venv.create(environment)
    (site,) = environment.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python"), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    for each in _required(
        [*((line, extra) for line in _metadata(wheel)), *((other, "") for other in others)]
    ):
        for file in each.files or ():
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (site / top).exists():
                (site / top).symlink_to(Path(str(each.locate_file(top))))
    return environment / "bin"


def _metadata(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return re.findall(r"^Requires-Dist: (.*)$", archive.read(name).decode(), re.MULTILINE)


def _required(pending: list[tuple[str, str]]) -> list[Distribution]:
    """The installed distributions that are required, directly or not.

    :param pending: requirements, each with the extra of the distribution that has it.
    """
    # Imported here, as every process of `make test` would have to load it.
    from packaging.requirements import Requirement

    found: dict[str, Distribution] = {}
    while pending:
        line, wanted = pending.pop()
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": wanted}):
            continue
        if requirement.name not in found:
            try:
                found[requirement.name] = distribution(requirement.name)
            except PackageNotFoundError:
                pytest.fail(f"{requirement.name} is required, but not pinned in requirements.lock")
            pending += [(each, "") for each in found[requirement.name].requires or []]
    return list(found.values())


def _run(clean: Path, *arguments: str, directory: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(directory), "PYTHONSAFEPATH": "1"}
    environment.pop("PYTHONPATH", None)
    command = [str(clean / "claimcheck"), *arguments]
    return subprocess.run(
        command, check=False, cwd=directory, env=environment, capture_output=True, text=True, timeout=60
    )


def test_both_contain_what_the_program_reads_and_nothing_of_the_tests(built: tuple[Path, Path]) -> None:
    sdist, wheel = built
    with tarfile.open(sdist) as archive:
        source = {name.partition("/")[2] for name in archive.getnames()}
    with zipfile.ZipFile(wheel) as archive:
        installed = set(archive.namelist())
    for name in ("webhook/config.schema.json", "manifests/base/deployment.yaml"):
        assert name in source
        assert name in installed
    assert {"README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml"} <= source
    assert not [name for name in source | installed if name.startswith("tests/")]


def test_every_data_file_of_the_packages_is_in_the_wheel(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as archive:
        installed = set(archive.namelist())
    packages = {name.partition("/")[0] for name in installed if name.endswith("/__init__.py")}
    listed = ["git", "ls-files", "-z", "--", *sorted(packages)]
    known = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    data = [name for name in known.split("\0") if name and not name.startswith(NOT_INSTALLED)]
    assert not [name for name in data if (ROOT / name).exists() and name not in installed]


def test_what_is_large_and_only_for_tests_is_not_required(built: tuple[Path, Path]) -> None:
    required = {
        each.metadata["Name"].lower() for each in _required([(line, "") for line in _metadata(built[1])])
    }
    assert "pyyaml" in required
    assert not required & {"kubernetes", "ortools", "pandas", "pytest"}


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["--version"], 0, "claimcheck 0."),
        (["validate", str(EXAMPLES / "good")], 0, "0 invalid"),
        (["validate", str(EXAMPLES / "bad")], 1, "invalid"),
        (
            ["convert", "--to", "v1beta1", str(EXAMPLES / "good" / "prioritized-list.yaml")],
            0,
            "resource.k8s.io/v1beta1",
        ),
        (["migrate", "-q", str(EXAMPLES / "good" / "prioritized-list.yaml")], 0, "resource.k8s.io/v1"),
        (["cel", "device.driver == 'x'"], 0, "bool"),
        (["manifests", "--image", "claimcheck:1"], 0, "kind: Deployment"),
        (["quota", str(EXAMPLES / "good")], 0, ""),
    ],
    ids=lambda value: " ".join(value[:1]) if isinstance(value, list) else None,
)
def test_the_installed_command_works_in_an_empty_directory(
    clean: Path, tmp_path: Path, arguments: list[str], code: int, expected: str
) -> None:
    done = _run(clean, *arguments, directory=tmp_path)
    assert (done.returncode, done.stderr) == (code, "")
    assert expected in done.stdout


OPERATOR = Path(__file__).parent / "claimcheck" / "operator_page.py"


def _python(environment: Path, *arguments: str, directory: Path) -> subprocess.CompletedProcess[str]:
    clean = {**os.environ, "PYTHONSAFEPATH": "1"}
    clean.pop("PYTHONPATH", None)
    command = [str(environment / "python"), *arguments]
    return subprocess.run(command, check=False, cwd=directory, env=clean, capture_output=True, text=True)


def test_a_page_of_an_operator_works_with_the_wheel(with_client: Path, tmp_path: Path) -> None:
    """Objects of the package `kubernetes`, validated and explained, in an environment with nothing but the wheel and the extra."""
    cluster = EXAMPLES / "placement" / "cluster.yaml"
    done = _python(with_client, str(OPERATOR), str(cluster), directory=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "half: fits on gpu-node\nfull: fits on gpu-node\nGPU: metadata.name: refused\n"


def test_mypy_knows_the_types_of_the_wheel(with_client: Path, tmp_path: Path) -> None:
    """The page passes `mypy --strict` against the installed wheel, and wrong types do not."""
    shutil.copy(OPERATOR, tmp_path / "page.py")
    (tmp_path / "wrong.py").write_text(
        "import claimcheck\n"
        "a: int = claimcheck.validate([])\n"
        'b: int = claimcheck.ClaimcheckError("x").hint\n'
        'c: int = claimcheck.convert("x")\n'
        'd: int = claimcheck.Cluster.from_files("x").devices()\n'
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--no-error-summary"]
    command += ["--python-executable", str(with_client / "python"), "page.py", "wrong.py"]
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)
    types = re.findall(r'^(.*): error: .*expression has type "([^"]*)"', done.stdout, re.MULTILINE)
    assert types == [
        ("wrong.py:2", "list[Finding]"),
        ("wrong.py:3", "str"),
        ("wrong.py:4", "str"),
        ("wrong.py:5", "list[Device]"),
    ], done.stdout
    assert len(done.stdout.splitlines()) == len(types)


def test_pytest_finds_the_plugin_of_the_wheel(with_client: Path, tmp_path: Path) -> None:
    (tmp_path / "test_driver.py").write_text(
        "import pytest\n"
        f"@pytest.mark.dra_cluster({str(EXAMPLES / 'placement' / 'cluster.yaml')!r})\n"
        "def test_devices(dra_cluster):\n"
        "    assert len(dra_cluster.devices()) == 14\n"
    )
    done = _python(
        with_client, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers", directory=tmp_path
    )
    assert "1 passed" in done.stdout, done.stdout


def test_a_lock_is_installed_as_it_is() -> None:
    """pip asks for a hash of what a newer release requires once there is one, unless it is told to resolve nothing."""
    places = [
        ROOT / name for name in ("Makefile", "Dockerfile", "action.yml", ".ci/run", "docs/how-to/install.md")
    ]
    lines = [
        line for place in places for line in place.read_text().splitlines() if "--require-hashes" in line
    ]
    assert len(lines) == len(places)
    assert [line for line in lines if "--no-deps" not in line] == []
