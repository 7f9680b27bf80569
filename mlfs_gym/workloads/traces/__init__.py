"""Readers of public traces: detect the format, check every row, count what is left out."""
