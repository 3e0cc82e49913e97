"""Names that changed work for a release."""

import pytest

import diffop as do


@pytest.mark.parametrize("old, new", [("Sparse", "SparseRows"), ("Dense", "DenseRows")])
def test_old_names_warn_and_work(old, new):
    with pytest.warns(DeprecationWarning, match=f"diffop.jets.{old} is now {new}"):
        assert getattr(do.jets, old) is getattr(do.jets, new)


def test_other_names_are_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'Spares'"):
        do.jets.Spares  # noqa: B018
