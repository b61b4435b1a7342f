"""Shared bytes, against sets of bytes; and that huge counts are answered at once."""

from __future__ import annotations

import time

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tylo.codegen.tensors.overlap import ByteRows, shared_byte

rows = st.builds(
    ByteRows,
    start=st.integers(0, 60),
    width=st.integers(0, 8),
    count=st.integers(0, 9),
    pitch=st.integers(0, 40),
)


def held(each: ByteRows) -> list[set[int]]:
    starts = [each.start + row * each.pitch for row in range(each.count)]
    return [set(range(start, start + each.width)) for start in starts]


@settings(max_examples=400)
@given(rows, rows)
@example(ByteRows(0, 4, 5, 10), ByteRows(7, 3, 5, 10))
@example(ByteRows(0, 4, 5, 10), ByteRows(3, 3, 5, 10))
@example(ByteRows(0, 1, 9, 6), ByteRows(33, 1, 3, 10))
def test_exactly_the_bytes_that_sets_share(left: ByteRows, right: ByteRows) -> None:
    other = set().union(*held(right))
    found = shared_byte(left, right)
    first = next((row & other for row in held(left) if row & other), None)
    if first is None:
        assert found is None
    else:
        assert found in first


def test_two_billion_rows_take_no_time() -> None:
    start = time.perf_counter()
    many = ByteRows(0, 6, 2**31, 1_000_003 * 16)
    assert shared_byte(many, ByteRows(3, 6, 2**31, 999_983 * 16)) is not None
    assert shared_byte(many, ByteRows(8, 6, 2**31, 999_983 * 16)) is None
    assert shared_byte(many, ByteRows(8, 6, 2**31, 1_000_003 * 16)) is None
    assert shared_byte(ByteRows(0, 6, 2**31, 32), ByteRows(8, 6, 2**31, 48)) is None
    assert shared_byte(ByteRows(0, 6, 2**31, 32), ByteRows(8, 6, 2**31, 24)) == 32
    assert time.perf_counter() - start < 0.5
