"""MLF-C: system load control around any scheduler or policy (CoNEXT 2020, section 3.5; ToN 2022)."""
