"""``claimcheck quota``: what claims count against ResourceQuotas, and whether they fit."""
