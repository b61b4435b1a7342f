"""The machine that runs PTX without a device, and a device: whole kernels, and collectives.

Example kernels, packing kernels with their generated tests, and instructions in which lanes meet.
Equal bit by bit, but for approximate instructions, which agree within their documented error.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import one_warp
from tylo.codegen.launch import Device, Input, Output
from tylo.codegen.nvrtc import compile
from tylo.codegen.pack_operand_a.cuda_test_data import float32_words
from tylo.codegen.pack_operand_a.cuda_tests import cuda_tests
from tylo.codegen.pack_operand_a.source import kernel_source
from tylo.layouts.errors import LaunchError
from tylo.proofs.ptx.machine.launch import launch
from tylo.proofs.specifications.pack_operand_a import ENTRY

SEED = 7
SIZES = [(1, 1, 1), (2, 2, 1), (1, 2, 2)]


def machine_file(name: str) -> Any:
    """A file of the machine's own tests, as a module."""
    path = Path(__file__).parents[1] / "proofs" / "ptx" / "machine" / name
    specification = importlib.util.spec_from_file_location(f"machine_{path.stem}", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def examples() -> dict[str, str]:
    """The machine's own example kernels."""
    sources: dict[str, str] = machine_file("conftest.py").SOURCES
    return sources


def _integers(low: int, high: int, shape: Any, kind: Any) -> Any:
    return np.random.default_rng(SEED).integers(low, high, size=shape).astype(kind)


def _small_bfloats(shape: tuple[int, int]) -> Any:
    single = _integers(-8, 8, shape, np.float32)
    return (single.view(np.uint32) >> 16).astype(np.uint16)


INT = np.int32
# Grid, block, arguments; an `Output` stands where the kernel writes.
EXAMPLES: dict[str, tuple[Any, Any, Callable[[], list[Any]]]] = {
    "block_sum": (
        3,
        128,
        lambda: [
            np.random.default_rng(SEED).normal(size=(3, 1000)).astype(np.float32),
            Output(3, np.float32),
            INT(1000),
        ],
    ),
    "collatz": (2, 48, lambda: [_integers(1, 200, 96, np.uint32), Output(96, np.uint32)]),
    "transpose": (
        (2, 2),
        (32, 4),
        lambda: [
            np.random.default_rng(SEED).normal(size=(64, 64)).astype(np.float32),
            Output((64, 64), np.float32),
            INT(64),
        ],
    ),
    "stages": (
        1,
        128,
        lambda: [_integers(0, 1000, (7, 512), np.int32), Output(128, np.int32), INT(7)],
    ),
    "product": (
        1,
        32,
        lambda: [_small_bfloats((16, 16)), _small_bfloats((16, 8)), Output((16, 8), np.float32)],
    ),
    "histogram": (
        2,
        64,
        lambda: [_integers(0, 256, 1000, np.uint8), Output(256, np.uint32), INT(1000)],
    ),
    "hand_over": (
        1,
        64,
        lambda: [_integers(0, 1000, (5, 32), np.int32), Output(32, np.int32), INT(5)],
    ),
    "local_sort": (
        1,
        40,
        lambda: [_integers(-99, 99, (40, 8), np.int32), Output((40, 8), np.int32)],
    ),
    "softmax": (
        3,
        32,
        lambda: [
            np.random.default_rng(SEED).normal(size=(3, 32)).astype(np.float32),
            Output((3, 32), np.float32),
        ],
    ),
}


def both(
    device: Device, architecture: str, source: str, entry: str, grid: Any, block: Any, given: Any
) -> tuple[Any, Any, frozenset[str]]:
    """One compilation, run on the device and on the machine: both outputs."""
    compiled = compile(source, architecture, kernels=[entry])
    module = device.load(compiled.cubin, architecture)
    passed = [Input(each) if isinstance(each, np.ndarray) else each for each in given]
    (found,) = module.launch(entry, grid, block, passed)
    output = next(each for each in given if isinstance(each, Output))
    expected = np.frombuffer(bytearray(b"\xff" * found.nbytes), output.dtype).reshape(found.shape)
    arrays = [expected if each is output else each for each in given]
    report = launch(compiled.ptx, entry, grid, block, arrays, seed=1)
    return expected, found, report.approximate


@pytest.mark.gpu
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_kernels(device: Device, architecture: str, name: str) -> None:
    grid, block, arguments = EXAMPLES[name]
    source = examples()[name]
    expected, found, open_ones = both(device, architecture, source, name, grid, block, arguments())
    if open_ones:
        print(f"{name}: approximate {sorted(open_ones)}")
        assert np.allclose(found, expected, rtol=1e-6)
    else:
        assert found.tobytes() == expected.tobytes()


@pytest.mark.gpu
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_pack_kernels_and_generated_tests(
    device: Device, architecture: str, tile_of: Any, dtype: str, sizes: tuple[int, int, int]
) -> None:
    tile = tile_of(dtype, sizes)
    words = float32_words(8 * tile.elements, dtype, SEED)
    output = Output(8 * tile.elements // 2, np.uint32)
    expected, found, _ = both(
        device, architecture, kernel_source(tile), ENTRY, 8, tile.threads, [words, output]
    )
    assert found.tobytes() == expected.tobytes()
    for test in cuda_tests(tile):
        output = Output(test.result_words, np.uint32)
        expected, found, _ = both(
            device, architecture, test.source, test.entry, 1, test.threads, [output]
        )
        assert found.tolist() == expected.tolist()


def collectives(module: Any) -> dict[str, Callable[[], None]]:
    """The value tests of votes, reductions and matrix instructions, each to be called."""
    found = {}
    for true in (0, 1, 1 << 31, 0xFFFFFFFF, 0xF0F0AA55):
        found[f"votes {true:#x}"] = partial(module.test_votes, true, None)
    for name in ("votes_of_some_lanes", "match", "elect", "movmatrix"):
        found[name] = partial(getattr(module, f"test_{name}"), None)
    for mode in ("up", "down", "bfly", "idx"):
        found[f"shuffles {mode}"] = partial(module.test_shuffles, mode, None)
    for operation in module.REDUCTIONS:
        found[f"redux {operation}"] = partial(module.test_redux, operation, None)
    for count in (1, 2, 4):
        for transposed in (False, True):
            for name in ("stmatrix", "ldmatrix"):
                test = getattr(module, f"test_{name}")
                found[f"{name} x{count} {transposed}"] = partial(test, count, transposed, None)
    for shape in module.SHAPES:
        found["mma " + ".".join(shape)] = partial(module.test_mma, *shape)
    return found


@pytest.mark.gpu
def test_collectives_have_the_same_values_on_a_device(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine's own value tests, with the device in the machine's place."""
    module = machine_file("test_collectives.py")

    def on_device(
        text: str, entry: str, grid: int, threads: int, given: list[Any], seed: int | None
    ) -> None:
        x, y = given[0], given[1].array
        output = Output(y.shape, y.dtype)
        (y[...],) = device.load_ptx(text).launch(entry, grid, threads, [Input(x), output])

    monkeypatch.setattr(one_warp, "launch", on_device)
    wrong = []
    for name, check in collectives(module).items():
        try:
            check()
        except (AssertionError, LaunchError) as reason:
            wrong.append(f"{name}: {str(reason)[:200]}")
    assert not wrong, "\n".join(wrong)


def test_every_example_has_arguments() -> None:
    assert EXAMPLES.keys() == examples().keys()
