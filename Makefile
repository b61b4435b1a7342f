# make demo | test | lint | clean        options: PYTHON=python3.12  CUDA=13
#
# Everything runs as `.venv/bin/python -m ...`: a script with a shebang breaks in a folder whose name
# has a space. Paths are relative for the same reason.

PYTHON ?= python3
CUDA ?= 12

ifeq ($(filter $(CUDA),12 13),)
$(error CUDA=$(CUDA) is not supported: use CUDA=12 or CUDA=13)
endif

PY := .venv/bin/python
CHECKED := layouts proofs codegen src/tylo tests benchmarks examples

.PHONY: demo test lint clean
.DELETE_ON_ERROR:

demo: .venv/verify-cu$(CUDA).stamp
	$(PY) examples/adjacent_atoms.py

test: .venv/test-cu$(CUDA).stamp
	$(PY) -m pytest -n auto --dist worksteal

lint: .venv/dev-cu$(CUDA).stamp
	$(PY) -m ruff check $(CHECKED)
	$(PY) -m ruff format --check $(CHECKED)
	$(PY) -m mypy

clean:
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
	find $(CHECKED) -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/python.stamp:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Tylo needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	touch $@

# One stamp for each set of extras. Installing for one CUDA major undoes the other.
.venv/%-cu$(CUDA).stamp: pyproject.toml | .venv/python.stamp
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[cu$(CUDA),$*]'
	find .venv -maxdepth 1 -name '*-cu*.stamp' ! -name '*-cu$(CUDA).stamp' -delete
	touch $@
