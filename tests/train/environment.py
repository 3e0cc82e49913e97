"""A problem whose module says in which environment it is imported."""

import os

from .own import Ball as Ball

print(os.environ.get("GLIBC_TUNABLES"))
