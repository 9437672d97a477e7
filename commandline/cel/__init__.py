"""``claimcheck cel``: a CEL expression's verdict, cost and results on devices."""
