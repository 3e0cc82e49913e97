"""Samplers: random points of domains."""
