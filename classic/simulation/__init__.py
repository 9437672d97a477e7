"""The negotiation of kube-scheduler 1.30 with the drivers of classic DRA, without a cluster, in virtual time."""
