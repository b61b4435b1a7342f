"""Claims that mean nothing are refused in a sentence."""

from __future__ import annotations

import pytest

from claim_texts import BASE, TILE, edited, effect_of
from tylo.layouts.errors import ClaimError

DOUBLING = "".join(f'd{i} = "d{i - 1} + d{i - 1}"\n' for i in range(1, 60))

# Parts of the claim that several edits change: the length of x, what is stored, and where.
_LENGTH = 'elements = "n"\nalignment = 16\n\n[buffer.y]'
_FROM, _INTO = 'from = "x[offset]"', 'into = "y[offset]"'

# An edit of a claim, and what the refusal says.
MALFORMED = {
    "no TOML": ("threads = 128", "threads =", "is no TOML"),
    "a number without end": ("threads = 128", f"threads = {'9' * 5000}", "is no TOML"),
    "deep lists": ("threads = 128", f"threads = {'[' * 3000}{']' * 3000}", "is no TOML"),
    "another schema": ("claim/1", "claim/2", "schema is 'tylo.ptx-claim/2'; write schema ="),
    "no schema": ('schema = "tylo.ptx-claim/1"', "", "schema is None"),
    "no entry": ('entry = "masked_copy"', "", "entry is missing; it is a string"),
    "an empty entry": ('entry = "masked_copy"', 'entry = ""', "entry is empty"),
    "a number for a name": ('entry = "masked_copy"', "entry = 7", "entry is a int where a string"),
    "no threads": ("threads = 128", "", "threads is missing"),
    "too many threads": ("threads = 128", "threads = 1025", "use an integer from 1 to 1024"),
    "true threads": ("threads = 128", "threads = true", "threads is True"),
    "threads in words": ("threads = 128", 'threads = "128"', "where an integer belongs"),
    "half a thread": ("threads = 128", "threads = 127.5", "where an integer belongs"),
    "huge threads": ("threads = 128", f"threads = {'9' * 100}", "a number of 333 bits"),
    "too many blocks": ("blocks = 8388608", "blocks = 2147483648", "blocks is 2147483648"),
    "an unknown key": ("threads = 128", "threads = 128\nwarps = 4", "a key 'warps'"),
    "an unknown table": ("[let]", "[lets]\na = 1\n[let]", "a key 'lets' that means nothing"),
    "an unknown key of a buffer": (
        '[buffer.x]\ndirection = "in"',
        '[buffer.x]\ncolour = 1\ndirection = "in"',
        "[buffer.x] has a key 'colour' that means nothing here; known keys: alignment",
    ),
    "an unknown key of a store": ("values = 2", "values = 2\nlane = 3", "[store 0] has a key"),
    "an unknown key of a size": ("bits = 32", "bits = 32\nsigned = true", "[size.n] has a key"),
    "no store": ("[[store]]", "[[stores]]", "store is missing; it is a list"),
    "one store as a table": ("[[store]]", "[store]", "store is a dict where a list belongs"),
    "no arguments": ("arguments = [", "parameters = [", "arguments is missing"),
    "an argument too few": (', "n", ', ", ", "'n' is declared and is no argument"),
    "an argument too many": (', "n", ', ', "n", "m", ', "'m', which is declared 0 times"),
    "an argument twice": (', "n", ', ', "n", "x", ', "'x' twice"),
    "a number as argument": (', "n", ', ", 7, ", "use a list of strings"),
    "declared twice": ("[unused]", "[unused]\nn = 64", "'n', which is declared 2 times"),
    "a direction": ('"out"', '"inout"', "direction is 'inout'; use one of in, out"),
    "an element": (
        'direction = "in"\nelement = "f32"',
        'direction = "in"\nelement = "float"',
        "[buffer.x] element is 'float'; use one of b8",
    ),
    "a size of 48 bits": ("bits = 32", "bits = 48", "[size.n] parameter 'n' has 48 bits"),
    "bounds out of order": ("least = 1", "least = 3000000000", "bounds are in order"),
    "a negative bound": ("least = 1", "least = -1", "least is -1"),
    "a taken name": ("[size.n]", "[size.thread]", "parameter called 'thread'"),
    "a definition of thread": (
        "[let]",
        '[let]\nthread = "block"',
        "'thread' already has a meaning",
    ),
    "a definition of n": ("[let]", '[let]\nn = "block"', "'n' is a parameter"),
    "an alignment of three": (
        _LENGTH,
        'elements = "n"\nalignment = 3\n\n[buffer.y]',
        "[buffer.x] buffer 'x' has alignment 3; use a power of two",
    ),
    "two extents": (
        _LENGTH,
        'elements = "n"\nelements_per_block = 4\nalignment = 16\n\n[buffer.y]',
        "[buffer.x] has a key 'elements_per_block'",
    ),
    "no extent": (
        _LENGTH,
        "alignment = 16\n\n[buffer.y]",
        "[buffer.x] has no length; give elements, those",
    ),
    "an extent of threads": (
        _LENGTH,
        'elements = "thread"\nalignment = 16\n\n[buffer.y]',
        "buffer.x: thread mentions thread; known here: n, blocks",
    ),
    "a bad term": (_INTO, 'into = "y[offset"', "[store 0] into: expected ']'"),
    "a shift": ("thread * 2 + value", "thread << 1", "[let] offset: expected the end"),
    "an unknown name": (
        _FROM,
        'from = "x[offset + m]"',
        "[store 0] from: offset + m mentions m; known here: n, thread, block",
    ),
    "an unused parameter in a term": (
        _FROM,
        'from = "x[global_scratch]"',
        "mentions global_scratch",
    ),
    "a definition of itself": ("thread * 2 + value", "offset + 1", "mentions offset"),
    "an unknown buffer": (_INTO, 'into = "z[offset]"', "no buffer is called 'z'"),
    "into an input": (_INTO, 'into = "x[offset]"', "has direction 'in'"),
    "from an output": (_FROM, 'from = "y[offset]"', "has direction 'out'"),
    "two indices": (_INTO, 'into = "y[0, offset]"', "it is an array: give one"),
    "an unknown conversion": (
        _FROM,
        'from = "cvt.f8(x[offset])"',
        "'cvt.f8' is no conversion that is known; use one of cvt.rn.bf16.f32",
    ),
    "a conversion of other widths": (
        _FROM,
        'from = "cvt.rn.bf16.f32(x[offset])"',
        "cvt.rn.bf16.f32 makes 16 bits of 32, and x has elements of 32, y of 32",
    ),
    "no values": ("values = 2", "values = 0", "values is 0; use an integer from 1 to 256"),
    "a vector that does not divide": (
        "values = 2",
        "values = 2\nvector = 4",
        "vector is 4; it divides values, here 2",
    ),
    "a vector of no neighbours": (
        "values = 2",
        "values = 2\nvector = 2",
        "not proven that such values are neighbours",
    ),
    "a condition that is none": ('"offset < n"', '"offset"', "where: expected a comparison"),
    "a condition in numbers": ('"offset < n"', "7", "where is a int where a list belongs"),
    "an index that wraps": (
        _INTO,
        'into = "y[offset + 9223372036854775807 * 9223372036854775807]"',
        "a number beyond 2^63",
    ),
    "an index that may wrap": (
        _FROM,
        'from = "x[offset * 4611686018427387904]"',
        "may leave 64 bits",
    ),
    "an index that is not linear": (
        _INTO,
        'into = "y[offset ^ 6]"',
        "[store 0] needs a writer",
    ),
    "definitions that double": ("[let]", f"[let]\nd0 = \"thread\"\n{DOUBLING}", ""),
    "a divisor that may be zero": (_FROM, 'from = "x[offset / value]"', "positive"),
    "ownership of nothing": ("values = 2", 'values = 2\nownership = "C"', "name atom and operand"),
    "an unknown atom": ("values = 2", 'ownership = "mma.m9 C"', "ownership: no atom 'mma.m9'"),
    "an unknown operand": (
        "values = 2",
        'ownership = "mma.m16n8k16.bf16 Q"',
        "[store 0] ownership:",
    ),
    "an axis that is a size": (
        "values = 2",
        'ownership = "mma.m16n8k16.bf16 C"',
        "'n' is an axis of the ownership and a name of the claim",
    ),
    "other values than are owned": (
        "values = 2",
        'values = 2\nownership = "mma.m16n8k16.bf16 C"',
        "values is 2; each thread owns 4",
    ),
    "a repeat of nothing": (
        "values = 2",
        'ownership = { atom = "mma.m16n8k16.bf16", operand = "C", m = 0 }',
        "m is 0; use an integer from 1 to 64",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_claims_are_refused(case: str) -> None:
    old, new, message = MALFORMED[case]
    text = edited(BASE, (old, new))
    if case == "definitions that double":
        text, message = text.replace("y[offset]", "y[d59]"), "numbers and names; at most 1000"
    with pytest.raises(ClaimError) as refusal:
        effect_of(text, (64,))
    assert message in str(refusal.value), str(refusal.value)
    assert str(refusal.value).startswith("claim.toml")


def test_a_guarded_store_needs_a_total_extent() -> None:
    text = BASE.replace('elements = "n"', "elements_per_block = 256")
    with pytest.raises(ClaimError, match="state its extent as elements"):
        effect_of(text)


def test_groups_of_threads_own_tiles() -> None:
    assert effect_of(edited(TILE, ("threads = 32", "threads = 64"))).threads == 64
    with pytest.raises(ClaimError, match="that of 32 threads, and a block has 48"):
        effect_of(edited(TILE, ("threads = 32", "threads = 48")))
