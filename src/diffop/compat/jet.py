"""The interface of `jax.experimental.jet`."""

from .series import jet as jet
