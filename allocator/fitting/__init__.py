"""How much an allocation wastes: what could not be placed any more afterwards."""
