"""``claimcheck classic-driver``: an example of a classic DRA driver."""
