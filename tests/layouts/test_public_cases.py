"""Questions people met in public trackers, with answers found by hand: area `layout`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tylo.layouts as tl
from tylo.layouts import Layout, LayoutError

DATA = Path(__file__).parents[1] / "data" / "cases.json"
RAW = json.loads(DATA.read_text())
CASES: dict[str, dict[str, Any]] = {
    case["id"]: case for case in (RAW if isinstance(RAW, list) else RAW["cases"])
}


def given(number: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return CASES[number]["input"], CASES[number]["expected"]


def layout(spec: dict[str, Any]) -> Layout:
    return Layout(spec["shape"], spec["stride"])


def table(value: Layout) -> list[int]:
    return [value(i) for i in range(value.size())]


def tupled(value: Any) -> Any:
    return tuple(map(tupled, value)) if isinstance(value, list) else value


@pytest.mark.parametrize("number", ["L01", "L02", "L06"])
def test_compositions_that_do_not_exist(number: str) -> None:
    asked, _ = given(number)
    a, b = layout(asked["A"]), layout(asked["B"])
    with pytest.raises(LayoutError) as refused:
        tl.composition(a, b)
    assert str(a) in str(refused.value)
    assert str(b) in str(refused.value)
    assert refused.value.witness is not None
    if number == "L06":
        assert "negative index" in str(refused.value)


@pytest.mark.parametrize("number", ["L03", "L04", "L05", "L07", "L08"])
def test_compositions_that_exist(number: str) -> None:
    asked, expected = given(number)
    result = tl.composition(layout(asked["A"]), layout(asked["B"]))
    assert tl.compatible(layout(asked["B"]), result)
    if isinstance(expected["table"], dict):
        assert result.size() == expected["table"]["size"]
        assert table(result)[:64] == expected["table"]["first64"]
    else:
        assert table(result) == expected["table"]
    assert table(result) == table(layout(expected["one_valid_layout"]))
    assert tl.is_injective(result) == (number != "L07")


def test_complement_drops_modes_of_size_one() -> None:
    asked, expected = given("L09")
    assert tl.complement(layout(asked["A"]), asked["cotarget"]) == layout(
        expected["one_valid_layout"]
    )


def test_complement_of_a_repeating_layout_names_the_pair() -> None:
    asked, _ = given("L10")
    a = layout(asked["A"])
    with pytest.raises(LayoutError, match="not injective") as refused:
        tl.complement(a, asked["cotarget"])
    first, second = refused.value.witness
    assert first != second
    assert a(first) == a(second)


def test_complement_with_a_gap_names_the_offset() -> None:
    asked, _ = given("L11")
    with pytest.raises(LayoutError) as refused:
        tl.complement(layout(asked["A"]), asked["cotarget"])
    assert refused.value.witness == 4


def test_complement_of_a_broadcast_is_that_of_its_image() -> None:
    asked, expected = given("L12")
    a = layout(asked["A"])
    rest = tl.complement(a, asked["cotarget"])
    assert rest == layout(expected["one_valid_layout"])
    assert not tl.is_injective(tl.make_layout(a, rest))


def test_layout_tiler_is_not_applied_by_mode() -> None:
    asked, expected = given("L18")
    result = tl.logical_divide(layout(asked["A"]), layout(asked["tiler_layout"]))
    assert result == layout(expected["one_valid_layout"])
    assert result[1].size() == expected["num_tiles"]


def test_overhanging_divide_has_its_predicate() -> None:
    asked, expected = given("L20")
    a, tiler = layout(asked["A"]), layout(asked["tiler_layout"])
    result = tl.logical_divide(a, tiler)
    assert result == layout(expected["one_valid_layout"])
    predicate = tl.in_bounds(tl.logical_divide, a, tiler)
    assert predicate.count() == expected["valid_coordinates"]
    assert result.size() == expected["total_coordinates"]
    assert not predicate(2, 2)
    assert not predicate(3, 2)


@pytest.mark.parametrize("number", ["L23", "L24", "L25"])
def test_coalesce(number: str) -> None:
    asked, expected = given(number)
    result = tl.coalesce(layout(asked["A"]))
    assert result == layout(expected["one_valid_layout"])
    assert len(result) == expected["rank"]
    assert table(result) == expected["table"]


def test_compatible() -> None:
    asked, expected = given("L34")
    assert [tl.compatible(tupled(a), tupled(b)) for a, b in asked["pairs"]] == expected["answers"]


def test_strides_do_not_wrap() -> None:
    asked, expected = given("L35")
    rows, columns = asked["shape"]
    batched = Layout((rows, columns, 2))
    assert batched.stride[-1] == expected["stride"]


def test_extent_of_one_does_not_count() -> None:
    asked, expected = given("L36")
    a = layout(asked["layout"])
    assert a.max_offset() == expected["max_offset"]
    assert (a.max_offset() >= 2**31) == expected["needs_64_bit"]


def test_rows_of_a_table() -> None:
    asked, expected = given("L37")
    a = layout(asked["layout"])
    assert [[a(i, j) for j in range(4)] for i in range(2)] == expected["rows"]


def test_footprint_of_a_reversed_layout() -> None:
    asked, expected = given("L38")
    a = layout(asked["layout"])
    assert (a.min_offset(), a.max_offset(), a.cosize()) == (
        expected["min_offset"],
        expected["max_offset"],
        expected["span"],
    )


def test_evaluation_stays_in_the_domain() -> None:
    asked, expected = given("L39")
    a = layout(asked["layout"])
    with pytest.raises(LayoutError, match="index 9"):
        a(asked["cases"][0]["index"])
    with pytest.raises(LayoutError, match="coordinate 5"):
        a(*asked["cases"][1]["coord"])
    assert a.extended(9) == expected["values_if_unchecked"][0]


def test_notation_round_trips_with_its_nesting() -> None:
    asked, _ = given("L40")
    layouts = [layout(spec) for spec in asked["layouts"]]
    assert [tl.parse(str(a)) for a in layouts] == layouts
    assert [eval(repr(a), {"Layout": Layout}) for a in layouts] == layouts
    assert str(layouts[0]) != str(layouts[1])


def test_right_inverse() -> None:
    asked, expected = given("L13")
    a = layout(asked["A"])
    inverse = tl.right_inverse(a)
    assert inverse == layout(expected["one_valid_layout"])
    assert [a(inverse(i)) for i in range(48)] == list(range(48))


def test_left_inverse_of_a_padded_layout() -> None:
    asked, expected = given("L14")
    a = layout(asked["A"])
    inverse = tl.left_inverse(a)
    assert inverse == layout(expected["one_valid_layout"])
    assert [inverse(a(i)) for i in range(21)] == list(range(21))


@pytest.mark.parametrize("number", ["L15", "L16"])
def test_left_inverse_of_a_repeating_layout(number: str) -> None:
    asked, _ = given(number)
    a = layout(asked["A"])
    with pytest.raises(LayoutError, match="not injective") as refused:
        tl.left_inverse(a)
    first, second = refused.value.witness
    assert first != second
    assert a(first) == a(second)


def test_inverse_reshaped() -> None:
    asked, expected = given("L17")
    result = tl.with_shape(tl.left_inverse(layout(asked["A"])), tupled(asked["shape"]))
    assert result == layout(expected["one_valid_layout"])
    assert table(result) == expected["table"]


def test_zipped_divide_with_overhang() -> None:
    asked, expected = given("L19")
    a = layout(asked["A"])
    tiler = tupled(asked["tiler_shape"])
    result = tl.zipped_divide(a, tiler)
    predicate = tl.in_bounds(tl.zipped_divide, a, tiler)
    assert [mode.size() for mode in result[1]] == expected["tiles"]
    assert result.size() == expected["total_coordinates"]
    assert predicate.count() == expected["valid_coordinates"]
    assert not predicate.always
    assert result.max_offset() == expected["max_offset_touched_without_predicate"]
    assert max(result(i) for i in range(512) if predicate(i)) == expected["max_valid_offset"]


def test_zipped_divide_that_skips_a_mode() -> None:
    asked, expected = given("L21")
    result = tl.zipped_divide(layout(asked["A"]), tupled(asked["tiler_shape"]))
    assert result == layout(expected["one_valid_layout"])


def test_product_with_a_number() -> None:
    asked, expected = given("L22")
    result = tl.logical_product(layout(asked["A"]), asked["n"])
    assert result == layout(expected["one_valid_layout"])
    assert table(result) == list(range(20))


def test_swizzle_units() -> None:
    asked, expected = given("L28")
    tile, coordinate = layout(asked["layout"]), tupled(asked["coord"])
    in_bytes = tl.Swizzle(*asked["swizzle_bytes"], unit=8)
    in_elements = in_bytes.recast(8 * asked["element_bytes"])
    assert [in_elements.bits, in_elements.base, in_elements.shift] == expected[
        "element_unit_swizzle"
    ]
    assert tl.composition(in_elements, tile)(coordinate) == expected["element_index_hardware"]
    assert tl.composition(in_bytes, tile)(coordinate) == expected["element_index_if_units_confused"]


def test_slice_of_a_swizzled_layout() -> None:
    asked, expected = given("L29")
    composed = tl.composition(tl.Swizzle(*asked["swizzle"]), layout(asked["layout"]))
    column = composed(*asked["fix"])
    assert [column(i) for i in range(column.size())] == expected["table"]
    assert tl.coalesce(column.simplified()) == layout(expected["one_valid_layout"])


def test_swizzle_that_is_not_its_own_inverse() -> None:
    asked, expected = given("L30")
    with pytest.raises(LayoutError) as refused:
        tl.Swizzle(*asked["params"])
    assert refused.value.witness == expected["witness"]


def test_upcast_of_packed_rows() -> None:
    asked, expected = given("L32")
    result = tl.upcast(layout(asked["A"]), asked["factor"])
    assert result == layout(expected["one_valid_layout"])
    assert result(1, 0) == expected["row1_byte_offset"]


def test_bits_that_do_not_divide() -> None:
    asked, _ = given("L33")
    with pytest.raises(LayoutError, match="6 and 8 bits"):
        tl.recast(layout(asked["A"]), asked["from_bits"], asked["to_bits"])
