"""Algebras: what jets are computed in, and the smallest algebra that an operator needs."""
