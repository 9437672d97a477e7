"""Evaluation of type-checked CEL expressions on devices: values, libraries, programs."""
