"""Random points of the domains."""
