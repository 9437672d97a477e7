"""The product counts against ResourceQuotas as a real kube-apiserver does."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.conformance import quotas
from tests.conformance.report import difference
from tests.e2e.control_plane import ApiServer
from tests.e2e.quota_cases import QuotaProber, quota_cases
from tests.e2e.seed import SEED

CASES = 60


def test_random_sequences_are_charged_alike(api_server: Callable[[str], ApiServer]) -> None:
    """Every request is admitted or refused as by the server, and every usage after it is the same.

    The sequences are fresh in every run; set CLAIMCHECK_E2E_SEED to the seed that a failure prints to see them again.
    """
    profile = random.Random(SEED).choice(("1.37", "1.37-all"))
    print(f"CLAIMCHECK_E2E_SEED={SEED} profile {profile}")
    recorded = QuotaProber(api_server(profile)).record(quota_cases(profile, SEED, CASES))
    compared = [(case, quotas.compare(case, quotas.answer(case))) for case in recorded]
    differing = [difference(case, result) for case, result in compared if not result.answer]
    print("\n".join(differing))
    assert not differing
