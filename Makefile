# Every target sets up what it needs: only Python 3.11 (or newer) and make have to be there.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: help demo test check check-bounds docs bench racing suite clean
help:
	@echo "make demo    play the game on a stream and draw the regret curves   (demo.png)"
	@echo "make test    all tests"
	@echo "make check   ruff, mypy, import-linter"
	@echo "make check-bounds   what runs every kernel, with its indices checked"
	@echo "make docs    the site, with its tutorials run   (build/docs/index.html)"
	@echo "make bench   every performance claim, as ratios; fails where a target is missed"
	@echo "make racing  what tuning deploys on four programs, against a grid, Optuna and SMAC3"
	@echo "make suite   the regret of all learners and peers, and the tables of docs/regret.md"

demo: $(VENV)/.demo
	$(BIN)/semibandit play knapsack --rounds 3000 --seed 0 --probes 3 --png demo.png

test: $(VENV)/.check
	$(BIN)/python -m pytest -n 2 --dist worksteal

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

# The regret of every learner and of the peers, with the tables of docs/regret.md; takes hours.
suite: $(VENV)/.bench
	$(BIN)/python benchmarks/suite.py --seeds 20 --write

# What tuning deploys on four real programs, against peers; takes hours, and needs minisat and flac.
racing: $(VENV)/.bench
	$(BIN)/python benchmarks/racing.py

# One stamp per set of extras, renewed when the dependencies change.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "semibandit needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: EXTRAS = plot
$(VENV)/.check: EXTRAS = check
$(VENV)/.docs: EXTRAS = docs
$(VENV)/.bench: EXTRAS = bench
$(VENV)/.demo $(VENV)/.check $(VENV)/.docs $(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$(EXTRAS)]"
	@touch $@

clean:
	rm -rf $(VENV) build dist docs/gallery docs/reading docs/reference/api docs/reference/commands docs/reference/service .pytest_cache .mypy_cache .ruff_cache .hypothesis demo.png
