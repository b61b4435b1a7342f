"""The m16n8k16 tables against an independent table of every lane and value, and public cases."""

import ast
import dataclasses
import json
from pathlib import Path

import pytest

from tylo.layouts.atoms import ATOMS, atom
from tylo.layouts.coverage import require_covers
from tylo.layouts.errors import AtomError, OwnershipError
from tylo.layouts.layout import Layout
from tylo.layouts.notation import parse
from tylo.layouts.owners import owners
from tylo.layouts.ownership import Input, Mode, Ownership
from tylo.layouts.terms import name
from tylo.layouts.tv_layout import from_tv_layout, to_tv_layout

DATA = Path(__file__).parents[1] / "data"
TABLES = json.loads((DATA / "atoms_m16n8k16.json").read_text())["atoms"]
CASES = {
    case["id"]: case
    for case in json.loads((DATA / "cases.json").read_text())
    if case["area"] == "fragment"
}
OPERANDS = [(table, letter) for table in TABLES for letter in "ABC"]
NAMES = [f"{table['id']}.{letter}" for table, letter in OPERANDS]
# CUTLASS lists the axes of B as (N, K); the tables here say (k, n).
COLUMN_MAJOR = {"A": ("m", "k"), "B": ("n", "k"), "C": ("m", "n")}


def offset_in(text: str, thread: int, value: int) -> int:
    """The column-major offset of a thread-value layout's text, digit by digit."""
    shape, stride = (ast.literal_eval(part) for part in text.split(":"))
    total = 0
    for index, sizes, steps in zip((thread, value), shape, stride, strict=True):
        for size, step in zip(sizes, steps, strict=True):
            total += index % size * step
            index //= size
    return total


@pytest.mark.parametrize(("table", "letter"), OPERANDS, ids=NAMES)
def test_every_lane_and_value_is_where_the_table_has_it(table: dict, letter: str) -> None:
    found = atom(table["instruction"]).operand(letter)
    expected = table["operands"][letter]
    assert found.ownership.bits == table["elem_bits"][letter]
    assert list(found.ownership.shape) == expected["shape"]
    assert found.ownership.axis_names == tuple(expected["coords"].strip("[]").split(","))
    computed = [
        [list(found.ownership(lane=lane, value=value)) for value in range(len(row))]
        for lane, row in enumerate(expected["table"])
    ]
    assert computed == expected["table"]
    assert (found.ownership.thread_count, found.ownership.value_count) == (32, len(computed[0]))


@pytest.mark.parametrize(("table", "letter"), OPERANDS, ids=NAMES)
def test_owners_invert_the_table_everywhere(table: dict, letter: str) -> None:
    ownership = atom(table["instruction"]).operand(letter).ownership
    seen = 0
    for lane, row in enumerate(table["operands"][letter]["table"]):
        for value, coordinate in enumerate(row):
            assert owners(ownership, *coordinate) == [{"value": value, "lane": lane}]
            seen += 1
    assert seen == table["operands"][letter]["facts"]["total"]


@pytest.mark.parametrize(("table", "letter"), OPERANDS, ids=NAMES)
def test_coverage_agrees_with_the_stated_facts(table: dict, letter: str) -> None:
    facts = table["operands"][letter]["facts"]
    assert facts["covers_operand"]
    assert facts["distinct"] == facts["total"]
    assert require_covers(atom(table["instruction"]).operand(letter).ownership) == 1


@pytest.mark.parametrize(("table", "letter"), OPERANDS, ids=NAMES)
def test_thread_value_layouts_are_the_same_functions(table: dict, letter: str) -> None:
    text = table["operands"][letter]["tv_layout_colmajor"]
    ownership = atom(table["instruction"]).operand(letter).ownership
    written = to_tv_layout(ownership, order=COLUMN_MAJOR[letter])
    extents = dict(ownership.axes)
    read = from_tv_layout(
        parse(text),
        axes={axis: extents[axis] for axis in COLUMN_MAJOR[letter]},
        bits=ownership.bits,
    )
    for thread in range(32):
        for value in range(ownership.value_count):
            assert written(thread, value) == offset_in(text, thread, value)
            here = dict(zip(COLUMN_MAJOR[letter], read.coordinates(thread, value), strict=True))
            there = ownership.coordinates(thread, value)
            assert tuple(here[axis] for axis in ownership.axis_names) == there


@pytest.mark.parametrize("each", [*ATOMS[:4], ATOMS[-1]], ids=lambda each: each.short_name)
def test_structure_of_every_atom(each) -> None:
    m, n, k = each.tile
    for operand in each.operands:
        axes = {"A": ("m", "k"), "B": ("k", "n"), "C": ("m", "n")}[operand.letter]
        extent = {"m": m, "n": n, "k": k}
        assert operand.ownership.axes == tuple((axis, extent[axis]) for axis in axes)
        assert require_covers(operand.ownership) == 1
        registers = [operand.ownership.register(v) for v in range(operand.ownership.value_count)]
        assert registers == sorted(set(registers))
    assert each.operand("D") is each.operand("c")
    assert atom(each.name) is atom(each.short_name) is each
    assert atom(f"  {each.short_name.upper()} ") is each


def changed_tables(ownership: Ownership):
    """Each table that differs in one size or one step, as arguments of `Ownership`."""
    for side in ("values", "threads"):
        for place, source in enumerate(getattr(ownership, side)):
            for index, mode in enumerate(source.modes):
                variants = [
                    Mode(size, mode.steps) for size in {1, 2, 3, 4, 8, 16} - {mode.size}
                ] + [
                    Mode(mode.size, (*mode.steps[:axis], step, *mode.steps[axis + 1 :]))
                    for axis in range(2)
                    for step in {0, 1, 2, 3, 4, 8, 16} - {mode.steps[axis]}
                ]
                for variant in variants:
                    modes = (*source.modes[:index], variant, *source.modes[index + 1 :])
                    inputs = list(getattr(ownership, side))
                    inputs[place] = Input(source.name, modes)
                    yield {side: tuple(inputs)}


@pytest.mark.parametrize("letter", "ABC")
def test_every_single_change_of_a_table_breaks_coverage(letter: str) -> None:
    ownership = atom("mma.m16n8k16.bf16").operand(letter).ownership
    total = ownership.value_count * ownership.thread_count
    tried = 0
    for change in changed_tables(ownership):
        tried += 1
        try:
            changed = dataclasses.replace(ownership, **change)
            assert require_covers(changed) > 1, change
        except OwnershipError:
            continue
        # What covers its tile evenly, several times, has more lanes or values than the hardware.
        assert changed.value_count * changed.thread_count > total
    assert tried > 50


@pytest.mark.parametrize("case", ["F01", "F02"])
def test_cases_of_owners(case: str) -> None:
    asked = CASES[case]["input"]
    ownership = atom(asked["atom"]).operand(asked["operand"]).ownership
    found = [owners(ownership, *element) for element in asked["elements"]]
    assert found == [[owner] for owner in CASES[case]["expected"]["owners"]]


def test_case_f09_rows_and_columns_of_an_accumulators_values() -> None:
    expected = CASES["F09"]["expected"]
    accumulator = atom("mma.m16n8k16.bf16").operand("C").ownership
    rows, columns = zip(*(accumulator(value=value) for value in range(4)), strict=True)
    assert [row // 8 for row in rows] == expected["row_of_value"]
    assert list(columns) == expected["col_of_value"]
    assert len(set(rows)) == expected["rows_per_lane"]
    assert len(set(columns)) * CASES["F09"]["input"]["MMA_N"] == expected["cols_per_lane"]


def test_case_f19_coverage_of_a_declared_layout() -> None:
    case = CASES["F19"]
    given, right = case["input"]["tv_layout"], case["expected"]["correct_layout"]
    axes = dict(zip("mk", case["input"]["tile"], strict=True))

    def declared(layout: dict) -> Ownership:
        return from_tv_layout(Layout(layout["shape"], layout["stride"]), axes=axes, bits=16)

    with pytest.raises(OwnershipError) as refused:
        require_covers(declared(given))
    assert f"{case['expected']['distinct']} of 256 elements have an owner" in str(refused.value)
    assert f"{case['expected']['missing']} have none" in str(refused.value)
    assert refused.value.witness == {"m": 0, "k": 4}
    assert require_covers(declared(right)) == 1


# Cases about instructions that no table describes: the name asked for, and what the refusal says.
REFUSED_BY_NAME = {
    "F03": ("mma.m16n8k8.tf32", "no atom 'mma.m16n8k8.tf32'; known: mma.m16n8k16.bf16"),
    "F07": ("mma.m16n8k32.s8", "no atom 'mma.m16n8k32.s8'"),
    "F08": ("mma.m16n8k32.s8", "no atom 'mma.m16n8k32.s8'"),
    "F10": ("ldmatrix.m8n8.x4.b16", "matrix loads have no table yet"),
    "F11": ("ldmatrix.m8n8.x4.trans.b16", "matrix loads have no table yet"),
    "F14": ("mfma.f32.32x32x8f16", "NVIDIA's rules never apply"),
    "F15": ("nvcuda::wmma 16x16x16 accumulator", "the element order of a C++ wmma fragment"),
    "F16": ("tcgen05.ld.16x64b", "tensor memory has no table yet"),
    "F17": ("tcgen05.mma.cta_group::2", "tensor memory has no table yet"),
}


@pytest.mark.parametrize("case", REFUSED_BY_NAME)
def test_cases_out_of_scope_are_refused_by_name(case: str) -> None:
    asked, reason = REFUSED_BY_NAME[case]
    known = {CASES[case]["input"].get(key) for key in ("atom", "A")} - {None}
    assert not known or asked in known
    with pytest.raises(AtomError) as refused:
        atom(asked)
    assert reason in str(refused.value)
    assert "known: mma.m16n8k16.bf16, mma.m16n8k16.f16" in str(refused.value)


def test_case_f05_the_rank_of_a_thread_value_layout_does_not_depend_on_a_size() -> None:
    ranks = set()
    for pairs in (1, 2, 4):
        accumulator = Ownership.of(
            axes={"m": 64, "n": 8 * pairs},
            values={"value": [(2, "n", 1), (2, "m", 8), (pairs, "n", 8)]},
            threads={"thread": [(4, "n", 2), (8, "m", 1), (4, "m", 16)]},
            bits=32,
        )
        layout = to_tv_layout(accumulator)
        ranks.add((len(layout.shape[0]), len(layout.shape[1])))
        if pairs == 1:
            valid = CASES["F05"]["expected"]["one_valid_layout"]
            assert layout == Layout(valid["shape"], valid["stride"])
    assert ranks == {(3, 3)}


def test_case_f18_logical_columns_come_from_the_ownership() -> None:
    """Columns with two pairs of bits swapped are digits in another order."""
    columns = Ownership.of(
        axes={"n": 32},
        values={"raw": [(2, "n", 1), (2, "n", 8), (2, "n", 16), (2, "n", 2), (2, "n", 4)]},
        threads={},
        bits=32,
    )
    asked, expected = CASES["F18"]["input"]["columns"], CASES["F18"]["expected"]["logical"]
    assert [columns(raw=raw)[0] for raw in asked] == expected
    assert all(columns(raw=columns(raw=raw)[0])[0] == raw for raw in range(32))
    assert require_covers(columns) == 1


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("", "no atom ''"),
        ("mma.m16n8k16", "fits several atoms; say which: mma.m16n8k16.bf16, mma.m16n8k16.f16"),
        ("bf16.mma", "no atom 'bf16.mma'"),
        ("mma.m16n8k16.s8", "no atom"),
        (None, "None is no name"),
        (16, "16 is no name"),
    ],
)
def test_names_that_fit_no_atom_or_several(asked, reason: str) -> None:
    with pytest.raises(AtomError) as refused:
        atom(asked)
    assert reason in str(refused.value)


def test_parts_of_the_mnemonic_are_a_name_too() -> None:
    assert atom("m16n8k16.f16") is atom("mma.m16n8k16.f16")
    assert atom(" MMA.sync.bf16 ") is atom("mma.m16n8k16.bf16")


def test_a_symbolic_ownership_has_no_thread_value_layout() -> None:
    tall = Ownership.of(
        axes={"m": name("M")}, values={"repeat": [(name("M"), "m", 1)]}, threads={}, bits=32
    )
    with pytest.raises(OwnershipError, match="sizes M are symbolic; substitute the sizes first"):
        to_tv_layout(tall)


def test_no_operand_of_that_letter() -> None:
    with pytest.raises(AtomError, match=r"mma\.m16n8k16\.f16 has no operand 'E'; use A, B, C or D"):
        atom("mma.m16n8k16.f16").operand("E")


@pytest.mark.parametrize(
    ("layout", "axes", "reason"),
    [
        (Layout((4, 2, 2)), {"m": 16}, "is no thread-value layout"),
        (Layout(32), {"m": 32}, "is no thread-value layout"),
        (Layout((4, 3), (1, 3)), {"m": 8, "k": 4}, "reach coordinate 9 of a tile of 8"),
        (Layout((32, 1), (3, 0)), {"m": 16, "k": 8}, "does not move evenly along the axes"),
        (Layout((32, 1), (17, 0)), {"m": 16, "k": 64}, "does not move evenly along the axes"),
        (Layout((4, 2), (-1, 4)), {"m": 8}, "size 4 and stride -1"),
        (Layout((8, 2), (1, 8)), {"m": 8}, "does not move evenly"),
        (Layout((8, 2), (1, 8)), {"m": 0}, "the extent of m is 0"),
    ],
)
def test_layouts_that_are_no_ownership(layout: Layout, axes: dict, reason: str) -> None:
    with pytest.raises(OwnershipError) as refused:
        from_tv_layout(layout, axes=axes, bits=32)
    assert reason in str(refused.value)


@pytest.mark.parametrize("order", [("m",), ("m", "n"), ("m", "k", "k")])
def test_orders_that_do_not_name_each_axis(order: tuple) -> None:
    with pytest.raises(OwnershipError, match="does not name each axis once"):
        to_tv_layout(atom("mma.m16n8k16.f16").operand("A").ownership, order=order)


@pytest.mark.parametrize(
    ("text", "axes"),
    [
        ("((32,1),(4,1)):((1,0),(32,0))", {"m": 16, "k": 8}),
        ("((2,32),(2,1)):((64,1),(32,0))", {"m": 8, "k": 16}),
        ("((8,2),(4,2)):((0,4),(8,1))", {"m": 8, "k": 4}),
        ("((16,1),(4,1)):((17,0),(0,0))", {"m": 16, "k": 16}),
    ],
)
def test_layouts_come_back_as_the_same_function(text: str, axes: dict) -> None:
    ownership = from_tv_layout(parse(text), axes=axes, bits=32)
    back = to_tv_layout(ownership)
    rows = axes["m"]
    for thread in range(ownership.thread_count):
        for value in range(ownership.value_count):
            row, column = ownership.coordinates(thread, value)
            assert row + rows * column == offset_in(text, thread, value) == back(thread, value)
