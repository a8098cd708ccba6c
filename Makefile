# Everything a developer runs; `make help` lists it. What is given on the command line (make run PORT=9000) or in the
# environment reaches the programs as it is.

PYTHON ?= python3
JOBS ?= 2

VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m
COMPILE := $(RUN) uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url --python-version 3.11
# These start servers, browsers and process groups of their own, and measure time: one after the other.
# What fails is run once more, alone: on a shared machine a process may stall for seconds. What fails twice is broken, and
# what passes then is named in the output: an unsteady test is a fault to mend.
define steadily
$(RUN) coverage run -m pytest $(1) || { echo "=== These failed, and are run once more. What passes now is unsteady: mend it. ==="; \
	  $(RUN) coverage run -m pytest -n 0 -v --last-failed --last-failed-no-failures none $(2); }
endef
ALONE := $(wildcard tests/console/embedded tests/acceptance tests/conformance tests/fuzz tests/interop tests/browser tests/chaos)

.DEFAULT_GOAL := help
.PHONY: help run test lint format bench bench-endpoint bench-hints bench-store bench-retention bench-long chaos conformance fuzz screenshots shell requirements clean clean-data

help: ## list these commands
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/.run ## start Taskdeck on this machine and print its address; Ctrl-C stops it
	@exec $(BIN)/python manage.py up

test: lint ## check everything: format, lint, types, import rule, then every test with coverage
	@$(PYTHON) tools/browser.py
	@$(RUN) coverage erase
	$(call steadily,-n $(JOBS) $(ALONE:%=--ignore=%),$(ALONE:%=--ignore=%))
	$(call steadily,-n 0 $(ALONE),$(ALONE))
	@$(RUN) coverage combine --quiet
	@$(RUN) coverage report

lint: $(VENV)/.test ## format check, ruff, mypy, import rule
	$(RUN) ruff format --check
	$(RUN) ruff check
	$(RUN) mypy
	$(BIN)/python $(BIN)/lint-imports --no-logo

format: $(VENV)/.test ## rewrite the code in the project's format and fix what can be fixed
	$(RUN) ruff check --fix-only
	$(RUN) ruff format

bench: bench-endpoint bench-hints bench-store ## measure everything side by side with something else, and print ratios

bench-endpoint: $(VENV)/.test ## the endpoint in both dialects beside FastMCP with Redis
	@$(RUN) tests.bench.endpoint

bench-hints: $(VENV)/.test ## tasks a second and how soon they start, beside one message a task
	@$(RUN) tests.bench.hints

bench-store: $(VENV)/.test ## the store beside bare rows
	@$(RUN) tests.bench.store

bench-retention: $(VENV)/.test ## expiry, purge and export under load (ROWS=20000 for a short form)
	@$(RUN) tests.bench.retention $(if $(ROWS),--rows $(ROWS))

# Each is measured, whatever the one before missed.
bench-long: $(VENV)/.test ## a million tasks: the store beside bare rows, pages and sockets, expiry, purge and export
	@missed=; for what in store pages retention; do \
	  echo "\n== $$what"; $(RUN) tests.bench.$$what --long || missed="$$missed $$what"; \
	done; test -z "$$missed" || { echo "missed:$$missed"; exit 1; }

chaos: $(VENV)/.test ## three minutes of faults under load (SECONDS=1800 TASKS=20000 for the long form)
	@$(RUN) tests.chaos --seconds $(or $(SECONDS),180) --tasks $(or $(TASKS),2000)

conformance: $(VENV)/.test ## the official conformance suite, as a table
	@$(RUN) tests.conformance

fuzz: $(VENV)/.test ## the long form of the property tests and of bad input
	TASKDECK_FUZZ=1 $(RUN) pytest -n 0 --timeout 0 tests/properties tests/fuzz

screenshots: $(VENV)/.test ## every page, light and dark, wide and on a phone, into docs/images
	@$(RUN) tests.screenshots

shell: $(VENV)/.run ## a Python shell on the database of the Taskdeck that `make run` is running
	@exec $(BIN)/python manage.py shell

requirements: $(VENV)/.test ## remake the pinned requirements from pyproject.toml (UPGRADE=--upgrade for newer ones)
	echo uv | $(COMPILE) $(UPGRADE) - -o requirements/install.txt
	$(COMPILE) $(UPGRADE) pyproject.toml --extra embedded -o requirements/run.txt
	$(COMPILE) $(UPGRADE) pyproject.toml --extra embedded --extra test -c requirements/run.txt -o requirements/test.txt
	echo 'mcp<2' | $(COMPILE) $(UPGRADE) - -o requirements/interop-mcp1.txt
	echo 'mcp>=2' | $(COMPILE) $(UPGRADE) - -o requirements/interop-mcp2.txt
	echo 'fastmcp[tasks]>=4' | $(COMPILE) $(UPGRADE) - -o requirements/interop-fastmcp.txt

clean: ## remove the environment and every cache; the data stays
	rm -rf $(VENV) .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache htmlcov staticfiles test-results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

clean-data: ## remove .taskdeck: every task, account and secret of this machine's Taskdeck
	rm -rf .taskdeck

# The stamps make a second run start at once, and a change of the pins install again.
$(VENV)/.run: requirements/run.txt requirements/install.txt
	@$(PYTHON) tools/install.py $(VENV) requirements/run.txt
	@touch $@

$(VENV)/.test: requirements/test.txt requirements/install.txt
	@$(PYTHON) tools/install.py $(VENV) requirements/test.txt
	@touch $(VENV)/.run $@
