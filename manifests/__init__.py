"""The kustomizations that deploy the webhooks, and what renders them without kustomize."""
