"""The one way to a live cluster: client, list and watch, and collections of its objects."""
