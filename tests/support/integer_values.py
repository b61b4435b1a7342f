"""Values of integer instructions, worked out bit by bit from the PTX ISA's own pseudocode.

`CASES` maps a mnemonic to a reference, the widths of its sources (negative: never zero) and the
width of its result. Whoever judges the opcode table compares with them; they share no code with it.

>>> reference, widths, result = CASES["shr.s16"]
>>> reference(0x8000, 3) % (1 << result) == 0xF000
True
"""

from __future__ import annotations

import random
from collections.abc import Callable


def signed(value: int, width: int) -> int:
    value %= 1 << width
    return value - (1 << width) if value >> (width - 1) else value


def bits(value: int, width: int) -> list[int]:
    return [value >> index & 1 for index in range(width)]


def number(values: list[int]) -> int:
    return sum(bit << index for index, bit in enumerate(values))


def bfe(width: int, is_signed: bool) -> Callable[..., int]:
    def run(a: int, b: int, c: int) -> int:
        position, length, top = b & 255, c & 255, width - 1
        source = bits(a, width)
        sign = 0 if not is_signed or length == 0 else source[min(position + length - 1, top)]
        return number(
            [
                source[position + i] if i < length and position + i <= top else sign
                for i in range(width)
            ]
        )

    return run


def bfind(width: int, is_signed: bool, down: bool) -> Callable[..., int]:
    def run(a: int) -> int:
        flip = is_signed and a >> (width - 1)
        for position in reversed(range(width)):
            if (a >> position & 1) != flip:
                return width - 1 - position if down else position
        return -1

    return run


def bfi(width: int) -> Callable[..., int]:
    def run(a: int, b: int, c: int, d: int) -> int:
        position, length = c & 255, d & 255
        result, source = bits(b, width), bits(a, width)
        for i in range(length):
            if i < width and position + i < width:
                result[position + i] = source[i]
        return number(result)

    return run


def prmt(a: int, b: int, c: int) -> int:
    octets = (a | b << 32).to_bytes(8, "little")
    result = []
    for i in range(4):
        selector = c >> 4 * i & 15
        octet = octets[selector & 7]
        result.append((255 if octet & 128 else 0) if selector & 8 else octet)
    return int.from_bytes(bytes(result), "little")


def shift(width: int, left: bool, is_signed: bool) -> Callable[..., int]:
    def run(a: int, b: int) -> int:
        amount = min(b, width)
        if left:
            return (a << amount) % (1 << width)
        return (signed(a, width) if is_signed else a) >> amount

    return run


def toward_zero(a: int, b: int) -> tuple[int, int]:
    quotient = abs(a) // abs(b)
    quotient = quotient if (a < 0) == (b < 0) else -quotient
    return quotient, a - b * quotient


def funnel(left: bool, wrap: bool) -> Callable[..., int]:
    def run(a: int, b: int, c: int) -> int:
        n = c & 31 if wrap else min(c, 32)
        if left:
            return (b << n) | (a >> (32 - n))
        return (b << (32 - n)) | (a >> n)

    return run


def per_width() -> dict[str, tuple[Callable[..., int], tuple[int, ...], int]]:
    """Mnemonic to reference, source widths (negative: never zero), result width."""
    cases: dict[str, tuple[Callable[..., int], tuple[int, ...], int]] = {}
    for kind in "us":
        for w in (16, 32, 64):
            t = f"{kind}{w}"
            value: Callable[[int, int], int] = signed if kind == "s" else (lambda x, _w: x)
            cases[f"add.{t}"] = (lambda a, b: a + b, (w, w), w)
            cases[f"sub.{t}"] = (lambda a, b: a - b, (w, w), w)
            cases[f"mul.lo.{t}"] = (lambda a, b: a * b, (w, w), w)
            cases[f"mul.hi.{t}"] = (
                lambda a, b, w=w, v=value: (v(a, w) * v(b, w)) >> w,
                (w, w),
                w,
            )
            cases[f"mad.lo.{t}"] = (lambda a, b, c: a * b + c, (w, w, w), w)
            cases[f"mad.hi.{t}"] = (
                lambda a, b, c, w=w, v=value: (v(a, w) * v(b, w) >> w) + c,
                (w, w, w),
                w,
            )
            cases[f"min.{t}"] = (lambda a, b, w=w, v=value: min(v(a, w), v(b, w)), (w, w), w)
            cases[f"max.{t}"] = (lambda a, b, w=w, v=value: max(v(a, w), v(b, w)), (w, w), w)
            cases[f"shr.{t}"] = (shift(w, False, kind == "s"), (w, 32), w)
            for name, compare in {
                "eq": lambda a, b: a == b,
                "ne": lambda a, b: a != b,
                "lt": lambda a, b: a < b,
                "le": lambda a, b: a <= b,
                "gt": lambda a, b: a > b,
                "ge": lambda a, b: a >= b,
            }.items():
                cases[f"setp.{name}.{t}"] = (
                    lambda a, b, w=w, v=value, f=compare: int(f(v(a, w), v(b, w))),
                    (w, w),
                    1,
                )
            if kind == "u":
                for name, compare in {
                    "lo": lambda a, b: a < b,
                    "ls": lambda a, b: a <= b,
                    "hi": lambda a, b: a > b,
                    "hs": lambda a, b: a >= b,
                }.items():
                    cases[f"setp.{name}.{t}"] = (lambda a, b, f=compare: int(f(a, b)), (w, w), 1)
            else:
                cases[f"neg.{t}"] = (lambda a: -a, (w,), w)
                cases[f"abs.{t}"] = (lambda a, w=w: abs(signed(a, w)), (w,), w)
            cases[f"div.{t}"] = (
                lambda a, b, w=w, v=value: toward_zero(v(a, w), v(b, w))[0],
                (w, -w),
                w,
            )
            cases[f"rem.{t}"] = (
                lambda a, b, w=w, v=value: toward_zero(v(a, w), v(b, w))[1],
                (w, -w),
                w,
            )
            if w < 64:
                wide = 2 * w
                cases[f"mul.wide.{t}"] = (
                    lambda a, b, w=w, v=value: v(a, w) * v(b, w),
                    (w, w),
                    wide,
                )
                cases[f"mad.wide.{t}"] = (
                    lambda a, b, c, w=w, v=value: v(a, w) * v(b, w) + c,
                    (w, w, wide),
                    wide,
                )
            if w > 16:
                cases[f"bfe.{t}"] = (bfe(w, kind == "s"), (w, 32, 32), w)
            if w > 16:
                for name, down in (("bfind", False), ("bfind.shiftamt", True)):
                    cases[f"{name}.{t}"] = (bfind(w, kind == "s", down), (w,), 32)
            for to in (8, 16, 32, 64):
                for source in (8, 16, 32, 64):
                    for result in "us":
                        cases[f"cvt.{result}{to}.{kind}{source}"] = (
                            lambda a, s=source, v=value: v(a, s),
                            (source,),
                            to,
                        )
            cases[f"selp.{t}"] = (lambda a, b, c: a if c else b, (w, w, 1), w)
            cases[f"mov.{t}"] = (lambda a: a, (w,), w)
    for w in (16, 32, 64):
        cases[f"and.b{w}"] = (lambda a, b: a & b, (w, w), w)
        cases[f"or.b{w}"] = (lambda a, b: a | b, (w, w), w)
        cases[f"xor.b{w}"] = (lambda a, b: a ^ b, (w, w), w)
        cases[f"not.b{w}"] = (lambda a: ~a, (w,), w)
        cases[f"shl.b{w}"] = (shift(w, True, False), (w, 32), w)
        cases[f"shr.b{w}"] = (shift(w, False, False), (w, 32), w)
        cases[f"selp.b{w}"] = (lambda a, b, c: a if c else b, (w, w, 1), w)
        cases[f"mov.b{w}"] = (lambda a: a, (w,), w)
        if w > 16:
            cases[f"popc.b{w}"] = (lambda a: a.bit_count(), (w,), 32)
            cases[f"clz.b{w}"] = (lambda a, w=w: w - a.bit_length(), (w,), 32)
            cases[f"brev.b{w}"] = (lambda a, w=w: int(f"{a:0{w}b}"[::-1], 2), (w,), w)
            cases[f"bfi.b{w}"] = (bfi(w), (w, w, 32, 32), w)
        for name, same in {"eq": True, "ne": False}.items():
            cases[f"setp.{name}.b{w}"] = (lambda a, b, s=same: int((a == b) == s), (w, w), 1)
    for name, (compare, widths, _) in list(cases.items()):
        if name.startswith("setp."):
            _, relation, kind = name.split(".")
            for operation, join in {"and": min, "or": max, "xor": lambda x, y: x ^ y}.items():
                cases[f"setp.{relation}.{operation}.{kind}"] = (
                    lambda a, b, c, f=compare, j=join: j(f(a, b), c),
                    (*widths, 1),
                    1,
                )
    for name, table in {"and": 0b1000, "or": 0b1110, "xor": 0b0110}.items():
        cases[f"{name}.pred"] = (lambda a, b, t=table: t >> (2 * a + b) & 1, (1, 1), 1)
    cases["not.pred"] = (lambda a: 1 - a, (1,), 1)
    for kind, width in {"f32": 32, "f64": 64, "pred": 1}.items():
        cases[f"mov.{kind}"] = (lambda a: a, (width,), width)
        if kind != "pred":
            cases[f"selp.{kind}"] = (lambda a, b, c: a if c else b, (width, width, 1), width)
    cases["prmt.b32"] = (prmt, (32, 32, 32), 32)
    for left in "lr":
        for mode in ("wrap", "clamp"):
            cases[f"shf.{left}.{mode}.b32"] = (funnel(left == "l", mode == "wrap"), (32,) * 3, 32)
    return cases


CASES = per_width()
INTERESTING = (0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256)


# Fields that end at the highest bit, or begin at the lowest, with a sign that their end alone has.
FIELDS = {
    f"bfe.{kind}{width}": (
        (1 << (width - 1), width - 8, 8),
        (1 << (width - 2), width - 9, 9),
        (0x80, 0, 8),
        (1 << (width - 1), width - 1, 5),
    )
    for kind in "us"
    for width in (32, 64)
}


def rows_of(mnemonic: str, count: int) -> list[list[int]]:
    """Operands for a case: random ones, small ones and their negatives, a quarter of them equal."""
    _, widths, _ = CASES[mnemonic]
    generator = random.Random(mnemonic)
    rows = [list(row) for row in FIELDS.get(mnemonic, ())]
    for _ in range(count - len(rows)):
        row = [
            generator.choice(
                (
                    generator.getrandbits(abs(width)),
                    generator.choice(INTERESTING) % (1 << abs(width)),
                    -generator.choice(INTERESTING) % (1 << abs(width)),
                )
            )
            or int(width < 0)
            for width in widths
        ]
        if len(row) > 1 and abs(widths[0]) == abs(widths[1]) and generator.random() < 0.25:
            row[1] = row[0] or int(widths[1] < 0)
        rows.append(row)
    return rows


def wanted(mnemonic: str, rows: list[list[int]]) -> list[int]:
    """The results of a case."""
    reference, _, result = CASES[mnemonic]
    return [reference(*row) % (1 << result) for row in rows]
