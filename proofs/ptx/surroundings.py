"""What stands around an entry: a module that is validated holds the one kernel and nothing else.

Variables, functions and further entries have no place in an effect, so they are refused rather than
ignored. The same goes for what an entry promises to the assembler: how many threads there are, and
what its pointers point to. Each promise must follow from the effect, else the assembler may use
what is not so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from tylo.layouts.errors import PtxError
from tylo.proofs.effects import Buffer, Effect
from tylo.proofs.ptx.program import (
    TYPES,
    Address,
    Entry,
    Module,
    Operand,
    Symbol,
    Variable,
    Vector,
)


def require_module(module: Module, effect: Effect, architecture: str | None = None) -> Entry:
    """The module's only entry; raises `PtxError` for whatever the effect does not account for.

    With an `architecture`, such as ``"sm_90a"``, the module's target is exactly that one.

    >>> from tylo.proofs.effects import Effect
    >>> from tylo.proofs.ptx.parser import parse
    >>> module = parse(".version 8.8 .target sm_80 .address_size 64 .entry k() { ret; }")
    >>> require_module(module, Effect("k", 32, (), ()), "sm_80").name
    'k'
    >>> require_module(module, Effect("k", 32, (), ()), "sm_90a")
    Traceback (most recent call last):
    tylo.layouts.errors.PtxError: the module is for sm_80; it must be for sm_90a
    """
    wanted = architecture or module.target[0]
    if module.target != (wanted,):
        raise PtxError(
            f"the module is for {', '.join(module.target)}", hint=f"it must be for {wanted}"
        )
    entry = module.entry(effect.entry)
    for other in module.entries:
        if other is not entry:
            raise PtxError(
                f"line {other.line}: a second entry {other.name!r}",
                hint=f"a validated module holds {effect.entry!r} alone",
            )
    variables = shared_variables(module, entry)
    named = {name for each in entry.body for operand in each.operands for name in _named(operand)}
    for variable in (*module.variables, *entry.variables):
        if variable.space == "global" and variable.name not in named:
            continue  # a constant of the source, of which the compiler leaves the name
        if variable.space != "shared" or variables[variable.name] is not variable:
            raise PtxError(
                f"line {variable.line}: variable {variable.name} in .{variable.space}",
                hint="the proof covers kernels that declare shared variables alone, each once",
            )
    _check_parameters(entry, effect)
    _check_launch(entry, effect)
    return entry


def _named(operand: Operand) -> Iterator[str]:
    """The symbols that an operand mentions."""
    match operand:
        case Symbol(name):
            yield name
        case Address(base, _):
            yield from _named(base)
        case Vector(elements):
            for element in elements:
                yield from _named(element)


def shared_variables(module: Module, entry: Entry) -> dict[str, Variable]:
    """What the entry may mean by the name of a variable."""
    return {variable.name: variable for variable in (*module.variables, *entry.variables)}


def _check_parameters(entry: Entry, effect: Effect) -> None:
    """Pointers to the buffers, then the sizes, in order, or as the effect orders them."""
    known: dict[str, tuple[str, int, Buffer | None]] = {
        buffer.name: (f"buffer {buffer.name!r} is a pointer", 64, buffer)
        for buffer in effect.buffers
    }
    known |= {
        p.name: (f"parameter {p.name!r} is an integer", p.bits, None) for p in effect.parameters
    }
    # Any bits may be a float's: nothing is known of what has them.
    any_bits = {
        p.name for p in effect.parameters if (p.minimum, p.maximum) == (0, (1 << p.bits) - 1)
    }
    called = effect.arguments or tuple(known)
    meant = [known[name] for name in called]
    if len(entry.parameters) != len(meant):
        raise PtxError(
            f"line {entry.line}: {entry.name} has {len(entry.parameters)} parameters",
            hint=f"the effect has {len(effect.buffers)} buffers"
            + (f" and {len(effect.parameters)} sizes" if effect.parameters else ""),
        )
    rows = zip(entry.parameters, called, meant, strict=True)
    for declared, name, (words, bits, buffer) in rows:
        kinds = "ubsf" if name in any_bits else "ubs"
        if declared.count != 1 or TYPES[declared.type] != bits or declared.type[0] not in kinds:
            raise PtxError(
                f"line {declared.line}: parameter {declared.name} is .{declared.type}",
                hint=f"{words} of {bits} bits" + _of_any_kind(declared, name, bits, buffer),
            )
        if declared.alignment != bits // 8:
            raise PtxError(
                f"line {declared.line}: parameter {declared.name} is aligned to "
                f"{declared.alignment}",
                hint=f"its type is aligned to {bits // 8}",
            )
        _check_pointed(declared, buffer)


def _of_any_kind(declared: Variable, name: str, bits: int, buffer: Buffer | None) -> str:
    if buffer is not None or declared.count != 1 or declared.type != f"f{bits}":
        return ""
    return f"; a float may have any value: in a claim, {name} = {bits} under [unused]"


def _check_pointed(declared: Variable, buffer: Buffer | None) -> None:
    """What ``.ptr`` promises of a pointer (PTX ISA 5.1.6.2) is what the effect assumes of it."""
    if declared.pointed is None:
        return
    space, alignment = declared.pointed
    where = f"line {declared.line}: parameter {declared.name}"
    if space not in ("global", "generic"):
        raise PtxError(f"{where} points to .{space}", hint="buffers lie in .global")
    if buffer is None:
        # Of what nothing is read or written through, alignment to one byte promises nothing.
        if alignment > 1:
            raise PtxError(
                f"{where} points to what is aligned to {alignment}",
                hint="the effect has an integer there, of which nothing is known",
            )
        return
    known = buffer.alignment
    if buffer.phase != 0:
        known = min(known, buffer.element_bits // 8)
    if alignment > known:
        raise PtxError(
            f"{where} points to what is aligned to {alignment}",
            hint=f"buffer {buffer.name!r} is aligned to {known}",
        )


def _check_launch(entry: Entry, effect: Effect) -> None:
    """Bounds on the block are the effect's block.

    The most threads of a block are the product of what `.maxntid` says (PTX ISA 11.4.2); what
    `.reqntid` says is the block's shape.
    """
    shape = (*(effect.block_shape or (effect.threads,)), 1, 1)[:3]
    for directive in ("maxntid", "reqntid"):
        written = (*entry.limits.get(directive, shape), 1, 1)[:3]
        alike = prod(written) == effect.threads and len(effect.block_shape) > 1
        if written != shape and not (directive == "maxntid" and alike):
            raise PtxError(
                f"line {entry.line}: {entry.name} is limited to {_by(written)} threads",
                hint=f"the effect launches {_by(shape)}",
            )


def _by(shape: Sequence[int]) -> str:
    """A shape in words, without extents of one at its end."""
    shown = list(shape)
    while len(shown) > 1 and shown[-1] == 1:
        shown.pop()
    return " x ".join(map(str, shown))
