"""The devices of a cluster, and what patches and taint rules would change about them."""
