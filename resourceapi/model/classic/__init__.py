"""The structs of classic DRA: ``resource.k8s.io/v1alpha2`` as Kubernetes 1.30 served it, and pods of that release."""
