"""A claim about somebody's PTX, as a small TOML file: what the kernel copies, from where to where.

The file names the entry, the threads of a block, every parameter in order, and the stores. It says
nothing about how the kernel does it. `read_claim` checks what can be checked without the PTX;
`claim_effect.lower` makes the `Effect` that is proven.

>>> claim = claim_from_text('''
... schema = "tylo.ptx-claim/1"
... entry = "copy"
... threads = 128
... arguments = ["x", "y", "scratch"]
...
... [buffer.x]
... direction = "in"
... element = "f32"
... elements_per_block = 512
... alignment = 16
...
... [buffer.y]
... direction = "out"
... element = "f32"
... elements_per_block = 512
... alignment = 16
...
... [unused]
... scratch = 64
...
... [[store]]
... into = "y[block * 512 + thread * 4 + value]"
... from = "x[block * 512 + thread * 4 + value]"
... values = 4
... ''', "copy.toml")
>>> claim.threads, [size.name for size in claim.unused], claim.stores[0].values
(128, ['scratch'], 4)
>>> claim_from_text('schema = "tylo.ptx-claim/1"', "empty.toml")
Traceback (most recent call last):
tylo.layouts.errors.ClaimError: empty.toml: entry is missing; it is a string

TOML, because it has comments and no brackets to count, and the standard library reads it. The keys
are listed in ``docs/check_ptx.md``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tylo.layouts.errors import ClaimError
from tylo.layouts.ownership import Ownership
from tylo.layouts.terms import Integer
from tylo.proofs.effects import Buffer, Direction, Less, Matrix, Parameter
from tylo.proofs.effects.axes import block_of
from tylo.proofs.ptx.claim_grid import Grid, read_grid, writer_of
from tylo.proofs.ptx.claim_ownership import read_ownership
from tylo.proofs.ptx.claim_tables import Table
from tylo.proofs.ptx.claim_terms import (
    Access,
    is_name,
    read_access,
    read_condition,
    read_source,
    read_term,
)

_Built = TypeVar("_Built")

SCHEMA = "tylo.ptx-claim/1"
MOST_VALUES = 256  # of one store
ELEMENTS = {
    **{f"{kind}{bits}": bits for kind in "bus" for bits in (8, 16, 32, 64)},
    **{"b128": 128, "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "e4m3": 8, "e5m2": 8},
}
_DIRECTIONS: dict[str, Direction] = {"in": "in", "out": "out"}
_LARGEST_FILE = 1 << 20
_LARGEST = (1 << 63) - 1
_MOST_ALIGNMENT = 1 << 20


@dataclass(frozen=True, slots=True)
class ClaimedStore:
    """One ``[[store]]``: what each thread writes, for each `value` below `values`.

    `writer` says who writes an element, where the proof needs it: block, thread, round and step. A
    value that is `computed` has that name, and only what it is made of is proven: an element of the
    source and of each in `others`, unless it may be a `constant`.
    """

    table: Table
    into: Access
    source: Access
    values: int
    vector: int | None
    where: tuple[Less, ...]
    rounds: Integer
    steps: Integer
    ownership: Ownership | None
    writer: dict[str, Integer] | None
    computed: str = ""
    constant: bool = False
    others: tuple[Access, ...] = ()


@dataclass(frozen=True, slots=True)
class PtxClaim:
    """A claim's file, read; terms still have the names of its author."""

    table: Table
    entry: str
    grid: Grid
    target: str | None
    arguments: tuple[str, ...]
    buffers: tuple[Buffer, ...]
    strides: dict[str, Integer]  # of inputs that have rows
    sizes: tuple[Parameter, ...]
    unused: tuple[Parameter, ...]
    preconditions: tuple[Less, ...]
    definitions: dict[str, Integer]
    stores: tuple[ClaimedStore, ...]

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.grid.threads


def read_claim(path: Path) -> PtxClaim:
    """The claim in a file; raises `ClaimError` for whatever is none."""
    text = read_text(path, _LARGEST_FILE, "a claim")
    return claim_from_text(text, str(path))


def read_text(path: Path, most: int, what: str) -> str:
    """The text of a plain file of at most `most` bytes; raises `ClaimError`."""
    hint = f"name a file that holds {what}"
    try:
        plain, folder = path.is_file(), path.is_dir()
        if plain:
            with path.open("rb") as stream:
                data = stream.read(most + 1)
    except (OSError, ValueError) as reason:
        shown = getattr(reason, "strerror", None) or reason
        raise ClaimError(f"cannot read {path}: {shown}", hint=hint) from None
    if not plain:
        raise ClaimError(f"{path} is {'a folder' if folder else 'no file'}", hint=hint)
    if len(data) > most:
        raise ClaimError(f"{path} is longer than {most} bytes", hint=hint)
    if not data.strip():
        raise ClaimError(f"{path} is empty", hint=hint)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as reason:
        raise ClaimError(
            f"{path} is not UTF-8 at byte {reason.start}", hint=f"{hint} as text"
        ) from None


def claim_from_text(text: str, file: str) -> PtxClaim:
    """The claim that `text` holds; `file` is what errors call it."""
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as reason:
        raise ClaimError(
            f"{file} is no TOML: {reason}", hint="docs/check_ptx.md shows a claim's file"
        ) from None
    top = Table(file, "", data)
    if not top.has("schema") or top.data["schema"] != SCHEMA:
        top.fail(f"schema is {top.data.get('schema')!r}", hint=f'write schema = "{SCHEMA}"')
    entry, grid = top.text("entry"), read_grid(top)
    arguments = tuple(top.texts("arguments"))
    buffers = top.table("buffer")
    sizes = top.table("size") if top.has("size") else Table(file, "size", {})
    unused = top.table("unused") if top.has("unused") else Table(file, "unused", {})
    definitions = top.table("let") if top.has("let") else Table(file, "let", {})
    strides: dict[str, Integer] = {}
    claim = PtxClaim(
        top,
        entry,
        grid,
        top.text("target") if top.has("target") else None,
        arguments,
        tuple(_buffer(name, buffers.table(name), strides) for name in buffers.data),
        strides,
        tuple(_size(name, sizes.table(name)) for name in sizes.data),
        tuple(_unused(name, unused) for name in unused.data),
        _conditions(top, "assume"),
        {name: definitions.read(name, read_term) for name in definitions.data},
        tuple(_store(table, grid) for table in top.tables("store")),
    )
    top.finish()
    for names in (buffers, sizes, unused, definitions):
        _check_names(names)
    _check_arguments(claim)
    return claim


def _check_names(table: Table) -> None:
    """Names that terms can mention: TOML has others, between quotes, which nobody could mean."""
    for name in table.data:
        if not is_name(name):
            table.fail(
                f"{name!r} is no name", hint="use letters, digits and _, and begin with a letter"
            )


def _check_arguments(claim: PtxClaim) -> None:
    declared = [each.name for each in claim.buffers]
    declared += [each.name for each in (*claim.sizes, *claim.unused)]
    for name in claim.arguments:
        if claim.arguments.count(name) > 1:
            claim.table.fail(f"arguments has {name!r} twice", hint="name each parameter once")
        if declared.count(name) != 1:
            claim.table.fail(
                f"arguments has {name!r}, which is declared {declared.count(name)} times",
                hint=f"declare [buffer.{name}], [size.{name}] or {name} under [unused], once",
            )
    for name in declared:
        if name not in claim.arguments:
            claim.table.fail(
                f"{name!r} is declared and is no argument",
                hint="list every parameter of the entry in arguments, in its order",
            )


def _buffer(name: str, table: Table, strides: dict[str, Integer]) -> Buffer:
    """A buffer; that of an input with rows is noted in `strides`."""
    total = table.has("elements")
    if not total and not table.has("elements_per_block"):
        table.fail(
            "has no length", hint="give elements, those of all blocks, or elements_per_block"
        )
    if table.has("stride"):
        strides[name] = table.read("stride", read_term)
        if table.data.get("direction") == "out":
            table.fail("stride of what is written", hint="say written = { rows, columns, stride }")
    matrix = table.table("written") if table.has("written") else None
    shape = None
    if matrix is not None:
        shape = Matrix(*(matrix.read(key, read_term) for key in ("rows", "columns", "stride")))
        matrix.finish()
    return _built(
        table,
        lambda: Buffer(
            name,
            table.one_of("direction", _DIRECTIONS),
            table.one_of("element", ELEMENTS),
            None if total else table.read("elements_per_block", read_term),
            table.integer("alignment", 1, _MOST_ALIGNMENT),
            table.read("elements", read_term) if total else None,
            shape,
        ),
    )


def _size(name: str, table: Table) -> Parameter:
    bits = table.integer("bits", 32, 64)
    return _built(
        table,
        lambda: Parameter(
            name, bits, table.integer("least", 0, _LARGEST), table.integer("most", 0, _LARGEST)
        ),
    )


def _unused(name: str, table: Table) -> Parameter:
    """A parameter that may have any value, which therefore no access and no value depends on."""
    bits = table.integer(name, 32, 64)
    return _built(table, lambda: Parameter(name, bits, 0, (1 << bits) - 1), finished=False)


def _store(table: Table, grid: Grid) -> ClaimedStore:
    owner = read_ownership(table) if table.has("ownership") else None
    count = _count(owner) if owner else 1
    writer = table.table("writer") if table.has("writer") else None
    source, *others = _sources(table)
    found = ClaimedStore(
        table,
        table.read("into", read_access),
        source,
        table.integer("values", 1, MOST_VALUES) if table.has("values") else count,
        table.integer("vector", 1, 16) if table.has("vector") else None,
        _conditions(table, "where"),
        table.read("rounds", read_term) if table.has("rounds") else 1,
        table.read("steps", read_term) if table.has("steps") else 1,
        owner,
        None if writer is None else _writer(writer, grid),
        table.text("computed") if table.has("computed") else "",
        table.flag("constant"),
        tuple(others),
    )
    if not found.computed and (found.constant or others):
        table.fail(
            "a constant or several sources where nothing is computed",
            hint='say computed = "its name"',
        )
    if owner and found.values != owner.value_count:
        table.fail(f"values is {found.values}", hint=f"each thread owns {owner.value_count}")
    if found.vector and found.values % found.vector:
        table.fail(f"vector is {found.vector}", hint=f"it divides values, here {found.values}")
    table.finish()
    return found


def _sources(table: Table) -> list[Access]:
    if not isinstance(table.data.get("from"), list):
        return [table.read("from", read_source)]
    found = [table.parsed("from", text, read_source) for text in table.texts("from")]
    if not found or len({each.buffer for each in found}) < len(found):
        table.fail("from has no buffer, or one twice", hint="name each buffer once")
    return found


def _count(owner: Ownership) -> int:
    found = owner.value_count
    assert isinstance(found, int), "repeats are numbers here"
    return found


def _writer(table: Table, grid: Grid) -> dict[str, Integer]:
    """Who writes an element: a block and a thread, by number or by axis, a round and a step."""
    stated: dict[str, Integer] = {}
    known = [*grid.thread_names(), "round", "step"]
    for each in (name for name in known if name.rpartition("_")[0] != "blocks"):
        if table.has(each):
            stated[each] = table.read(each, read_term)
    table.finish()
    found = writer_of(grid, stated)
    for each in ("thread", "block", *map(block_of, grid.further)):
        if each not in found:
            called = f"{each}_x" if each == "block" and grid.further else each
            table.fail(f"{called} is missing", hint="it is a string")
    for each in ("thread", "block"):
        several = [name for name in stated if name == each or name.startswith(f"{each}_")]
        if each in stated and len(several) > 1:
            table.fail(f"has {' and '.join(several)}", hint=f"state {each} once")
    return {"round": 0, "step": 0, **found}


def _conditions(table: Table, key: str) -> tuple[Less, ...]:
    if not table.has(key):
        return ()
    lines = table.texts(key)
    return tuple(less for line in lines for less in table.parsed(key, line, read_condition))


def _built(table: Table, build: Callable[[], _Built], finished: bool = True) -> _Built:
    """What `build` makes; its refusal names the table."""
    try:
        built = build()
    except ClaimError as reason:
        if reason.message.startswith(f"{table.file}: "):
            raise
        table.fail(reason.message, reason.hint)
    if finished:
        table.finish()
    return built
