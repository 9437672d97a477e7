"""``claimcheck schedule``: the scheduling sidecar."""
