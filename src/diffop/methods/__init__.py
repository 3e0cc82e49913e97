"""How a step is made: by a gradient, or by all that a loss knows of itself."""
