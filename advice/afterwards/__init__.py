"""Mistakes that the server reports only once those at which it stops are fixed."""
