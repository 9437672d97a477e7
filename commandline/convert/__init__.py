"""``claimcheck convert``: manifests in another API version."""
