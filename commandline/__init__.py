"""The command: ``claimcheck validate`` and ``claimcheck convert``."""
