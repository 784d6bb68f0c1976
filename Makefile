# Everything runs in .venv, which is made on first use. Needs only make and Python 3.11 or newer:
#   make test                      make demo PYTHON=python3.12
PYTHON ?= python3
NEWEST_PYTHON ?= python3.14
WORKERS ?= auto

VENV := .venv
OLDEST := .venv-oldest
NEWEST := .venv-newest
BIN := $(VENV)/bin
PIP := -m pip --disable-pip-version-check --no-input install --quiet
PIP_INSTALL := $(BIN)/python $(PIP) --constraint constraints.txt

# One thread for each worker, and compiled modules for the processes that tests start.
TEST_ENV := env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.DEFAULT_GOAL := test
.PHONY: demo examples test test-slow test-oldest test-newest bench docs accessibility gallery notebooks man dist lint format metrics clean

demo: $(VENV)/.examples
	$(BIN)/python examples/from_the_command_line.py

examples: $(VENV)/.torch
	$(BIN)/python examples/account_a_training_run.py
	@echo
	$(BIN)/python examples/release_statistics.py
	@echo
	$(BIN)/python examples/accuracy_against_epsilon.py
	@echo
	$(BIN)/python examples/regression_against_epsilon.py
	@echo
	$(BIN)/python examples/additive_effects.py
	@echo
	$(BIN)/python examples/private_median.py
	@echo
	$(BIN)/python examples/train_a_torch_model.py

test: lint
	$(TEST_ENV) $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal

# Long checks, and all property tests on new random examples.
test-slow: $(VENV)/.dev
	$(TEST_ENV) $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal -m "slow or hypothesis" \
		--hypothesis-profile=search -rP

# The front end on the oldest scikit-learn that is supported, with numpy and scipy of its time.
test-oldest: $(OLDEST)/.dev
	$(TEST_ENV) $(OLDEST)/bin/python -m pytest --numprocesses $(WORKERS) tests/sklearn tests/report tests/data tests/erm tests/methods

# The front end, accounting, noise and ledger on the newest Python.
test-newest: $(NEWEST)/.dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(NEWEST)/bin/python -m pytest --numprocesses $(WORKERS) tests/sklearn tests/accounting tests/noise tests/ledger

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/accounting.py
	$(BIN)/python benchmarks/noise.py
	$(BIN)/python benchmarks/noise_timing.py
	$(BIN)/python benchmarks/ledger.py
	$(BIN)/python benchmarks/convex_timing.py
	$(BIN)/python benchmarks/convex.py
	$(BIN)/python benchmarks/torch_engine.py
	$(BIN)/python benchmarks/torch_mnist.py
	$(BIN)/python benchmarks/planner.py
	$(BIN)/python benchmarks/audit.py
	$(BIN)/python benchmarks/audit_lira.py

docs: $(VENV)/.dev
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs build/docs
	$(BIN)/python -m pytest tests/docs
	@echo "Documentation: build/docs/index.html"

# The built pages in a browser: needs npm and Chromium; says so if they are missing.
AXE := build/axe/node_modules/axe-core/axe.min.js
accessibility: $(VENV)/.dev
	$(PIP_INSTALL) playwright
	-npm install --silent --no-save --prefix build/axe axe-core@4.14.0
	$(BIN)/python tools/accessibility.py build/docs --axe $(AXE)

gallery: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/dperm reproduce all --folder docs/gallery --force

# Execute the notebooks of the documentation and store their outputs.
notebooks: $(VENV)/.dev
	$(BIN)/python tools/execute_notebooks.py

# The manual pages of the command line; a wheel contains them.
man: $(VENV)/.core
	$(BIN)/python tools/man_pages.py build/man
	@echo "Manual pages: build/man; try: man -l build/man/dperm.1"

# The files of a release; RELEASING.md has the steps.
dist: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy --num-workers 2

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Metrics of names and docstrings; fails where a limit is exceeded.
metrics:
	$(PYTHON) tools/metrics.py src

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path "./$(VENV)/*" -prune -exec rm -rf {} +

# The stamps stand for an installed environment; changing what is required makes it anew.
$(VENV)/.core: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("dperm needs Python 3.11 or newer; $(PYTHON) is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) --upgrade "pip>=25.1" # the first with dependency groups
	$(PIP_INSTALL) --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(PIP_INSTALL) --editable . --group dev --group docs
	touch $@

$(VENV)/.examples: $(VENV)/.core
	$(PIP_INSTALL) --editable ".[examples]"
	touch $@

$(VENV)/.torch: $(VENV)/.examples
	$(PIP_INSTALL) --editable ".[examples,torch]"
	touch $@

$(OLDEST)/.dev: pyproject.toml
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python $(PIP) --editable . \
		"scikit-learn==1.6.*" "numpy==1.26.*" "scipy==1.12.*" "pandas==2.2.*" "polars>=1,<2" "pyarrow>=15,<20" \
		"pytest>=8" "pytest-xdist>=3.6" "hypothesis>=6.100" "mpmath>=1.3"
	touch $@

$(NEWEST)/.dev: pyproject.toml constraints.txt
	$(NEWEST_PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/python $(PIP) --constraint constraints.txt --upgrade "pip>=25.1"
	$(NEWEST)/bin/python $(PIP) --constraint constraints.txt --editable . --group test
	touch $@
