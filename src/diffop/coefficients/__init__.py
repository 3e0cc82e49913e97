"""Blocks: coefficients whose axes say which directions and entries they belong to."""
