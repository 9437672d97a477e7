"""``claimcheck help``: how to use a command."""
