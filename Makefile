# Every target makes or refreshes .venv by itself; nothing is needed but make and Python >= 3.11.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
JOBS ?= 2
OUT ?= out/demo

# The demo's settings: 100,000 dimensions, 200 steps of four points and four jets, and of each point
# the residual's whole gradient.
DEMO = solve allen-cahn-two-body --dim 100000 --seed 0

TORCH_PYTHON ?= python3.12

# Those that a release is tried under.
PYTHONS ?= $(shell for p in python3.11 python3.12 python3.13 python3.14; do \
	if $$p -c '' 2>/dev/null; then echo $$p; fi; done)

.PHONY: demo test test-rest oracles test-lowest test-peers lint format docs bench bench-full \
	dist clean

demo: export JAX_COMPILATION_CACHE_DIR = $(CURDIR)/.cache/compiled
demo: .venv/.installed
	$(BIN)/python -m diffop $(DEMO) --out $(OUT) --overwrite

# What is compiled is kept in .cache for the next run (tests/conftest.py). Benchmarks keep nothing:
# they time compiling. LAPACK has one thread: on busy cores several wait for each other.
test: export OPENBLAS_NUM_THREADS = 1
test: .venv/.installed
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(EVERYTHING) $(ARGS)

# What that leaves: the tests marked slow, the values of oracles whose functions have changed, and
# what depends on how XLA rounds once more, compiled as users compile (AS_USERS in tests/conftest.py).
test-rest: EVERYTHING = -m "slow or not slow" --rest --oracles=check
test-rest: test

# The values of oracles, where the functions that they are of have changed: tests/kept.
oracles: export OPENBLAS_NUM_THREADS = 1
oracles: .venv/.installed
	$(BIN)/python -m pytest -p no:xdist -q -m "slow or not slow" --oracles=write $(ARGS)

# The tests with the lowest versions that pyproject.toml allows, in an environment of their own.
test-lowest:
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python tests/lowest.py > .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m pip install --quiet --editable '.[train,test,docs]' --constraint .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

# Other packages' programs with our operators in the place of theirs, in an environment of its own.
test-peers: .venv-peers/.installed
	.venv-peers/bin/python -m pytest -q -c tests/peers/pytest.ini tests/peers $(ARGS)

.venv-peers/.installed: pyproject.toml tests/peers/requirements.txt
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --editable . --requirement tests/peers/requirements.txt
	touch $@

lint: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: .venv/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: .venv/.installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# What stands in the documentation takes two hours and 24 GB; it goes on where it was stopped.
bench: .venv/.installed
	$(BIN)/python -m benchmarks run --level short $(ARGS)

bench-full: .venv/.installed
	$(BIN)/python -m benchmarks run --level full --out out/benchmarks-full.jsonl $(ARGS)

# Wheel and sdist, tried in empty environments; TAG=v… is what the version has to be called.
dist: .venv-dist/.installed
	rm -rf dist
	.venv-dist/bin/python -m build
	.venv-dist/bin/python -m twine check --strict dist/*
	.venv-dist/bin/python tests/dist.py dist --pythons $(PYTHONS) --tag "$(TAG)"

.venv-dist/.installed: pyproject.toml
	test -x .venv-dist/bin/python || $(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python -m pip install --quiet build==1.6.1 twine==7.0.0
	touch $@

# For the rows of PyTorch; its package needs Python >= 3.12.
.venv-torch:
	$(TORCH_PYTHON) -m venv .venv-torch
	.venv-torch/bin/python -m pip install --quiet torch==2.13.0 jet-for-pytorch==1.0.0

clean:
	rm -rf .venv .venv-torch .venv-lowest .venv-peers .venv-dist .cache dist site out

# The stamp is newer than pyproject.toml exactly if what it asks for is installed.
.venv/.installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "diffop needs Python >= 3.11 on PATH; or say make PYTHON=/path/to/python" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[train,test,docs,dev]'
	touch $@
