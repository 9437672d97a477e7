"""ResourceQuotas: what claims and pods count, whether they fit, and reservations that enforce limits."""
