"""Which jets compute a set of mixed derivatives at the least cost."""

from .plan import KINDS as KINDS, Kind as Kind, Planned as Planned, plan as plan
