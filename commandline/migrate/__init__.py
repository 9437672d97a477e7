"""``claimcheck migrate``: manifests of classic DRA in today's API."""
