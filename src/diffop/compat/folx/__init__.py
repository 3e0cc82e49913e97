"""The interface of the package folx 0.2.30 (Gao, Köhler, Foster 2023)."""

from . import ad as ad, api as api
from .interpreter import forward_laplacian as forward_laplacian
from .operators import (
    ForwardLaplacianOperator as ForwardLaplacianOperator,
    LaplacianOperator as LaplacianOperator,
    LoopLaplacianOperator as LoopLaplacianOperator,
    ParallelLaplacianOperator as ParallelLaplacianOperator,
)
from .vmap import batched_vmap as batched_vmap
from .wrapped_functions import (
    deregister_function as deregister_function,
    register_function as register_function,
)
from .wrapper import (
    warp_without_fwd_laplacian as warp_without_fwd_laplacian,
    wrap_forward_laplacian as wrap_forward_laplacian,
)
