"""The messages and services by which kubelet 1.30 and a resource driver talk on a node."""
