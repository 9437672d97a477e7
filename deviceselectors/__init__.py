"""CEL expressions of device selectors and derived attributes: parsing, type checking, cost and evaluation."""
