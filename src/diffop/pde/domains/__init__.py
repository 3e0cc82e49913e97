"""Domains, where equations hold, and the parts of their boundaries."""
