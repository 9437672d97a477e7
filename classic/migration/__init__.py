"""From classic DRA (``resource.k8s.io/v1alpha2``, and ``spec.controller`` of v1alpha3) to ``resource.k8s.io/v1``."""
