"""Plots for papers: readable in print, safe for colour-blind readers, one look per scheduler everywhere."""
