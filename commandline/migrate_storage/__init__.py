"""``claimcheck migrate-storage``: a cluster's DRA objects before and after CRDs serve them."""
