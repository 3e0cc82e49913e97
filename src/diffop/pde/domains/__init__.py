"""Where equations hold: domains, and the parts of their boundaries."""
