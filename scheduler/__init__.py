"""The scheduling sidecar: gives devices to the claims of pods as the extender of a kube-scheduler."""
