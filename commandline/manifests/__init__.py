"""``claimcheck manifests``: the manifests that deploy the webhooks, or a second scheduler."""
