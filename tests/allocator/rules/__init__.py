"""Tests of the rules about devices."""
