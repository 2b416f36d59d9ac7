# Each target sets up what it needs: a virtual environment with the pinned versions, then the job.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# EXTRAS=dev,postgres,spark adds the engines that some tests need and else skip.
EXTRAS ?= dev
comma := ,
READY := $(VENV)/.ready-$(subst $(comma),-,$(EXTRAS))

.PHONY: demo test test-rest test-all lint format bench torture reproduction docs clean

demo: $(READY)
	$(BIN)/python examples/demo.py

# Each process of the tests takes some 2 GB. A process that has nothing left takes tests from another. Threads of linear algebra
# would wait for each other by spinning, on cores that the other processes need.
PROCESSES ?= 2
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(PROCESSES) --dist worksteal

# What takes seconds: exact tests, oracles, contracts, each mechanism end to end.
test: $(READY)
	$(PYTEST) -m "not slow"

# What does not: statistics over many runs, browsers, database servers, killed processes, the documents, the studies.
test-rest: $(READY)
	$(PYTEST) -m slow

test-all: $(READY)
	$(PYTEST)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/command_line.py
	$(BIN)/python benchmarks/report.py

# Runs killed, files spoilt, ledgers raced for, disks filled; hours, and never in CI's time. PARTS="kills disks" runs these alone.
PARTS ?=
torture: $(READY)
	$(BIN)/python -m torture $(PARTS) --results benchmarks/results/torture.json

# The paper's studies at their full size, and the document that they make; some twenty minutes on two cores.
STUDIES := nb-mixture salary contraction headline
PICTURES := nb-mixture/figures/figure_03_scatter nb-mixture/figures/by_value nb-mixture/figures/errors_equal \
	contraction/figures/figure_13_bounds contraction/figures/over_n_mixture \
	headline/figures/headline_mixture headline/figures/headline_salary
reproduction: $(READY)
	rm -rf reproduction-output && mkdir -p reproduction-output studies/results docs/figures
	set -e; for name in $(STUDIES); do \
		$(BIN)/alphasynth study $$name --size paper --out reproduction-output/$$name; \
		cp reproduction-output/$$name/results.json studies/results/$$name.json; \
	done
	cp $(PICTURES:%=reproduction-output/%.png) docs/figures
	$(BIN)/python -m alphasynth_studies.reproduction studies/results docs/reproduction.md

# The site, from docs/, docstrings and the command line; site/index.html opens in any browser, without a server or a network.
docs: $(VENV)/.ready-docs
	$(BIN)/python docs/_site/build.py site

clean:
	rm -rf $(VENV) demo-output reproduction-output site benchmarks/results .pytest_cache .mypy_cache .ruff_cache .hypothesis

# A name after .ready- is a list of extras.
$(VENV)/.ready-%: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[$(subst -,$(comma),$*)]'
	touch $@
