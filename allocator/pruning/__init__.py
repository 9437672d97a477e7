"""A search with constraint propagation, which finds the first solution of the plain search in far fewer steps.

Why each rule that skips a branch is sound: docs/explanation/search.md.
"""
