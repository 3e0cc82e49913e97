"""Bad calls, by what is said of them."""

from collections.abc import Callable, Mapping

import pytest

Call = Callable[[], object]
Calls = Mapping[str, Call | list[Call]]


def refusals(
    values: Calls, types: Calls | None = None, places: Calls | None = None
) -> Callable[..., None]:
    """A test for each bad call, as users see it: `test_refused = refusals({...})`.

    **Arguments:**

    - `values`: calls that raise a `ValueError`, each or a list of them by a regular expression that
      is found in its text.
    - `types`: those that raise a `TypeError`.
    - `places`: those that raise an `IndexError`.
    """
    tables = {ValueError: values, TypeError: types, IndexError: places}
    cases = [
        (error, words, call)
        for error, table in tables.items()
        for words, calls in (table or {}).items()
        for call in (calls if isinstance(calls, list) else [calls])
    ]

    @pytest.mark.usefixtures("as_users_see_it")
    @pytest.mark.parametrize(("error", "words", "call"), cases, ids=[each[1] for each in cases])
    def test(error, words, call):
        with pytest.raises(error, match=f"(?s){words}") as info:
            call()
        said = str(info.value)
        assert len(said) <= 500 and "\n" not in said

    return test
