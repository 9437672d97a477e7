"""Answers about Kubernetes Dynamic Resource Allocation, offline."""
