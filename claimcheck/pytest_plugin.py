"""For tests of drivers and operators with pytest: ``assert_valid``, and the fixture ``dra_cluster``.

pytest finds it by itself. It imports nothing of Claimcheck before a test asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from claimcheck import Cluster
    from claimcheck.fake_clusters import FakeCluster


def assert_valid(
    objects: Any,
    *,
    kube_version: str | None = None,
    feature_gates: Mapping[str, bool] | None = None,
    cluster: Cluster | None = None,
    old: Any = None,
    namespace: str = "default",
    warnings: bool = False,
) -> None:
    """Fail if kube-apiserver would refuse some of the objects, with all that it would say.

    :param objects: as for :func:`claimcheck.validate`, as are ``old``, the stored objects, and all else.
    :param warnings: fail for warnings as well, including those of lints.
    """
    from claimcheck import validate

    __tracebackhide__ = True
    findings = validate(
        objects,
        kube_version=kube_version,
        feature_gates=feature_gates,
        cluster=cluster,
        old=old,
        namespace=namespace,
    )
    failing = [
        each for each in findings if each.severity == "error" or (warnings and each.severity == "warning")
    ]
    if failing:
        lines = [
            line for each in failing for line in (str(each), *([f"  hint: {each.hint}"] if each.hint else ()))
        ]
        pytest.fail("\n".join(lines), pytrace=False)


@pytest.fixture
def dra_cluster(request: pytest.FixtureRequest) -> FakeCluster:
    """A cluster made of the files that ``@pytest.mark.dra_cluster(…)`` names, with a scheduler; a new one for each test.

    Paths are relative to the file of the test; further arguments are those of :meth:`claimcheck.Cluster.from_files`.
    """
    from claimcheck.fake_clusters import FakeCluster

    marker = request.node.get_closest_marker("dra_cluster")
    if marker is None or not marker.args:
        raise pytest.UsageError(
            "dra_cluster: name the files of the cluster with @pytest.mark.dra_cluster(FILE, …)"
        )
    return FakeCluster.from_files(*(request.path.parent / each for each in marker.args), **marker.kwargs)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers", "dra_cluster(*files, **options): what the cluster of the fixture dra_cluster is made of"
    )
