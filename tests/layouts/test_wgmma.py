"""The wgmma tables against the manual's formulas, independent tables, and public cases."""

import ast
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tylo.layouts.atoms import ATOMS, atom
from tylo.layouts.atoms.wgmma import COLUMNS, accumulator
from tylo.layouts.coverage import require_covers
from tylo.layouts.errors import AtomError
from tylo.layouts.owners import owners
from tylo.layouts.same_function import same_function
from tylo.layouts.terms import evaluate, name
from tylo.layouts.tiling import tile_operand
from tylo.layouts.tv_layout import to_tv_layout

DATA = Path(__file__).parents[1] / "data"
TABLES = {each["id"]: each for each in json.loads((DATA / "atoms_wgmma.json").read_text())["atoms"]}
CASES = {
    case["id"]: case
    for case in json.loads((DATA / "cases.json").read_text())
    if case["area"] == "fragment"
}
DTYPES = ("bf16", "f16")


def of(columns: int, dtype: str = "bf16"):
    return atom(f"wgmma.m64n{columns}k16.{dtype}")


def ownership_of(table: dict):
    columns = table["shape"][1] if table["operand"] == "C" else 64
    return of(columns).operand(table["operand"]).ownership


def manual_c(thread: int, value: int) -> tuple[int, int]:
    """Row and column of d_i of a warpgroup's thread, typed from the PTX ISA."""
    warp, lane = thread // 32, thread % 32
    return 16 * warp + lane // 4 + 8 * (value // 2 % 2), 8 * (value // 4) + 2 * (lane % 4) + (
        value % 2
    )


def manual_a(thread: int, value: int) -> tuple[int, int]:
    """Row and column of a_i, of two 16-bit halves to each of four registers."""
    warp, lane = thread // 32, thread % 32
    register, half = value // 2, value % 2
    return 16 * warp + lane // 4 + 8 * (register % 2), 8 * (register // 2) + 2 * (lane % 4) + half


@pytest.mark.parametrize("columns", COLUMNS)
def test_every_accumulator_is_the_manuals(columns: int) -> None:
    for dtype in DTYPES:
        found = of(columns, dtype)
        assert found.name == f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{dtype}.{dtype}"
        assert found.tile == (64, columns, 16)
        assert (found.operand("A").dtype, found.operand("D").dtype) == (dtype, "f32")
    own = of(columns).operand("C").ownership
    assert (own.shape, own.thread_count, own.value_count) == ((64, columns), 128, columns // 2)
    assert own is of(columns, "f16").operand("C").ownership
    for thread in (0, 31, 86, 127):
        for value in range(0, columns // 2, 3):
            assert own.coordinates(thread, value) == manual_c(thread, value)
    assert [own.register(value) for value in (0, 1)] == [(0, 0), (1, 0)]
    if columns in (8, 24):
        assert require_covers(own) == 1


def test_register_a_is_the_manuals() -> None:
    own = of(64).operand("A").ownership
    assert (own.shape, own.bits) == ((64, 16), 16)
    for thread in range(128):
        for value in range(8):
            assert own.coordinates(thread, value) == manual_a(thread, value)
    assert require_covers(own) == 1
    assert [own.register(value) for value in (1, 2)] == [(0, 16), (1, 0)]


@pytest.mark.parametrize("label", [label for label, each in TABLES.items() if "table" in each])
def test_every_element_is_where_the_independent_table_has_it(label: str) -> None:
    table = TABLES[label]
    own = ownership_of(table)
    assert list(own.shape) == table["shape"]
    computed = [
        [list(own.coordinates(thread, value)) for value in range(len(row))]
        for thread, row in enumerate(table["table"])
    ]
    assert computed == table["table"]
    for thread, value in ((0, 0), (37, 1), (127, len(table["table"][0]) - 1)):
        owner = {"value": value, "lane": thread % 32, "warp": thread // 32}
        assert owners(own, *table["table"][thread][value]) == [owner]


@pytest.mark.parametrize("label", TABLES)
def test_thread_value_layouts_are_the_same_functions(label: str) -> None:
    own = ownership_of(TABLES[label])
    shape, stride = (
        ast.literal_eval(part) for part in TABLES[label]["tv_layout_colmajor"].split(":")
    )
    written = to_tv_layout(own)
    for thread in (0, 3, 4, 31, 32, 100, 127):
        for value in range(own.value_count):
            offset = 0
            for index, sizes, steps in zip((thread, value), shape, stride, strict=True):
                for size, step in zip(sizes, steps, strict=True):
                    offset += index % size * step
                    index //= size
            row, column = own.coordinates(thread, value)
            assert row + 64 * column == offset == written(thread, value)


def test_case_f04_owners_in_a_warpgroup() -> None:
    asked, expected = CASES["F04"]["input"], CASES["F04"]["expected"]["owners"]
    own = of(64).operand(asked["operand"]).ownership
    for element, owner in zip(asked["elements"], expected, strict=True):
        (found,) = owners(own, *element)
        assert (found["lane"] + 32 * found["warp"], found["value"]) == (
            owner["thread"],
            owner["value"],
        )


def test_case_f05_the_least_accumulator_keeps_its_rank() -> None:
    assert len(of(8).operand("C").ownership.values[0].modes) == 3
    assert of(8).operand("C").ownership.value_count == CASES["F05"]["expected"]["values_per_thread"]


def test_a_symbolic_number_of_slices_is_every_accumulator() -> None:
    closed = accumulator(name("S"))
    terms = closed(**{each: name(each) for each in ("lane", "warp", "value")})
    for columns in (8, 40, 256):
        for thread, value in ((0, 0), (77, 3), (127, columns // 2 - 1)):
            known = {"S": columns // 8, "lane": thread % 32, "warp": thread // 32, "value": value}
            assert tuple(evaluate(each, known) for each in terms) == manual_c(thread, value)


def test_more_warpgroups_count_on() -> None:
    """Two warpgroups along m: warps 4 to 7 are the second one, inside the repeats."""
    two = tile_operand(of(16), "C", m=2, n=2, warps_m=2)
    assert (two.shape, two.thread_count) == ((256, 32), 256)
    for thread in (0, 127, 128, 255):
        for value in range(8):
            row, column = manual_c(thread % 128, value)
            for m in (0, 1):
                found = two.coordinates(thread, value + 8 * m)
                assert found == (row + 64 * (thread // 128) + 128 * m, column)
    shared = tile_operand(of(16), "A", warps_n=2)
    assert require_covers(shared) == 2
    blocked = tile_operand(of(16), "C", m=2, warps_m=2, arrangement="blocked")
    assert blocked(warp=4) == (128, 0)
    assert same_function(tile_operand(of(16), "C"), of(16).operand("C").ownership)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("wgmma", "fits several atoms; say which: wgmma.m64n8k16.bf16, wgmma.m64n8k16.f16, "),
        ("wgmma.m64n64k16", "say which: wgmma.m64n64k16.bf16, wgmma.m64n64k16.f16"),
        ("wgmma.m64nNk16", "no atom 'wgmma.m64nNk16'; known: mma.m16n8k16.bf16"),
        ("wgmma.m64n12k16.bf16", "wgmma.m64nNk16.bf16 and .f16 for N = 8, 16, ..., 256"),
        ("wgmma.m64n264k16.bf16", "no atom"),
    ],
)
def test_names_that_are_refused(asked: str, reason: str) -> None:
    with pytest.raises(AtomError) as refused:
        atom(asked)
    assert reason in str(refused.value)
    assert len(str(refused.value)) < 250


def test_b_has_no_owner() -> None:
    with pytest.raises(AtomError, match="use A, C or D; B is read from shared memory"):
        of(64).operand("B")


def test_names_and_mnemonics_are_unambiguous() -> None:
    assert len({each.name for each in ATOMS}) == len(ATOMS) == 2 + 2 * len(COLUMNS)
    for each in ATOMS[2::9]:
        assert atom(each.short_name) is atom(each.name) is each
    assert atom("wgmma.m64n8k16.bf16") is of(8)  # n8 is no prefix of n80


def test_the_tables_cost_a_query_next_to_nothing() -> None:
    """Building all of them stays far below what starting Python costs."""
    script = (
        "import time, tylo.layouts.ownership; start = time.perf_counter(); "
        "import tylo.layouts.atoms; print(time.perf_counter() - start)"
    )
    spent = []
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
        )
        spent.append(float(done.stdout))
    assert min(spent) < 0.1
    start = time.perf_counter()
    for each in ATOMS:
        atom(each.short_name)
    assert time.perf_counter() - start < 0.5
