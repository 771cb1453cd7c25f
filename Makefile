# Two commands matter to a newcomer: `make demo` and `make test`. Both need only Python 3.11 with pip and venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_ARGS ?=

.PHONY: demo test check tests bench study clean

demo: $(VENV)/demo.stamp
	$(BIN)/quarantine demo $(DEMO_ARGS)

test: check tests

check: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy

tests: $(VENV)/dev.stamp
	$(BIN)/pytest -n 2 --dist loadgroup

bench: $(VENV)/dev.stamp
	$(BIN)/python -m tests.benchmarks

study: $(VENV)/dev.stamp
	$(BIN)/python -m tests.study

$(VENV)/demo.stamp: pyproject.toml
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[demo]'
	touch $@

$(VENV)/dev.stamp: pyproject.toml
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist
