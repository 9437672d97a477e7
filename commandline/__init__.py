"""The command `claimcheck`: arguments, and reports of what `claimcheck.answers` answers."""
