"""``claimcheck inject-ca``: the webhooks' certificate authority in the API server's configuration objects."""
