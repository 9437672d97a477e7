"""The seed of what is random in a run: a fresh one, unless CLAIMCHECK_E2E_SEED names that of a run to be repeated."""

from __future__ import annotations

import os
import secrets

SEED = os.environ.get("CLAIMCHECK_E2E_SEED") or secrets.token_hex(4)
# The processes of pytest-xdist inherit it: they must all come to the same tests.
os.environ["CLAIMCHECK_E2E_SEED"] = SEED
