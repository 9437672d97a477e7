"""``claimcheck simulate``: where pods would be placed, one after the other."""
