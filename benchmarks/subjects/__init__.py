"""What is measured: networks, points, equations, and other ways to differentiate them."""
