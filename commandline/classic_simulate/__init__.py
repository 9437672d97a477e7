"""``claimcheck classic-simulate``: how kube-scheduler 1.30 and the drivers of classic DRA negotiate about pods."""
