"""Replays measured answers of kube-apiserver: `python -m tests.conformance FILE…`."""
