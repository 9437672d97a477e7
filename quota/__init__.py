"""What claims count against ResourceQuotas, every alternative included, and reservations that hold limits."""
