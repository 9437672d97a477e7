"""The rules, live: admission and conversion webhooks of kube-apiserver.

What is asked and answered are plain dicts (:mod:`webhook.reviews`); the verdicts are pure functions of a review and a
:class:`webhook.context.Context`; :mod:`webhook.routes` makes them routes of a server.
"""
