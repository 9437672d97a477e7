"""Why claims do not get devices, and what would help: every statement is one that the allocator has confirmed."""
