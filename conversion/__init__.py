"""Conversion between the versions of ``resource.k8s.io``, through a hub with the shape of v1."""
