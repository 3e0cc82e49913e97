"""What several tests of the engine ask for."""

import jax
import pytest

from diffop.taylor import symmetric
from diffop.taylor.replacing import forms
from diffop.taylor.sparsity import dots


@pytest.fixture
def halves(monkeypatch):
    """What is done on a lone CPU with wide layers, done with narrow ones on any machine."""
    monkeypatch.setattr(symmetric, "LEAST", 2)
    for module in (forms, dots):
        monkeypatch.setattr(module, "_LARGE", 1)
        monkeypatch.setattr(module, "on_lone_cpu", lambda *_: True)
    jax.clear_caches()
    yield
    jax.clear_caches()
