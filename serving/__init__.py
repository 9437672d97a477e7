"""HTTPS for routes that others hand in: worker processes, connections, certificates, reload, metrics and logs.

An application (:mod:`serving.application`) brings settings and routes (:mod:`serving.routes`); nothing in here knows what the
routes are for.
"""
