"""What came out: metrics, tables, plots."""
