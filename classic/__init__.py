"""Drivers of the Dynamic Resource Allocation that Kubernetes had until 1.30 (``resource.k8s.io/v1alpha2``)."""
