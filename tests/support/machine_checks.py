"""The value tests of the machine as checks that can be called: what a mutant of it must fail."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest


def example(name: str) -> Any:
    """A test's module, loaded apart from pytest."""
    path = Path(__file__).parents[1] / "proofs" / "ptx" / "machine" / name
    specification = importlib.util.spec_from_file_location(f"values_{path.stem}", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@cache
def together() -> list[Callable[[], None]]:
    """The value tests of instructions that lanes carry out together."""
    found: list[Callable[[], None]] = []
    module = example("test_collectives.py")
    for true in (0, 1, 0xFFFFFFFF, 0xF0F0AA55):
        found.append(partial(module.test_votes, true, None))
    for name in ("votes_of_some_lanes", "match", "elect", "movmatrix"):
        found.append(partial(getattr(module, f"test_{name}"), None))
    found += [partial(module.test_redux, each, None) for each in module.REDUCTIONS]
    found += [partial(module.test_shuffles, mode, None) for mode in ("up", "down", "bfly", "idx")]
    return found


@cache
def faults() -> list[Callable[[], None]]:
    """Kernels that misbehave, and what the machine must say of each."""
    module = example("test_faults.py")
    found = [partial(module.test_fault, *each) for each in module.test_fault.pytestmark[0].args[1]]
    for arguments in module.test_exchange_needs_its_barrier.pytestmark[0].args[1]:
        found.append(partial(module.test_exchange_needs_its_barrier, *arguments, 0))
    return [*found, module.test_reading_unwritten_global_memory_is_a_fault]


@cache
def matrices() -> list[Callable[[], None]]:
    """The value tests of matrix instructions, and the faults."""
    module = example("test_collectives.py")
    found = [partial(module.test_mma, *shape) for shape in module.SHAPES]
    for count in (1, 2, 4):
        for transposed in (False, True):
            found.append(partial(module.test_stmatrix, count, transposed, None))
            found.append(partial(module.test_ldmatrix, count, transposed, None))
    return [*found, partial(module.test_movmatrix, None), *faults()]


@cache
def accesses() -> list[Callable[[], None]]:
    """The value tests of loads, stores and atomics, and the faults."""
    module = example("test_accesses.py")
    found = [partial(module.test_loads, *each, "shared") for each in module.LOADS]
    found += [
        partial(module.test_loads, "u32", 4, "%r", space) for space in ("global", "local", "")
    ]
    for kind, count in (("s8", 2), ("u32", 4), ("b64", 1)):
        found += [partial(module.test_stores, kind, count, each) for each in ("global", "shared")]
    for operation, kind in module.ATOMICS:
        found.append(
            partial(module.test_atomics_on_one_place_and_on_many, operation, kind, "shared", None)
        )
    found += [partial(module.test_updates_without_a_result, "add", "f32")]
    return [*found, *faults()]


@cache
def copies() -> list[Callable[[], None]]:
    """The tests of asynchronous copies, and the faults."""
    module = example("test_accesses.py")
    sizes = (("ca", 4), ("ca", 8), ("cg", 16))
    found = [partial(module.test_copies_fill_with_zeros, *each, 1) for each in sizes]
    kernels = example("test_faults.py")
    for arguments in kernels.test_copies_need_wait_and_barrier.pytestmark[0].args[1]:
        found += [
            partial(kernels.test_copies_need_wait_and_barrier, *arguments, seed)
            for seed in range(4)
        ]
    return [*found, *faults()]


def run_fails(checks: list[Callable[[], None]]) -> str:
    """Whether a test of values or faults fails."""
    for check in checks:
        try:
            check()
        except (Exception, pytest.fail.Exception):
            return "values"
    return ""
