# Every target installs what it needs into a virtual environment; Python 3.11 or newer and make must be there.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal
KERNELS := tests/test_testing.py $(addprefix tests/,functions weights clustering learners)

.PHONY: help demo test quick test-all test-oldest dist test-dist check check-bounds soak docs bench figures clean
help:
	@echo "make demo         play four families and draw their regret   (demo.png)"
	@echo "make test         all tests"
	@echo "make quick        all tests but those marked slow"
	@echo "make test-all     all tests on every installed Python; make test-3.12: on one of them"
	@echo "make test-oldest  tests of the kernels with the oldest versions that pyproject.toml allows"
	@echo "make check        ruff, mypy, import-linter"
	@echo "make check-bounds tests of the kernels with checked array indices"
	@echo "make soak         kills, threads, random calls, for two hours; SOAK=3 for minutes"
	@echo "make dist         sdist and wheel   (dist/); make test-dist also installs and runs them"
	@echo "make docs         the site, with its tutorials run   (build/docs/index.html)"
	@echo "make bench        all benchmarks; fails if a target is missed"
	@echo "make figures      renew the figures of the documentation; ONLY=knapsack for some"

demo: $(VENV)/.demo
	$(BIN)/semibandit demo --png demo.png

test: $(VENV)/.check
	$(PYTEST)

quick: $(VENV)/.check
	$(PYTEST) -m "not slow"

# Each Python has its own environment. PYENV_VERSION makes pyenv offer versions that are not its default.
test-all:
	@for v in 3.11 3.12 3.13 3.14 3.15; do \
	  if PYENV_VERSION=$$v python$$v --version 2> /dev/null; then $(MAKE) test-$$v || exit; fi; \
	done
test-3.%: export PYENV_VERSION = 3.$*
test-3.%:
	$(MAKE) test PYTHON=python3.$* VENV=.venv-3.$*

test-oldest: export PIP_CONSTRAINT = build/oldest.txt
test-oldest:
	mkdir -p build
	sed -n '/^dependencies/,/^]/s/.*"\(.*\)>=\(.*\)".*/\1==\2/p' pyproject.toml > build/oldest.txt
	PYENV_VERSION=3.11 $(MAKE) .venv-oldest/.oldest VENV=.venv-oldest PYTHON=python3.11
	NUMBA_CACHE_DIR=$$(mktemp -d) .venv-oldest/bin/python -m pytest -q -n 2 -m "not slow" $(KERNELS)

dist: $(VENV)/.dist
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

# The wheel, and the wheel built from the sdist, each in a clean environment outside the repository.
test-dist: dist
	@for archive in dist/*.whl dist/*.tar.gz; do \
	  rm -rf build/clean && $(PYTHON) -m venv build/clean && \
	  build/clean/bin/python -m pip install --quiet --disable-pip-version-check $$archive && \
	  (cd build/clean && bin/semibandit --version && bin/semibandit play knapsack --rounds 20) || exit; \
	done

check: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# In a cache of its own: numba does not distinguish code with checks from code without.
check-bounds: $(VENV)/.check
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$$(mktemp -d) $(BIN)/python -m pytest -q -p no:cacheprovider \
	  tests/test_testing.py tests/clustering $(addprefix src/semibandit/,weights functions families dispersion)

# Some need a PostgreSQL server.
soak: export SEMIBANDIT_SOAK = $(or $(SOAK),100)
soak: $(VENV)/.check
	$(PYTEST) tests/studies/test_kills.py $(wildcard tests/*/test_sequences.py)

# Warnings and broken links within the site are errors.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -n -b html -d build/doctrees docs build/docs

bench: $(VENV)/.bench
	@failed=; for script in $(filter-out $(addprefix benchmarks/,measure.py playing.py programs.py suite.py racing.py verdicts.py),$(wildcard benchmarks/*.py)); do \
	  echo "== $$script"; $(BIN)/python $$script || failed="$$failed $$script"; \
	done; test -z "$$failed" || { echo "a target was missed in:$$failed"; exit 1; }

# All figures take hours, and need minisat, xz and a folder of Pabulib files in PABULIB.
figures: $(VENV)/.bench
	$(BIN)/python tools/figures.py $(ONLY)

# One stamp per set of extras, renewed when pyproject.toml changes.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "semibandit needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: EXTRAS = plot
$(VENV)/.check: EXTRAS = check
$(VENV)/.docs: EXTRAS = docs
$(VENV)/.dist: EXTRAS = dist
$(VENV)/.bench: EXTRAS = bench
$(VENV)/.oldest: EXTRAS = oldest
$(VENV)/.demo $(VENV)/.check $(VENV)/.dist $(VENV)/.docs $(VENV)/.bench $(VENV)/.oldest: pyproject.toml | $(VENV)/bin/python
	@echo "installing the extra $(EXTRAS) into $(VENV); this takes some minutes"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$(EXTRAS)]"
	@touch $@

clean:
	rm -rf $(VENV) .venv-* build dist docs/gallery docs/reading docs/reference/api docs/reference/commands.md docs/reference/http.md .pytest_cache .mypy_cache .ruff_cache .hypothesis demo.png
