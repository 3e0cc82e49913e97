"""How anything is measured: cases, processes of their own, clocks, result files, tables."""
