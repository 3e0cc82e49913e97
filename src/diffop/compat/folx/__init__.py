"""The interface of the package folx 0.2.30 (Gao, Köhler, Foster 2023)."""

from . import api as api
from .batched import batched_vmap as batched_vmap
from .forward import forward_laplacian as forward_laplacian
from .operators import (
    ForwardLaplacianOperator as ForwardLaplacianOperator,
    LaplacianOperator as LaplacianOperator,
    LoopLaplacianOperator as LoopLaplacianOperator,
    ParallelLaplacianOperator as ParallelLaplacianOperator,
)
from .rules import __getattr__ as __getattr__
