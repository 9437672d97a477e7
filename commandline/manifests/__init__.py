"""``claimcheck manifests``: the manifests that deploy the webhooks."""
