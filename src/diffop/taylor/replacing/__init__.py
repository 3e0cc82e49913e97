"""Replacing many directions by few, exactly: what is computed, when and whether."""
