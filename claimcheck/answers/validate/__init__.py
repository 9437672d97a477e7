"""What kube-apiserver would answer to manifests, with hints and lints."""
