"""Follows a cluster beside its kube-scheduler, and tells why pods wait for devices."""
