"""Merging ResourceSlicePatches (KEP-5027) and DeviceTaintRules (KEP-5055) into the devices of slices."""

from allocator.patches.merge import PatchFailure, merged_slices

__all__ = ["PatchFailure", "merged_slices"]
