"""``claimcheck validate``: what kube-apiserver answers about manifests, with hints and lints."""
