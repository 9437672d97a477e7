"""``claimcheck explain``: why pods and claims get no devices, and what would help."""
