"""A server of HTTP over TLS, in worker processes: connections, certificates, reload, metrics and logs."""
