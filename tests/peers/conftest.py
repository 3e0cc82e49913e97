"""Settings that the tests in other packages' programs share."""

from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

# Programs run once, on little: compiling them takes the time. What is compiled is kept.
jax.config.update("jax_disable_most_optimizations", True)
jax.config.update("jax_compilation_cache_dir", str(Path(__file__).parents[2] / ".cache" / "peers"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
