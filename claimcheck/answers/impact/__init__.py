"""What a change to a cluster would do to its pods, claims and devices, before it is made."""
