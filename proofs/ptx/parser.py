"""PTX text to a `Module`: a recursive-descent parser that refuses whatever it does not know.

>>> module = parse('''
... .version 8.8
... .target sm_90a
... .address_size 64
... .visible .entry copy(.param .u64 .ptr .align 4 copy_0)
... .maxntid 32, 1, 1
... {
...     .reg .b32 %r<2>;
...     .reg .b64 %rd<3>;
...     ld.param.u64 %rd1, [copy_0];
...     ld.global.u32 %r1, [%rd1+4];
...     st.global.u32 [%rd1], %r1;
...     ret;
... }
... ''')
>>> entry = module.entry("copy")
>>> entry.parameters[0].alignment, entry.limits["maxntid"], entry.registers["%r1"]
(8, (32, 1, 1), 'b32')
>>> entry.body[1].operands
(Register(name='%r1'), Address(base=Register(name='%rd1'), offset=4))
>>> parse(".version 8.8 .target sm_90a .address_size 32")
Traceback (most recent call last):
tylo.layouts.errors.PtxError: line 1, column 43: address size 32; compile for 64-bit addresses
"""

from __future__ import annotations

import re
from types import MappingProxyType

from tylo.proofs.ptx.cursor import Cursor
from tylo.proofs.ptx.debugging import pass_file, pass_line, pass_sections
from tylo.proofs.ptx.initialisers import initial_bytes
from tylo.proofs.ptx.predefined import PREDEFINED, VERSIONS
from tylo.proofs.ptx.program import (
    TYPES,
    Address,
    Box,
    Entry,
    Instruction,
    Module,
    Negated,
    Number,
    Operand,
    Pair,
    Register,
    Sink,
    Symbol,
    Variable,
    Vector,
)
from tylo.proofs.ptx.scopes import renamed
from tylo.proofs.ptx.tokens import Token, number

# Directives that bound a launch (PTX ISA 11.4), with how many numbers each takes at most.
_LIMITS = MappingProxyType(
    {".maxntid": 3, ".reqntid": 3, ".minnctapersm": 1, ".maxnreg": 1, ".maxclusterrank": 1}
)
# Linking directives that say nothing about what a kernel does (PTX ISA 11.7).
_LINKING = frozenset({".visible", ".extern", ".weak"})
# State spaces in which a variable may be declared (PTX ISA 5.1), and the bytes of one at most.
_SPACES = MappingProxyType(
    {".shared": 227 << 10, ".local": 512 << 10, ".const": 64 << 10, ".global": 1 << 40}
)
# Those whose variables may be given a value, and else are zero (PTX ISA 5.4.4).
_INITIALISED = frozenset({".const", ".global"})
_MOST_PARAMETER_BYTES = 32_764  # PTX ISA 5.1.6.1
# Pragmas that say nothing about what a kernel does (PTX ISA 11.8).
_PRAGMAS = frozenset({'"nounroll"'})
_USED_BYTES = re.compile(r'"used_bytes_mask (0|[1-9][0-9]{0,9})"')
# Instructions that take a vector of one register as the register: Triton writes them so.
_MEMORY = frozenset({"ld", "st"})
_MOST_REGISTERS = 100_000
_MOST_LIMIT = _MOST_ALIGNMENT = 1 << 20


def parse(text: str, *, partial_loads: bool = False) -> Module:
    """The module that a PTX text describes; raises `PtxError` naming line and column.

    `partial_loads` takes the pragma that bytes of a load are not used: whoever asks for it sees to
    `Entry.used_bytes`.
    """
    cursor = Cursor(text)
    cursor.take(".version")
    at = cursor.take("version")
    version = at.text
    if version not in VERSIONS:
        raise at.error(
            f"unknown version {version}", hint=f"known versions: {VERSIONS[0]} to {VERSIONS[-1]}"
        )
    cursor.take(".target")
    target = [cursor.take("name").text]
    while cursor.accept(","):
        target.append(cursor.take("name").text)
    cursor.take(".address_size")
    size = cursor.take("number")
    if number(size) != 64:
        raise size.error(f"address size {size.text}", hint="compile for 64-bit addresses")
    variables: list[Variable] = []
    entries: list[Entry] = []
    while cursor.next.kind != "end":
        if pass_file(cursor) or pass_sections(cursor):
            continue
        linking = cursor.accept(*_LINKING)
        if cursor.next.text in _SPACES:
            start = cursor.next
            if linking is not None and linking.text == ".extern" and start.text in _INITIALISED:
                raise start.error("a variable of another module", hint="define it here")
            variables.append(_variable(cursor))
        else:
            start = cursor.take(".entry")
            if linking is not None and linking.text == ".extern":
                raise start.error("an external entry", hint="give its body")
            entries.append(_entry(cursor, partial_loads))
    return Module(version, tuple(target), 64, tuple(variables), tuple(entries))


def _entry(cursor: Cursor, partial_loads: bool) -> Entry:
    name = cursor.declared("name")
    parameters = _parameters(cursor)
    limits = _limits(cursor)
    registers: dict[str, str] = {}
    variables: list[Variable] = []
    body: list[Instruction] = []
    labels: dict[str, int] = {}
    used_bytes: dict[int, int] = {}
    # Inline assembly opens scopes of its own; what they declare is renamed.
    scopes: list[dict[str, str]] = [{}]
    cursor.take("{")
    while scopes:
        token = cursor.next
        if cursor.accept("}"):
            scopes.pop()
        elif cursor.accept("{"):
            scopes.append({})
        elif token.text == ".reg":
            _registers(cursor, registers, scopes)
        elif token.text in _SPACES:
            variables.append(_variable(cursor))
        elif token.text == ".pragma":
            cursor.take("directive")
            masked = _USED_BYTES.fullmatch(cursor.next.text) if partial_loads else None
            if masked is not None:
                used_bytes[len(body)] = int(masked[1])
                cursor.take("string")
            else:
                cursor.take(*_PRAGMAS)
            cursor.take(";")
        elif token.kind == "name" and cursor.tokens[cursor.position + 1].text == ":":
            if token.text in labels:
                raise token.error(f"a second label {token.text!r}")
            labels[cursor.declared("name").text] = len(body)
            cursor.take(":")
        elif not pass_line(cursor):
            body.append(renamed(_instruction(cursor), scopes))
    return Entry(
        name.text,
        tuple(parameters),
        MappingProxyType(registers),
        tuple(variables),
        MappingProxyType(limits),
        tuple(body),
        MappingProxyType(labels),
        name.line,
        MappingProxyType(used_bytes),
    )


def _type(cursor: Cursor) -> str:
    token = cursor.take("directive")
    if token.text[1:] not in TYPES:
        raise token.error(f"unknown type {token.text!r}", hint=f"known types: {sorted(TYPES)}")
    return token.text[1:]


def _parameters(cursor: Cursor) -> list[Variable]:
    parameters: list[Variable] = []
    if cursor.accept("("):
        while not cursor.accept(")"):
            at = cursor.next
            parameters.append(_parameter(cursor))
            if parameters[-1].name in (each.name for each in parameters[:-1]):
                raise at.error(f"a second parameter {parameters[-1].name!r}")
            if cursor.next.text != ")":
                cursor.take(",")
    return parameters


def _limits(cursor: Cursor) -> dict[str, tuple[int, ...]]:
    """The launch bounds between an entry's parameters and its body, each stated once."""
    limits: dict[str, tuple[int, ...]] = {}
    while cursor.next.text in _LIMITS:
        directive = cursor.take("directive")
        values = [cursor.size(1, _MOST_LIMIT)]
        while cursor.accept(","):
            values.append(cursor.size(1, _MOST_LIMIT))
        if directive.text[1:] in limits or len(values) > _LIMITS[directive.text]:
            raise directive.error(
                f"{directive.text} twice, or of {len(values)} numbers",
                hint=f"state it once, with at most {_LIMITS[directive.text]}",
            )
        limits[directive.text[1:]] = tuple(values)
    return limits


def _alignment(cursor: Cursor) -> int:
    """A power of two; zero where none is stated."""
    if not cursor.accept(".align"):
        return 0
    token = cursor.next
    alignment = cursor.size(1, _MOST_ALIGNMENT)
    if alignment & (alignment - 1):
        raise token.error(f"alignment {alignment}", hint="alignments are powers of two")
    return alignment


def _parameter(cursor: Cursor) -> Variable:
    """``.param .u64 .ptr .global .align 16 name`` or ``.param .align 8 .b8 name[24]``."""
    line = cursor.take(".param").line
    alignment = _alignment(cursor)
    kind = _type(cursor)
    pointed = None
    if cursor.accept(".ptr"):
        # Promises to the assembler, not facts: whoever proves something must look at them.
        space = cursor.accept(*_SPACES)
        pointed = space.text[1:] if space else "generic", _alignment(cursor) or 4
    name = cursor.declared("name").text
    natural = TYPES[kind] // 8
    count = _count(cursor, kind, _MOST_PARAMETER_BYTES)
    return Variable(name, "param", kind, alignment or natural, count, line, pointed)


def _variable(cursor: Cursor) -> Variable:
    """``.shared .align 16 .b8 name[1024];`` or ``.global .align 4 .b8 name[8] = {1, 2};``."""
    space = cursor.take("directive")
    alignment = _alignment(cursor)
    kind = _type(cursor)
    name = cursor.declared("name").text
    count = _count(cursor, kind, _SPACES[space.text])
    initial = None
    if space.text in _INITIALISED and cursor.accept("="):
        initial = initial_bytes(_elements(cursor), kind, count)
    cursor.take(";")
    natural = TYPES[kind] // 8
    return Variable(
        name, space.text[1:], kind, alignment or natural, count, space.line, initial=initial
    )


def _elements(cursor: Cursor) -> list[Token]:
    """A number, or numbers in braces."""
    if not cursor.accept("{"):
        return [cursor.take("number", "float")]
    elements = [cursor.take("number", "float")]
    while cursor.take(",", "}").text == ",":
        elements.append(cursor.take("number", "float"))
    return elements


def _count(cursor: Cursor, kind: str, most_bytes: int) -> int:
    if not cursor.accept("["):
        return 1
    if cursor.accept("]"):
        return 0
    count = cursor.size(1, most_bytes // max(TYPES[kind] // 8, 1))
    cursor.take("]")
    return count


def _registers(cursor: Cursor, registers: dict[str, str], scopes: list[dict[str, str]]) -> None:
    """``.reg .b32 %r<4>, %x;`` declares %r0 to %r3 and %x."""
    cursor.take(".reg")
    kind = _type(cursor)
    while True:
        token = cursor.declared("register", "name")
        if cursor.accept("<"):
            names = [f"{token.text}{i}" for i in range(cursor.size(1, _MOST_REGISTERS))]
            cursor.take(">")
        else:
            names = [token.text]
        if len(registers) + len(names) > _MOST_REGISTERS:
            raise token.error(f"more than {_MOST_REGISTERS} registers")
        for name in names:
            if name in scopes[-1] or name in PREDEFINED:
                raise token.error(f"a second register {name!r}")
            # Renamed with a character that no PTX name has.
            unique = name if len(scopes) == 1 else f"{name}'{len(registers)}"
            registers[unique] = kind
            scopes[-1][name] = unique
        if cursor.take(",", ";").text == ";":
            return


def _instruction(cursor: Cursor) -> Instruction:
    first = cursor.next
    guard = None
    if cursor.accept("@"):
        negated = cursor.accept("!")
        register = Register(cursor.take("register", "name").text)
        guard = Negated(register) if negated else register
    mnemonic = cursor.take("name")
    operands = tuple(cursor.separated(lambda: _operand(cursor), ";"))
    if mnemonic.text.partition(".")[0] in _MEMORY:
        operands = tuple(_alone(operand) for operand in operands)
    if operands and isinstance(operands[0], Vector):
        written = [each for each in operands[0].elements if isinstance(each, Register)]
        if len(set(written)) < len(written):
            raise mnemonic.error(
                "a register twice among results", hint="which of them it then holds is not said"
            )
    text = " ".join(cursor.text[first.start : cursor.tokens[cursor.position - 1].start].split())
    return Instruction(mnemonic.text, operands, guard, first.line, first.column, text)


def _operand(cursor: Cursor) -> Operand:
    token = cursor.take("register", "name", "number", "float", "{", "[", "!", "_")
    match token.kind, token.text:
        case "sign", "{":
            elements = tuple(cursor.separated(lambda: _element(cursor), "}"))
            if not elements:
                raise token.error("a vector without elements")
            return Vector(elements)
        case "sign", "[":
            return _address(cursor)
        case "sign", "!":
            return Negated(Register(cursor.take("register", "name").text))
        case "number", _:
            return Number(number(token))
        case "float", _:
            return Number(number(token), 4 * (len(token.text) - 2))
        case "name", _:
            return Symbol(token.text)
    first = Sink() if token.text == "_" else Register(token.text)
    if cursor.accept("|"):
        second = cursor.take("register", "name", "_").text
        return Pair(first, Sink() if second == "_" else Register(second))
    return first


def _alone(operand: Operand) -> Operand:
    """What a vector of one element holds; anything else as it is."""
    if isinstance(operand, Vector) and len(operand.elements) == 1:
        return operand.elements[0]
    return operand


def _element(cursor: Cursor) -> Operand:
    """An element of a vector: a register, a constant or nothing, never another vector."""
    if cursor.next.text in ("{", "["):
        raise cursor.next.error(f"unexpected {cursor.next.text!r} inside a vector")
    return _operand(cursor)


def _address(cursor: Cursor) -> Address | Box:
    token = cursor.take("register", "name", "number")
    base: Register | Symbol | Number
    match token.kind:
        case "register":
            base = Register(token.text)
        case "name":
            base = Symbol(token.text)
        case _:
            base = Number(number(token))
    if isinstance(base, Register) and cursor.accept(","):
        cursor.take("{")
        coordinates = tuple(cursor.separated(lambda: _element(cursor), "}"))
        cursor.take("]")
        return Box(base, coordinates)
    # Offsets have 32 bits, whatever a number may have (PTX ISA 6.4.1).
    offset = cursor.size(-(1 << 31), (1 << 31) - 1) if cursor.accept("+") else 0
    cursor.take("]")
    return Address(base, offset)
