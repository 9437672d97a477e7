"""How much an allocation wastes, and how fragmented devices are."""
