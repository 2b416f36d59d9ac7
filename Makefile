# Each target sets up what it needs: a virtual environment with the pinned versions, then the job.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# EXTRAS=dev,postgres,spark adds the engines that some tests need and else skip.
EXTRAS ?= dev
comma := ,
READY := $(VENV)/.ready-$(subst $(comma),-,$(EXTRAS))

.PHONY: demo test lint format bench clean

demo: $(READY)
	$(BIN)/python examples/demo.py

test: $(READY)
	$(BIN)/python -m pytest

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

clean:
	rm -rf $(VENV) demo-output benchmarks/results .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[$(EXTRAS)]'
	touch $@
