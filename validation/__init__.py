"""kube-apiserver's answer to a request, worked out offline."""
