"""Gandiva: time slices, packing and migration (Xiao et al., OSDI 2018)."""
