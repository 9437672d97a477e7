"""``claimcheck completion``: scripts with which shells complete commands, options and values."""
