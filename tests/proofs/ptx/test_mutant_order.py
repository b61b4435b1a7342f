"""The order in which mutants are judged: whatever stops it early has seen every instruction."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptx_mutants import mutants
from softmax_sweep import numbered, opcode

_EXAMPLES = Path(__file__).parents[3] / "examples" / "ptx"


@pytest.mark.parametrize("name", ["masked_copy", "pack_pairs"])
def test_every_instruction_and_every_change_of_an_opcode_come_before_second_ones(
    name: str,
) -> None:
    ptx = (_EXAMPLES / f"{name}.ptx").read_text()
    text = ptx.splitlines()
    every = list(mutants(ptx, seed=1))
    turns, first = numbered(ptx)
    taken = [number for turn in turns for number in turn]
    assert len(set(taken)) == len(taken)
    assert {every[n].text for n in taken} == {each.text for each in every} - {ptx}
    lines = [every[n].line for n in turns[0]]
    assert len(set(lines)) == len(lines)
    assert set(lines) == {every[n].line for n in taken}

    def changes(numbers: list[int]) -> list[tuple[str, str]]:
        return [(opcode(text[every[n].line - 1]), every[n].kind) for n in numbers]

    assert set(changes(turns[0] + turns[1])) == set(changes(taken))
    assert set(first) <= {*turns[0], *turns[1]}
    assert sorted(set(changes(taken))) == sorted(changes(first))
