"""Which devices a pod's claims get on a node: kube-scheduler's answer, from plain data and without a cluster."""
