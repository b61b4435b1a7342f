"""Mutants of the opcode table that nothing can notice, and why each is none."""

from __future__ import annotations

import re

# Mutants that nothing can notice: why, and patterns of what changed and of its line.
EQUIVALENT = {
    "shifted in more bits than there are": (r"32 -> 33", r"width = max\(f\.width, 32\)"),
    "an amount of 2^31 or more shifts everything out, whatever its sign": (
        r"False -> True",
        r"amount = d\.extend\(amount, 32, width, False\)",
    ),
    "an amount of at most 32 has no sign": (r"False -> True", r"both, amount = .*"),
    "of 64 bits, those shifted in at the top are never looked at": (
        r"False -> True",
        r"return d\.extract\(d\.shift_right\(both, amount, 64, False\), 0, 32\)"
        r"|byte = d\.extract\(d\.shift_right\(both, amount, 64, False\), 0, 8\)"
        r"|sign = d\.extract\(d\.shift_right\(a, highest, width, False\), 0, 1\)",
    ),
    "constants are taken modulo 2^width": (r"LShift|1 -> [20]", r".*\(1 << width\) - 1.*"),
    "nothing is set in both": (
        r"bit_or -> bit_xor",
        r"filled = .*|return d\.bit_or\(kept.*|result = d\.bit_or\(result, term, 32\)",
    ),
    "only an empty field has a negative highest bit, and is zero in any case": (
        r"False -> True",
        r"highest = .*",
    ),
    "row 8 of a table of 8 bits is never set": (r"8 -> 9", r"for row in range\(8\):"),
    "types of the same width": (
        r"arms|Eq|.*:u64.*|'cvt.*d:u16.*",
        r"for word in .*|.*(_DOUBLE|cvta|f64|quarter|\"bf16\", \"f16\").*",
    ),
    "no width is 63": (r"64 -> 63", r"_BYTES_4 = .*"),
    "what has the width already is neither cut nor extended": (r"LtE", r"if TYPES\[result\].*"),
    "no register is wider": (r".*~.*", r".*(_DOUBLE|cvta|b64|f64).*"),
    "addresses, labels and constants of the text have no width": (
        r".*(\]~|label|immediate).*",
        r".*",
    ),
    "a segment without alternatives stands for itself, and its choice is not asked for": (
        r"without \('(sat|ftz)',\)",
        r"_SINGLE = .*|\{\"irnd\": _TO_INTEGER.*",
    ),
    "another entry says the same of it": (
        r"'cvt\.ftz\.dtype.*' -> 'cvt\{\.ftz\}.*|'cvt\.rn\.ftz.*' -> 'cvt\.rn\{\.ftz\}.*"
        r"|'cvt\.irnd\{\.ftz\}\.type.*' -> 'cvt\{\.irnd\}.*"
        r"|'cvt.*\.type\.type  .*' -> 'cvt.*\{\.type\}\.type.*",
        r".*",
    ),
    "the assembler takes wider registers there, too": (r"'cvt\..*~.*|'cvt\..*:u64.*", r".*cvt\..*"),
    "there is no such architecture": (r"80 -> 79", r".*since=80.*"),
    "no register is wider than a double": (
        r"'setp\.cmp\.bool\.type  p:pred, a, b, c:pred' -> .*~.*",
        r".*",
    ),
    "sources of one type, named otherwise": (r".*(count:u32, id:u32|members:b32, c:b32).*", r".*"),
}


def equivalent(change: str, line: str) -> str:
    """Why a mutant is none; empty where no reason is known."""
    return next(
        (
            reason
            for reason, (changed, where) in EQUIVALENT.items()
            if re.fullmatch(changed, change) and re.fullmatch(where, line)
        ),
        "",
    )
