"""Bad calls, by what is said of them."""

from collections.abc import Callable, Mapping

import pytest

Calls = Mapping[str, Callable[[], object]]


def refusals(values: Calls, types: Calls | None = None) -> Callable[..., None]:
    """A test for each bad call, as users see it: `test_refused = refusals({...})`.

    **Arguments:**

    - `values`: calls that raise a `ValueError`, by a regular expression that is found in its text.
    - `types`: those that raise a `TypeError`.
    """
    cases = [(ValueError, *case) for case in values.items()]
    cases += [(TypeError, *case) for case in (types or {}).items()]

    @pytest.mark.usefixtures("as_users_see_it")
    @pytest.mark.parametrize(("error", "words", "call"), cases, ids=[each[1] for each in cases])
    def test(error, words, call):
        with pytest.raises(error, match=words):
            call()

    return test
