"""``claimcheck serve``: the webhooks."""
