"""MLF-H: the heuristic of MLFS. Priority (eqs 2-6), ideal-virtual-server placement, overload migration."""
