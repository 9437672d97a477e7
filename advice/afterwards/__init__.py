"""Mistakes that the server will report once those are fixed at which it stops."""
