# Every target builds .venv by itself when it is missing or older than a pyproject.toml.
# Plugins are found by their folders: a new plugins/<name>/pyproject.toml needs no change here.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip --disable-pip-version-check
STAMP := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.installed-docs
PROJECTS := $(sort $(wildcard plugins/*/pyproject.toml))
EDITABLE := $(foreach project,$(PROJECTS),-e ./$(patsubst %/,%,$(dir $(project))))
TEST_ARGS ?=
BENCH_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test lint format types imports bench wheels smoke docs ci clean $(VENV)

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV): $(STAMP)  ## the environment: core and every plugin, editable, with the test and lint tools

$(STAMP): pyproject.toml $(PROJECTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "$(PYTHON) is older than 3.11: run make PYTHON=/path/to/python3.11 (or newer)"; exit 1; }
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet 'hatchling>=1.24' 'editables>=0.5'
	$(PIP) install --quiet --no-build-isolation -e '.[test,dev]' $(EDITABLE)
	@touch $@

$(DOCS_STAMP): $(STAMP)
	$(PIP) install --quiet --no-build-isolation -e '.[docs]'
	@touch $@

demo: $(STAMP)  ## compile, run and check the example kernels
	$(PY) examples/demo.py

test: $(STAMP)  ## every test of the kernel and of the plugins
	$(PY) -m pytest -n auto --dist loadfile $(TEST_ARGS)

lint: $(STAMP)  ## style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(STAMP)  ## mend what lint can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(STAMP)  ## static types, strict for the kernel and the plugins
	$(BIN)/basedpyright

imports: $(STAMP)  ## which package may import which
	$(PY) scripts/import_rules.py

bench: $(STAMP)  ## the figures, each beside its target
	$(PY) -m benchmarks $(BENCH_ARGS)

wheels: $(STAMP)  ## wheels of the kernel and of every plugin, in dist/
	$(PY) scripts/build_wheels.py dist

smoke: wheels  ## install the wheels one by one into an empty environment
	$(PY) scripts/smoke_wheels.py dist

docs: $(DOCS_STAMP)  ## the manual, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

ci: $(STAMP)  ## all that a change has to pass
	bash .ci/run

clean:  ## remove everything that make made
	rm -rf $(VENV) dist build site .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
