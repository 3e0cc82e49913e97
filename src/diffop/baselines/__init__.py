"""Other ways to take derivatives, as the paper and its peers do: to be compared with."""

from .autodiff import (
    HTE as HTE,
    SDGD as SDGD,
    ForwardOverReverse as ForwardOverReverse,
    Jet as Jet,
    SDGDLoop as SDGDLoop,
)
from .base import AbstractBaseline as AbstractBaseline, Local as Local
from .directions import Weighted as Weighted
from .evaluation import estimate as estimate
from .finite_differences import FiniteDifferences as FiniteDifferences
from .folx import Folx as Folx
from .paper_plan import paper as paper
from .registry import as_baseline as as_baseline, names as names
from .stein import Stein as Stein
