"""Every mutant of the opcode table is noticed.

A mutant is one change in the text of a file (`mutation`). It is judged by what other tests state as
data: the assembler's answers on which spellings and registers there are (`assembler_answers`), what
each instruction does beyond computing (`ACTIONS`), values in either reading (`table_values`), and
the value tests of instructions that more lanes than one carry out. Nothing is compared with the
table itself.

A default run takes every `EVERY`-th mutant; `-m nightly -s` takes them all and prints the counts,
those of the machine's own files too. Of these some survive: errors' wording, plumbing between
functions, values that the ISA leaves open.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, MappingProxyType
from typing import Any

import pytest

import machine_checks as checks
import table_values
from assembler_answers import differences
from mutation import Mutant, mutants
from table_equivalents import equivalent
from table_values import EXPECTATIONS, Expectation, numbers, terms
from tylo.proofs.ptx.machine import accesses, arrays, collectives, copies, floats, launch, lockstep
from tylo.proofs.ptx.machine import matrix as matrices
from tylo.proofs.ptx.opcodes import Opcode, arithmetic, bits, collective, floating, movement

EVERY = 23
# The files of the table in the order of `OPCODES`, and the tuples of each.
FILES = {
    arithmetic: ("ARITHMETIC", "COMPARISON"),
    bits: ("BITS",),
    floating: ("FLOATING",),
    movement: ("MOVEMENT", "MEMORY", "CONTROL"),
    collective: ("COLLECTIVE",),
}
# What instructions do beyond computing: a spelling, and its action.
ACTIONS = {
    "ld.param.u32": "parameter",
    "ld.global.u32": "load",
    "ld.global.nc.v4.f32": "load",
    "ld.global.cs.L2::64B.u32": "load",
    "ld.global.L1::no_allocate.u32": "load",
    "ld.global.nc.L1::no_allocate.f64": "load",
    "ld.global.ca.nc.f64": "load",
    "ld.shared.v2.u64": "load",
    "ld.const.u32": "load constant",
    "ld.const.v2.f64": "load constant",
    "ld.volatile.global.u32": "ordered load",
    "ld.volatile.shared.u64": "ordered load",
    "ld.acquire.gpu.global.u32": "ordered load",
    "ld.relaxed.cta.shared.b64": "ordered load",
    "st.global.u32": "store",
    "st.shared.v2.b64": "store",
    "st.global.L1::evict_first.u32": "store",
    "st.global.L1::evict_first.u64": "store",
    "st.volatile.shared.u32": "ordered store",
    "st.volatile.shared.u64": "ordered store",
    "st.release.gpu.global.u32": "ordered store",
    "st.release.gpu.global.u64": "ordered store",
    "atom.global.add.u32": "atomic",
    "atom.global.cas.b32": "atomic",
    "red.global.add.u32": "atomic",
    "bra": "branch",
    "ret": "return",
    "exit": "return",
    "bar.sync": "barrier",
    "barrier.sync": "barrier",
    "bar.arrive": "arrive",
    "barrier.arrive": "arrive",
    "bar.warp.sync": "warp barrier",
    "membar.cta": "fence",
    "fence.acq_rel.gpu": "fence",
    "cp.async.ca.shared.global": "copy",
    "cp.async.cg.shared.global": "copy",
    "cp.async.commit_group": "commit",
    "cp.async.wait_group": "wait",
    "cp.async.wait_all": "wait all",
    "shfl.sync.bfly.b32": "shuffle",
    "vote.sync.any.pred": "vote",
    "vote.sync.ballot.b32": "ballot",
    "match.any.sync.b32": "match",
    "activemask.b32": "active",
    "redux.sync.add.u32": "reduce",
    "redux.sync.and.b32": "reduce",
    "elect.sync": "elect",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16": "load matrix",
    "stmatrix.sync.aligned.m8n8.x2.shared.b16": "store matrix",
    "movmatrix.sync.aligned.m8n8.trans.b16": "move matrix",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32": "multiply",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32": "multiply",
}


# Which warps run an action of the machine is the schedule's affair, and judged by its own tests.
_PLUMBING = re.compile(
    r"(state|step|rows|mask|warps|lanes) -> .*|.* -> (state|step|rows|mask)|without (:|None)"
)


def table_with(changed: Any, names: dict[str, Any]) -> tuple[Opcode, ...]:
    """The table with one file's entries replaced."""
    return tuple(
        opcode
        for module, tuples in FILES.items()
        for name in tuples
        for opcode in (names[name] if module is changed else getattr(module, name))
    )


def actions_differ(table: tuple[Opcode, ...], changed: set[str]) -> bool:
    """Whether an instruction of one of the mnemonics does something else."""
    return any(
        opcode.match(spelling) is not None and opcode.action != action
        for spelling, action in ACTIONS.items()
        for opcode in table
        if opcode.mnemonic in changed
    )


def order_differs(table: tuple[Opcode, ...], changed: set[str]) -> bool:
    """Whether an entry that computes has its destination elsewhere than first (PTX ISA 4.3.2)."""
    return any(
        [kind.destination for kind in opcode.operands]
        != [True, *[False] * (len(opcode.operands) - 1)]
        for opcode in table
        if opcode.mnemonic in changed and opcode.semantics is not None
    )


def _names(code: CodeType) -> set[str]:
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _reached(function: Any, names: dict[str, Any]) -> set[str]:
    """The names of a file that a function needs, itself and through others."""
    open_names, found = _names(function.__code__) if function else set(), set[str]()
    while open_names:
        name = open_names.pop()
        if name in names and name not in found:
            found.add(name)
            if inspect.isfunction(names[name]):
                open_names |= _names(names[name].__code__)
    return found


def _text(code: CodeType) -> Any:
    constants = [_text(c) if isinstance(c, CodeType) else (type(c), c) for c in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, constants


def _meaning(function: Any) -> Any:
    """A function's text, and the values that whoever made it gave it."""
    return _text(function.__code__), [cell.cell_contents for cell in function.__closure__ or ()]


def _shape(opcode: Opcode) -> Any:
    return opcode.syntax, dict(opcode.choices), opcode.action, opcode.since


def touched(file: Any, mutant: Mutant, names: dict[str, Any]) -> tuple[set[str], set[str]]:
    """The mnemonics whose entries a mutant changes, and those whose meaning it may change."""
    old = [opcode for name in FILES[file] for opcode in getattr(file, name)]
    new = [opcode for name in FILES[file] for opcode in names[name]]
    every = {opcode.mnemonic for opcode in (*old, *new)}
    if len(old) != len(new):
        return every, every
    shapes, meanings = set(), set()
    parts = set(mutant.statement.split(","))
    for before, after in zip(old, new, strict=True):
        both = {before.mnemonic, after.mnemonic}
        if _shape(before) != _shape(after):
            shapes |= both
        functions = before.semantics, after.semantics
        if functions[0] is None or functions[1] is None:
            continue
        texts = [_meaning(function) for function in functions]
        if (
            texts[0] != texts[1]
            or functions[0].__name__ in parts
            or parts & _reached(functions[1], names)
            or _closed(functions[1], parts)
        ):
            meanings |= both
    return shapes, meanings | shapes


def _closed(function: Any, parts: set[str]) -> bool:
    """Whether a function that another one made was changed."""
    return function.__qualname__.split(".")[0] in parts


@cache
def _expected(head: str) -> list[Expectation]:
    return [each for each in EXPECTATIONS if each.head == head]


def notices(judge: Callable[..., bool], table: tuple[Opcode, ...], changed: set[str]) -> bool:
    """Whether some value differs, or nothing comes of it."""
    try:
        return any(not judge(table, each) for head in changed for each in _expected(head))
    except Exception:
        return True


def table_verdict(file: Any, mutant: Mutant, patch: pytest.MonkeyPatch) -> str:
    """How a mutant of the table is noticed; empty where it is not."""
    try:
        names = mutant.run(file.__name__)
        table = table_with(file, names)
        shapes, meanings = touched(file, mutant, names)
        if shapes and (order_differs(table, shapes) or actions_differ(table, shapes)):
            return "forms"
        if shapes and next(differences(table, shapes), ""):
            return "forms"
    except Exception:
        return "no table"
    told = [
        name
        for name, judge in (("numbers", numbers), ("terms", terms))
        if notices(judge, table, meanings)
    ]
    if not told and shapes & {"ldmatrix", "stmatrix", "bar", "barrier", "cp", "mma"}:
        with patch.context() as inside:
            inside.setattr(launch, "OPCODES", table)
            return checks.run_fails([*checks.matrices(), *checks.copies()])
    return " and ".join(told)


# The machine's reading: what its files compute, and who judges it.
TOGETHER = {
    collectives: checks.together,
    matrices: checks.matrices,
    accesses: checks.accesses,
    copies: checks.copies,
}


def machine_verdict(file: Any, mutant: Mutant, patch: pytest.MonkeyPatch) -> str:
    """How a mutant of the machine's actions is noticed."""
    try:
        names = mutant.run(file.__name__)
    except Exception:
        return "does not load"
    changed = {
        action: names[function.__name__] if function.__module__ == file.__name__ else function
        for action, function in lockstep.ACTIONS.items()
    }
    with patch.context() as inside:
        inside.setattr(lockstep, "ACTIONS", MappingProxyType(changed))
        return checks.run_fails(TOGETHER[file]())


def numbers_verdict(file: Any, mutant: Mutant, patch: pytest.MonkeyPatch) -> str:
    """How a mutant of the domain of arrays, or of its floating-point functions, is noticed."""
    try:
        names = mutant.run(file.__name__)
    except Exception:
        return "does not load"
    with patch.context() as inside:
        if file is floats:
            inside.setattr(arrays, "apply", names["apply"])
        else:
            inside.setattr(table_values, "Arrays", names["Arrays"])
        from tylo.proofs.ptx.opcodes import OPCODES

        chosen = [each for each in EXPECTATIONS if each.floating or file is arrays]
        try:
            return "" if all(numbers(OPCODES, each) for each in chosen) else "numbers"
        except Exception:
            return "numbers"


JUDGES: dict[Any, Callable[[Any, Mutant, pytest.MonkeyPatch], str]] = {
    **dict.fromkeys(FILES, table_verdict),
    **dict.fromkeys(TOGETHER, machine_verdict),
    **dict.fromkeys((arrays, floats), numbers_verdict),
}


def run(file: Any, every: int, patch: pytest.MonkeyPatch) -> tuple[Counter[str], list[str]]:
    """How the mutants of a file were noticed, and which were not."""
    source = Path(inspect.getfile(file)).read_text()
    counts: Counter[str] = Counter()
    survivors = []
    for index, mutant in enumerate(mutants(source)):
        if index % every or (file in TOGETHER and _PLUMBING.fullmatch(mutant.change)):
            continue
        verdict = JUDGES[file](file, mutant, patch)
        line = source.splitlines()[mutant.line - 1].strip()
        reason = "" if verdict else equivalent(mutant.change, line)
        counts[verdict or ("equivalent" if reason else "survives")] += 1
        if not verdict and not reason:
            survivors.append(f"{mutant.statement}: {mutant.change} in: {line}")
    return counts, survivors


def _name(file: Any) -> str:
    return str(file.__name__.rpartition(".")[2])


@pytest.mark.parametrize("file", FILES, ids=_name)
def test_a_sample_of_mutants_is_noticed(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, survivors = run(file, EVERY, monkeypatch)
    assert counts.total() > 4
    assert survivors == []


@pytest.mark.nightly
@pytest.mark.parametrize("file", JUDGES, ids=_name)
def test_every_mutant_is_noticed(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the table, every one; of the machine's own files, it counts them."""
    counts, survivors = run(file, 1, monkeypatch)
    print(_name(file), dict(counts), *survivors, sep="\n")
    assert survivors == [] or file not in FILES
