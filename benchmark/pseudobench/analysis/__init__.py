"""From run records to findings: data frames, arms, tables, comparisons."""
