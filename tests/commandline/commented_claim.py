"""A claim with comments, in two versions: what rewrites files keeps them."""

from __future__ import annotations

V1BETA1 = """# a claim
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaim
metadata:
  name: claim # its name
spec:
  devices:
    requests:
    # what it wants
    - name: gpu
      deviceClassName: "gpu.example.com"   # the class
      count: 2
"""
V1 = """# a claim
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: claim # its name
spec:
  devices:
    requests:
    # what it wants
    - name: gpu
      exactly:
        deviceClassName: "gpu.example.com"   # the class
        count: 2
"""
