"""The Kubernetes DRA API as data: kinds, versions, fields, defaults, limits, gates and value formats."""
