# Each target sets up what it needs: a virtual environment with the pinned versions, then the job.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint format bench clean

demo: $(VENV)/.ready
	$(BIN)/python examples/demo.py

test: $(VENV)/.ready
	$(BIN)/python -m pytest

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.ready
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) demo-output benchmarks/results .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@
