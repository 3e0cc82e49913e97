"""Many directions replaced by few, exactly: what, when and whether."""
