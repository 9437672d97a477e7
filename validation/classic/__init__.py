"""What must hold for the kinds of classic DRA (``resource.k8s.io/v1alpha2``) and for pods of Kubernetes 1.30."""
