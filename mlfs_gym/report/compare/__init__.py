"""Many schedulers on the same workloads: the comparison of the paper's evaluation, with its tables and plots."""
