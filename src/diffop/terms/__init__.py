"""Terms of operators: their arithmetic, canonical form, rewriting and evaluation."""
