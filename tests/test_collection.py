"""What it costs to collect the tests, which every process of `make test` does: counted, so that slow machines do not matter."""

from __future__ import annotations

import pytest

from tests.conftest import COLLECTION_WORK

# With some room above what there is. Whoever comes to a limit should look first whether a file of cases is read, or
# something large computed, where the module is imported, rather than in the test or a fixture.
MAX_MODULES_OF_OTHERS = 900
MAX_BYTES = 60_000_000
MAX_ID = 220


def test_collecting_stays_cheap(pytestconfig: pytest.Config) -> None:
    """The modules of others that are loaded, the bytes that are read, and the length of the longest id are bounded."""
    work = pytestconfig.stash[COLLECTION_WORK]
    print(work)
    assert work.modules_of_others <= MAX_MODULES_OF_OTHERS
    assert work.bytes_read <= MAX_BYTES
    assert len(work.longest_id) <= MAX_ID, work.longest_id
