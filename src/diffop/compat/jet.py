"""The interface of `jax.experimental.jet`."""

from ._jet import jet as jet
