"""Questions of their own, with tables of their own; pages of the documentation explain them."""
