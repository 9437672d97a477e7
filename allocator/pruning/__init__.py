"""The search that does not explode: the same first solution, found without going through what cannot lead to one.

Why each rule that leaves something out is sound: docs/explanation/allocator.md.
"""
