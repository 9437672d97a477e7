"""What the page of ``claimcheck ui`` asks for, and the page itself, which ``web/`` is made into."""
