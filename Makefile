# Every target sets up what it needs: only Python 3.11 (or newer) and make have to be there.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: help demo test quick test-all dist check check-bounds docs bench figures clean
help:
	@echo "make demo    play the game on a stream and draw the regret curves   (demo.png)"
	@echo "make test    all tests"
	@echo "make quick   all tests but those marked slow"
	@echo "make test-all   all tests on each Python that is here; make test-3.12: on one of them"
	@echo "make check   ruff, mypy, import-linter"
	@echo "make check-bounds   what runs every kernel, with its indices checked"
	@echo "make dist    sdist and wheel   (dist/)"
	@echo "make docs    the site, with its tutorials run   (build/docs/index.html)"
	@echo "make bench   every performance claim, as ratios; fails where a target is missed"
	@echo "make figures the figures of the documentation, from their commands; ONLY=knapsack for those of a page"

demo: $(VENV)/.demo
	$(BIN)/semibandit play knapsack --kind spanner --rho-max 2 --rounds 3000 --seed 0 --png demo.png

test: $(VENV)/.check
	$(BIN)/python -m pytest -n 2 --dist worksteal

quick: $(VENV)/.check
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

# Each Python has an environment of its own. pyenv shows those that are not its default on request.
test-all:
	@for v in 3.11 3.12 3.13 3.14 3.15; do \
	  if PYENV_VERSION=$$v python$$v --version 2> /dev/null; then $(MAKE) test-$$v || exit; fi; \
	done
test-3.%: export PYENV_VERSION = 3.$*
test-3.%:
	$(MAKE) test PYTHON=python3.$* VENV=.venv-3.$*

dist: $(VENV)/.dist
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

check: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Compiled anew, as numba does not tell machine code with checks from that without. Two minutes, most of which
# compile: the contract of every family, cluster trees, and the examples of what has kernels.
check-bounds: $(VENV)/.check
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$$(mktemp -d) $(BIN)/python -m pytest -q -p no:cacheprovider \
	  tests/test_testing.py tests/clustering $(addprefix src/semibandit/,weights functions families dispersion)

# A warning is an error, a link within the site that leads nowhere as well.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -n -b html -d build/doctrees docs build/docs

bench: $(VENV)/.bench
	@failed=; for script in $(filter-out benchmarks/measure.py benchmarks/suite.py benchmarks/racing.py,$(wildcard benchmarks/*.py)); do \
	  echo "== $$script"; $(BIN)/python $$script || failed="$$failed $$script"; \
	done; test -z "$$failed" || { echo "a target was missed in:$$failed"; exit 1; }

# All of them take hours, and need minisat, flac, xz and a folder of Pabulib files in PABULIB.
figures: $(VENV)/.bench
	$(BIN)/python tools/figures.py $(ONLY)

# One stamp per set of extras, renewed when the dependencies change.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "semibandit needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: EXTRAS = plot
$(VENV)/.check: EXTRAS = check
$(VENV)/.docs: EXTRAS = docs
$(VENV)/.dist: EXTRAS = dist
$(VENV)/.bench: EXTRAS = bench
$(VENV)/.demo $(VENV)/.check $(VENV)/.dist $(VENV)/.docs $(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	@echo "installing what this needs into $(VENV), once; that may take some minutes"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$(EXTRAS)]"
	@touch $@

clean:
	rm -rf $(VENV) .venv-3.* build dist docs/gallery docs/reading docs/reference/api docs/reference/commands.md docs/reference/http.md .pytest_cache .mypy_cache .ruff_cache .hypothesis demo.png
