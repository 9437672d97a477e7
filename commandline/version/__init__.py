"""``claimcheck version``: which version this is, and which releases it knows."""
