"""Advice beyond the server's answer: hints on how to fix an error, and lints for objects that the server accepts."""
