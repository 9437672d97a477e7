"""``claimcheck lint``: what the lints report, and why."""
