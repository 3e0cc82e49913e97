"""Users' classes and functions by their paths: `package.module:name`."""

import importlib
from typing import Any

from .nearest import nearest


def is_path(value: Any) -> bool:
    """Whether it is a path and not a name of the library."""
    return isinstance(value, str) and ":" in value


def path_of(value: Any) -> str:
    """The path of a class or a function."""
    return f"{value.__module__}:{value.__qualname__}"


def found_at(path: str, what: str) -> Any:
    """The object at a path.

    **Arguments:**

    - `path`: `package.module:name`.
    - `what`: what it is, for errors: `"problem"`.

    **Raises:** `ValueError` if there is no such module, or nothing of that name in it.
    """
    module, _, name = path.partition(":")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise  # an import inside the module failed
        raise ValueError(
            f"there is no module {error.name!r} to import the {what} {path!r} from; install it, or "
            "start where it lies."
        ) from None
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be a name, or package.module:NAME, got {path!r}.") from None
    if not hasattr(found, name):
        raise ValueError(
            f"the module {module!r} has nothing called {name!r}, got {path!r}"
            f"{nearest(name, vars(found))}."
        )
    return getattr(found, name)
