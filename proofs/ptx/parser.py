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

from collections.abc import Callable, Iterator
from types import MappingProxyType

from tylo.proofs.ptx.program import (
    TYPES,
    Address,
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
from tylo.proofs.ptx.tokens import Token, number, tokens

# Directives that bound a launch (PTX ISA 11.4), with how many numbers each takes at most.
_LIMITS = MappingProxyType(
    {".maxntid": 3, ".reqntid": 3, ".minnctapersm": 1, ".maxnreg": 1, ".maxclusterrank": 1}
)
# Linking directives that say nothing about what a kernel does (PTX ISA 11.7).
_LINKING = frozenset({".visible", ".extern", ".weak"})
# State spaces in which a variable may be declared (PTX ISA 5.1).
_SPACES = frozenset({".shared", ".local", ".global", ".const"})
# Directives for debuggers (PTX ISA 11.5), up to the end of their line.
_DEBUGGING = frozenset({".loc", ".file"})


class _Cursor:
    """The tokens of a text and how far they are read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.position = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.position]

    def take(self, *wanted: str) -> Token:
        """The next token, which must have one of these texts or kinds."""
        token = self.next
        if token.text not in wanted and token.kind not in wanted:
            raise token.error(
                f"unexpected {token.text or 'end of text'!r}",
                hint=f"expected {' or '.join(wanted)}",
            )
        self.position += 1
        return token

    def accept(self, *wanted: str) -> Token | None:
        """The next token when it has one of these texts or kinds."""
        return self.take(*wanted) if self.next.text in wanted or self.next.kind in wanted else None

    def skip_line(self) -> None:
        line = self.next.line
        while self.next.line == line and self.next.kind != "end":
            self.position += 1

    def separated(self, read: Callable[[], Operand], end: str) -> Iterator[Operand]:
        """Operands between commas, up to and including `end`."""
        if self.accept(end):
            return
        while True:
            yield read()
            if self.take(",", end).text == end:
                return


def parse(text: str) -> Module:
    """The module that a PTX text describes; raises `PtxError` naming line and column."""
    cursor = _Cursor(text)
    cursor.take(".version")
    version = cursor.take("version").text
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
        if cursor.next.text in _DEBUGGING:
            cursor.skip_line()
            continue
        while cursor.next.text in _LINKING:
            cursor.take("directive")
        if cursor.next.text in _SPACES:
            variables.append(_variable(cursor))
        else:
            cursor.take(".entry")
            entries.append(_entry(cursor))
    return Module(version, tuple(target), 64, tuple(variables), tuple(entries))


def _entry(cursor: _Cursor) -> Entry:
    name = cursor.take("name")
    parameters: list[Variable] = []
    if cursor.accept("("):
        while not cursor.accept(")"):
            parameters.append(_parameter(cursor))
            if cursor.next.text != ")":
                cursor.take(",")
    limits: dict[str, tuple[int, ...]] = {}
    while cursor.next.text in _LIMITS:
        directive = cursor.take("directive").text
        values = [number(cursor.take("number"))]
        while cursor.accept(","):
            values.append(number(cursor.take("number")))
        limits[directive[1:]] = tuple(values[: _LIMITS[directive]])
    registers: dict[str, str] = {}
    variables: list[Variable] = []
    body: list[Instruction] = []
    labels: dict[str, int] = {}
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
            cursor.take("string")
            cursor.take(";")
        elif token.text in _DEBUGGING:
            cursor.skip_line()
        elif token.kind == "name" and cursor.tokens[cursor.position + 1].text == ":":
            if token.text in labels:
                raise token.error(f"a second label {token.text!r}")
            labels[token.text] = len(body)
            cursor.position += 2
        else:
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
    )


def _type(cursor: _Cursor) -> str:
    token = cursor.take("directive")
    if token.text[1:] not in TYPES:
        raise token.error(f"unknown type {token.text!r}", hint=f"known types: {sorted(TYPES)}")
    return token.text[1:]


def _alignment(cursor: _Cursor, alignment: int) -> int:
    while cursor.accept(".align"):
        alignment = number(cursor.take("number"))
    return alignment


def _parameter(cursor: _Cursor) -> Variable:
    """``.param .u64 .ptr .global .align 16 name`` or ``.param .align 8 .b8 name[24]``."""
    line = cursor.take(".param").line
    alignment = _alignment(cursor, 0)
    kind = _type(cursor)
    if cursor.accept(".ptr"):
        # The space and alignment of the pointed-to memory: promises to the assembler, not facts.
        cursor.accept(*_SPACES)
        _alignment(cursor, 0)
    name = cursor.take("name").text
    return Variable(name, "param", kind, alignment or TYPES[kind] // 8, _count(cursor), line)


def _variable(cursor: _Cursor) -> Variable:
    """``.shared .align 16 .b8 name[1024];``."""
    space = cursor.take("directive")
    alignment = _alignment(cursor, 0)
    kind = _type(cursor)
    name = cursor.take("name").text
    count = _count(cursor)
    cursor.take(";")
    return Variable(name, space.text[1:], kind, alignment or TYPES[kind] // 8, count, space.line)


def _count(cursor: _Cursor) -> int:
    if not cursor.accept("["):
        return 1
    if cursor.accept("]"):
        return 0
    count = number(cursor.take("number"))
    cursor.take("]")
    return count


def _registers(cursor: _Cursor, registers: dict[str, str], scopes: list[dict[str, str]]) -> None:
    """``.reg .b32 %r<4>, %x;`` declares %r0 to %r3 and %x."""
    cursor.take(".reg")
    kind = _type(cursor)
    while True:
        token = cursor.take("register", "name")
        if cursor.accept("<"):
            names = [f"{token.text}{index}" for index in range(number(cursor.take("number")))]
            cursor.take(">")
        else:
            names = [token.text]
        for name in names:
            if name in scopes[-1]:
                raise token.error(f"a second register {name!r}")
            # Renamed with a character that no PTX name has.
            unique = name if len(scopes) == 1 else f"{name}'{len(registers)}"
            registers[unique] = kind
            scopes[-1][name] = unique
        if cursor.take(",", ";").text == ";":
            return


def _instruction(cursor: _Cursor) -> Instruction:
    first = cursor.next
    guard = None
    if cursor.accept("@"):
        negated = cursor.accept("!")
        register = Register(cursor.take("register", "name").text)
        guard = Negated(register) if negated else register
    mnemonic = cursor.take("name")
    operands = tuple(cursor.separated(lambda: _operand(cursor), ";"))
    text = " ".join(cursor.text[first.start : cursor.tokens[cursor.position - 1].start].split())
    return Instruction(mnemonic.text, operands, guard, first.line, first.column, text)


def _operand(cursor: _Cursor) -> Operand:
    token = cursor.take("register", "name", "number", "float", "{", "[", "!", "_")
    match token.kind, token.text:
        case "sign", "{":
            return Vector(tuple(cursor.separated(lambda: _operand(cursor), "}")))
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


def _address(cursor: _Cursor) -> Address:
    token = cursor.take("register", "name", "number")
    base: Register | Symbol | Number
    match token.kind:
        case "register":
            base = Register(token.text)
        case "name":
            base = Symbol(token.text)
        case _:
            base = Number(number(token))
    offset = number(cursor.take("number")) if cursor.accept("+") else 0
    cursor.take("]")
    return Address(base, offset)
