"""Other ways to take derivatives, as the paper and its peers do: to be compared with."""

from ._base import AbstractBaseline as AbstractBaseline, Local as Local
from ._estimate import estimate as estimate
from ._finite_differences import FiniteDifferences as FiniteDifferences
from ._folx import Folx as Folx
from ._forward_over_reverse import ForwardOverReverse as ForwardOverReverse
from ._hte import HTE as HTE
from ._jet import Jet as Jet
from ._names import as_baseline as as_baseline, names as names
from ._paper import paper as paper
from ._sdgd import SDGD as SDGD
from ._sdgd_loop import SDGDLoop as SDGDLoop
from ._stein import Stein as Stein
