# Everything a developer runs. `make help` lists it; CONTRIBUTING.md explains it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
PYTEST := $(BIN)/python -m pytest
WORKERS ?= 2
MATRIX ?= 2.1.37,2.1.52,2.1.62,2.1.120,2.1.197
SDK := claude-agent-sdk==0.2.182

# The tests start hundreds of Pythons: without compiled modules each would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test check lint test-matrix canary bench format clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /|/' | awk -F'|' '{printf "  make %-12s %s\n", $$1, $$2}'

run: $(VENV)/.run ## Serve the hub and open its page; it offers a demo that needs no account
	@$(BIN)/handrail serve

test: lint ## Run every test: unit, slow, in a browser, and end to end on the pinned real CLI
	@$(BIN)/python -m tools.tests $(WORKERS)

check: lint ## Lint, types and unit tests, in under a minute
	@$(PYTEST) -q -n $(WORKERS) --dist worksteal -p no:schemathesis --in-memory --examples 10 \
	  -m "not slow and not real_cli and not browser"

lint: $(VENV)/.dev
	@$(BIN)/ruff check src tests bench tools docs
	@$(BIN)/ruff format --check --quiet src tests bench tools docs
	@$(BIN)/mypy

test-matrix: $(VENV)/.dev ## Run the end-to-end tests on the other CLI versions
	@echo "Fetching Claude Code $(MATRIX) where it is not cached …"
	@$(BIN)/python -m handrail.testing fetch $(MATRIX) || [ "$$HANDRAIL_REQUIRE" != all ]
	@HANDRAIL_CLI_VERSIONS=$(MATRIX) $(PYTEST) -q -n $(WORKERS) tests/e2e

canary: $(VENV)/.dev ## Run the end-to-end tests on the newest CLI there is
	@HANDRAIL_CLI_VERSIONS=latest $(PYTEST) -q -n $(WORKERS) tests/e2e

bench: $(VENV)/.dev ## Measure against claude-agent-sdk and the floor; never fails
	@echo "Installing $(SDK), the peer to measure against …"
	@$(PIP) install -c constraints.txt $(SDK)
	@$(BIN)/python -m bench

format: $(VENV)/.dev ## Format the code
	@$(BIN)/ruff check --fix --quiet src tests bench tools docs || true
	@$(BIN)/ruff format --quiet src tests bench tools docs

clean: ## Remove the virtual environments and caches of this directory
	rm -rf .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Handrail needs Python 3.11 or newer; $(PYTHON) is `$(PYTHON) --version`. Try: make PYTHON=python3.12 …"; exit 1; }
	@echo "Creating $(VENV) with `$(PYTHON) --version` …"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing Handrail into $(VENV) …"
	@$(PIP) install -c constraints.txt -e '.[mcp,uvloop]'
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo "Installing the development tools into $(VENV) …"
	@$(PIP) install -c constraints.txt -e '.[mcp,uvloop,dev]'
	@touch $@
