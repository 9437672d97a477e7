"""The kubelet's side of a classic driver: what a node plugin serves, and the CDI specs that it writes."""
