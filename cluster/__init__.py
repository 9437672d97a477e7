"""The one way to a live cluster: client, list and watch, and what is known of its objects."""
