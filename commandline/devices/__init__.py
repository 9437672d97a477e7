"""``claimcheck devices``: the devices of a cluster, with what they say, who says it, and who uses them."""
