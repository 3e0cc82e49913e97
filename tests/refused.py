"""Bad calls, by what is said of them."""

from collections.abc import Callable, Mapping

import pytest

Call = Callable[[], object]
Calls = Mapping[str, Call | list[Call]]


def refusals(values: Calls, types: Calls | None = None) -> Callable[..., None]:
    """A test for each bad call, as users see it: `test_refused = refusals({...})`.

    **Arguments:**

    - `values`: calls that raise a `ValueError`, each or a list of them by a regular expression that
      is found in its text.
    - `types`: those that raise a `TypeError`.
    """
    cases = [
        (error, words, call)
        for error, table in ((ValueError, values), (TypeError, types or {}))
        for words, calls in table.items()
        for call in (calls if isinstance(calls, list) else [calls])
    ]

    @pytest.mark.usefixtures("as_users_see_it")
    @pytest.mark.parametrize(("error", "words", "call"), cases, ids=[each[1] for each in cases])
    def test(error, words, call):
        with pytest.raises(error, match=f"(?s){words}") as info:
            call()
        assert len(str(info.value)) <= 500

    return test
