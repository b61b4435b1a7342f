"""Claims about PTX: what a file means, and that what means nothing is refused in a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tylo.layouts.atoms import atom
from tylo.layouts.errors import ClaimError, NotationError, PtxError, TyloError, Undecided
from tylo.layouts.terms import evaluate, name, show
from tylo.proofs.effects import Effect, Less
from tylo.proofs.ptx.claim_check import check_text
from tylo.proofs.ptx.claim_effect import lower
from tylo.proofs.ptx.claim_file import claim_from_text, read_claim
from tylo.proofs.ptx.claim_terms import read_access, read_condition, read_source, read_term
from tylo.proofs.ptx.inprocess import solve

EXAMPLES = Path(__file__).parents[3] / "examples" / "ptx"
BASE = (EXAMPLES / "masked_copy.toml").read_text()
TILE = (EXAMPLES / "fragment_order.toml").read_text()


def effect_of(text: str, widths: tuple[int, ...] = ()) -> Effect:
    return lower(claim_from_text(text, "claim.toml"), widths, solve).effect


def edited(text: str, *edits: tuple[str, str]) -> str:
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("20 - 5 - 3", 12),
        ("a / 4 % 2", 1),
        ("a // 4", 3),
        ("a div 4 + a mod 4", 4),
        ("a ^ 1 + 2", 14),
        ("a xor 3", 14),
        ("0x1F + a", 44),
        (" a\n*\t2 ", 26),
    ],
)
def test_terms_bind_as_in_c(text: str, value: int) -> None:
    assert evaluate(read_term(text), {"a": 13}) == value


@pytest.mark.parametrize(
    "term",
    [
        (name("block") * 32 + name("thread")) * 4 + 3,
        name("a") - (name("b") - (name("c") ^ 5)),
        name("a") // 4 % 8 * (name("b") // 3 * 2),
        (name("a") ^ (name("b") + 1)) % 7,
    ],
)
def test_what_is_shown_is_read_back(term: Any) -> None:
    assert show(read_term(show(term))) == show(term)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a number, a name or '(' but found the end"),
        ("a +", "found the end"),
        ("a b", "expected the end but found 'b' in 'a b' (witness: 2)"),
        ("(a", "expected ')'"),
        ("a << 2", "shifts and masks are written * / and %"),
        ("a & 3", "shifts and masks are written * / and %"),
        ("-1", "found '-'"),
        ("a / 0", "divisors are positive"),
        ("a % (1 - 1)", "divisors are positive"),
        ("010", "found '0'"),
        ("1.5", "found '.'"),
        ("a.b", "names in terms have no dots"),
        ("div", "found 'd'"),
        ("9" * 30, "a number below 2^63"),
        ("9" * 2000, "a term of 2000 characters"),
        ("(" * 41 + "a" + ")" * 41, "at most 40 parentheses"),
        ("a \u0663", "found '\u0663'"),
        ("\u00e9", "found '\u00e9'"),
        ("x[a]", "expected the end but found '['"),
        ("a < 1", "expected the end but found '<'"),
    ],
)
def test_terms_that_mean_nothing(text: str, message: str) -> None:
    with pytest.raises(NotationError) as refusal:
        read_term(text)
    assert message in str(refusal.value)


def test_conditions_are_strict() -> None:
    a, b = name("a"), name("b")
    assert read_condition("a < b") == (Less(a, b),)
    assert read_condition("a <= b") == (Less(a, b + 1),)
    assert read_condition("a > b") == (Less(b, a),)
    assert read_condition("a >= b") == (Less(b, a + 1),)
    assert read_condition("a == b") == (Less(a, b + 1), Less(b, a + 1))
    for text in ("a", "a < b < c", "a = b", "a != b", "a < b and b < c"):
        with pytest.raises(NotationError):
            read_condition(text)


def test_accesses() -> None:
    assert read_access("x[a, 2]").indices == (name("a"), 2)
    assert read_source("x[a]") == read_access("x[a]")
    assert read_source("cvt.rn.f16.f32(x[a])").conversion == "cvt.rn.f16.f32"
    for text in ("x", "x[]", "x[a", "x[a]]", "f(x)", "f(x[a]", "f(g(x[a]))", "x[a] + 1"):
        with pytest.raises(NotationError):
            read_source(text)


def test_a_masked_copy_lowers_to_guarded_stores() -> None:
    effect = effect_of(BASE)
    assert [store.bits for store in effect.stores] == [32, 32]
    assert [str(*store.where) for store in effect.stores] == [
        "block * 256 + thread * 2 < n",
        "block * 256 + thread * 2 + 1 < n",
    ]
    element = effect.stores[1].element
    assert element is not None
    assert show(element.thread) == "column % 256 / 2"
    assert effect.arguments == ("x", "y", "n", "global_scratch", "profile_scratch")
    assert [p.maximum for p in effect.parameters] == [2**31 - 1, 2**64 - 1, 2**64 - 1]


def test_an_ownership_gives_coordinates() -> None:
    effect = effect_of(TILE, (128,))
    (store,) = effect.stores
    table = atom("mma.m16n8k16.bf16").operand("C").ownership
    for thread in range(32):
        for value, part in enumerate(store.parts):
            row, column = table.coordinates(thread, value)
            found = evaluate(part.offset, {"thread": thread, "block": 3})
            assert found == 4 * (3 * 128 + row * 8 + column)


def test_an_ownership_may_be_tiled_over_warps() -> None:
    tiled = '{ atom = "mma.m16n8k16.bf16", operand = "C", n = 2, warps_m = 2 }'
    text = edited(
        TILE,
        ('"mma.m16n8k16.bf16 C" # m and n are row and column of value', tiled),
        ("threads = 32", "threads = 64"),
        ("block * 128 + lane * 4 + value", "block * 512 + thread * 8 + value"),
        ("block * 128 + m * 8 + n", "block * 512 + m * 16 + n"),
    )
    effect = effect_of(text)
    assert len(effect.stores) == 8
    for thread in (0, 37, 63):
        offsets = [
            evaluate(s.parts[0].offset, {"thread": thread, "block": 0}) for s in effect.stores
        ]
        rows = [offset // 4 // 16 for offset in offsets]
        # Rows of the lane's quad, in the half of its warp; the second atom repeats them.
        first = thread % 32 // 4 + 16 * (thread // 32)
        assert rows == [first, first, first + 8, first + 8] * 2


def test_values_are_written_together_only_where_that_is_proven() -> None:
    text = (EXAMPLES / "masked_vectors.toml").read_text()
    assert [store.bits for store in effect_of(text, (128,)).stores] == [128, 128]
    any_size = edited(text, ('"n % 16 == 0", # what Triton was told', ""))
    assert [store.bits for store in effect_of(any_size, (128,)).stores] == [32] * 8
    assert [store.bits for store in effect_of(text, (64, 32)).stores] == [64] * 4
    assert len(lower(claim_from_text(text, "c"), (128,)).effect.stores) == 8
    apart = edited(BASE, ("thread * 2 + value", "thread + value * 128"))
    assert [store.bits for store in effect_of(apart, (64,)).stores] == [32, 32]
    element = effect_of(apart).stores[1].element
    assert element is not None
    assert show(element.thread) == "column % 256 % 128"


def test_a_matrix_has_rows_and_a_writer() -> None:
    text = edited(
        BASE,
        ('[buffer.y]\ndirection = "out"\nelement = "f32"\nelements = "n"\n',
         '[buffer.y]\ndirection = "out"\nelement = "f32"\nelements = "n"\n'
         'written = { rows = "n / 64", columns = 64, stride = 64 }\n'),
        ('into = "y[offset]"', 'into = "y[block * 4 + warp, lane * 2 + value]"'),
        ('where = "offset < n"', 'where = "block * 4 + warp < n / 64"\n'
         '[store.writer]\nblock = "row / 4"\nthread = "row % 4 * 32 + column / 2"'),
    )  # fmt: skip
    store = effect_of(text).stores[1]
    assert show(store.offset) == "((block * 4 + thread / 32) * 64 + thread % 32 * 2 + 1) * 4"
    assert store.element is not None
    assert show(store.element.thread) == "row % 4 * 32 + column / 2"


LOOP = """
.version 8.0
.target sm_90
.address_size 64
.entry repeat(.param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .b32 %r<8>; .reg .b64 %rd<6>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mul.wide.u32 %rd3, %r3, %r1;
    shl.b64 %rd3, %rd3, 5;
    cvt.u64.u32 %rd4, %r2;
    add.s64 %rd3, %rd3, %rd4;
    shl.b64 %rd3, %rd3, 2;
    add.s64 %rd1, %rd1, %rd3;
    add.s64 %rd2, %rd2, %rd3;
    mov.u32 %r4, 0;
again:
    ld.global.u32 %r5, [%rd1];
    st.global.u32 [%rd2], %r5;
    add.s64 %rd1, %rd1, 128;
    add.s64 %rd2, %rd2, 128;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p1, %r4, %r1;
    @%p1 bra again;
    ret;
}
"""
STEPS = """
schema = "tylo.ptx-claim/1"
entry = "repeat"
threads = 32
blocks = 1024
arguments = ["x", "y", "n"]
[size]
n = { bits = 32, least = 1, most = 1000 }
[buffer]
x = { direction = "in", element = "u32", elements_per_block = "32 * n", alignment = 4 }
y = { direction = "out", element = "u32", elements_per_block = "32 * n", alignment = 4 }
[[store]]
steps = "n"
into = "y[block * (32 * n) + step * 32 + thread]"
from = "x[block * (32 * n) + step * 32 + thread]"
"""


def test_steps_are_those_of_a_loop() -> None:
    claim = claim_from_text(STEPS, "steps.toml")
    assert check_text(LOOP, claim, solve).verdict == "holds"
    shorter = LOOP.replace("setp.lt.u32 %p1, %r4, %r1;", "setp.le.u32 %p1, %r4, %r1;")
    with pytest.raises(TyloError, match="another number of steps"):
        check_text(shorter, claim, solve)


def test_unused_parameters_may_be_read_and_not_followed() -> None:
    ptx = (EXAMPLES / "fragment_order.ptx").read_text()
    claim, old = claim_from_text(TILE, "claim.toml"), "mov.u32 \t%r5, %tid.x;"
    read = f"{old} ld.param.b64 %rd1, [fragment_order_param_2];"
    assert check_text(edited(ptx, (old, read)), claim, solve).verdict == "holds"
    followed = check_text(edited(ptx, (old, f"{read} ld.global.b32 %r1, [%rd1];")), claim, solve)
    assert {v.obligation.label for v in followed.validation.failures} >= {"load 0: bounds"}
    third = ".param .u64 .ptr .global .align 1 fragment_order_param_2"
    for promise in (third.replace("align 1", "align 4"), third.replace(".align 1 ", "")):
        with pytest.raises(PtxError, match="an integer there, of which nothing is known"):
            check_text(edited(ptx, (third, promise)), claim, solve)


def test_assumptions_that_no_launch_satisfies_prove_nothing() -> None:
    text = edited(BASE, ('"n <= blocks * 256" # the grid is large enough', '["n < 5", "n > 7"]'))
    ptx = (EXAMPLES / "masked_copy_wrong.ptx").read_text()
    with pytest.raises(ClaimError, match="no launch satisfies it"):
        check_text(ptx, claim_from_text(text, "claim.toml"), solve)
    with pytest.raises(Undecided, match="whether any launch"):
        check_text(ptx, claim_from_text(text, "claim.toml"), lambda asked: ["unknown"] * len(asked))


def test_the_cuda_example_holds_as_any_compiler_writes_it() -> None:
    from tylo.codegen.nvrtc import compile as compile_cuda

    claim = read_claim(EXAMPLES / "swap_halves.toml")
    source = (EXAMPLES / "swap_halves.cu").read_text()
    for architecture in ("sm_80", "sm_90a"):
        right = compile_cuda(source, architecture, kernels=["swap_halves"]).ptx
        assert check_text(right, claim, solve).verdict == "holds"
        wrong = compile_cuda("#define WRONG\n" + source, architecture, kernels=["swap_halves"]).ptx
        found = check_text(wrong, claim, solve)
        assert found.verdict == "fails"
        assert {v.obligation.label for v in found.validation.failures} == {"store 0: address"}


DOUBLING = "".join(f'd{i} = "d{i - 1} + d{i - 1}"\n' for i in range(1, 60))

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
        'elements = "n"\nalignment = 16\n\n[buffer.y]',
        'elements = "n"\nalignment = 3\n\n[buffer.y]',
        "[buffer.x] buffer 'x' has alignment 3; use a power of two",
    ),
    "two extents": (
        'elements = "n"\nalignment = 16\n\n[buffer.y]',
        'elements = "n"\nelements_per_block = 4\nalignment = 16\n\n[buffer.y]',
        "[buffer.x] has a key 'elements_per_block'",
    ),
    "no extent": (
        'elements = "n"\nalignment = 16\n\n[buffer.y]',
        "alignment = 16\n\n[buffer.y]",
        "[buffer.x] elements_per_block is missing",
    ),
    "an extent of threads": (
        'elements = "n"\nalignment = 16\n\n[buffer.y]',
        'elements = "thread"\nalignment = 16\n\n[buffer.y]',
        "buffer.x: thread mentions thread; known here: n, blocks",
    ),
    "a bad term": ('into = "y[offset]"', 'into = "y[offset"', "[store 0] into: expected ']'"),
    "a shift": ("thread * 2 + value", "thread << 1", "[let] offset: expected the end"),
    "an unknown name": (
        'from = "x[offset]"',
        'from = "x[offset + m]"',
        "[store 0] from: offset + m mentions m; known here: n, thread, block",
    ),
    "an unused parameter in a term": (
        'from = "x[offset]"',
        'from = "x[global_scratch]"',
        "mentions global_scratch",
    ),
    "a definition of itself": ("thread * 2 + value", "offset + 1", "mentions offset"),
    "an unknown buffer": ('into = "y[offset]"', 'into = "z[offset]"', "no buffer is called 'z'"),
    "into an input": ('into = "y[offset]"', 'into = "x[offset]"', "has direction 'in'"),
    "from an output": ('from = "x[offset]"', 'from = "y[offset]"', "has direction 'out'"),
    "two indices": ('into = "y[offset]"', 'into = "y[0, offset]"', "it is an array: give one"),
    "an unknown conversion": (
        'from = "x[offset]"',
        'from = "cvt.f8(x[offset])"',
        "'cvt.f8' is no conversion that is known; use one of cvt.rn.bf16.f32",
    ),
    "a conversion of other widths": (
        'from = "x[offset]"',
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
        'into = "y[offset]"',
        'into = "y[offset + 9223372036854775807 * 9223372036854775807]"',
        "a number beyond 2^63",
    ),
    "an index that may wrap": (
        'from = "x[offset]"',
        'from = "x[offset * 4611686018427387904]"',
        "may leave 64 bits",
    ),
    "an index that is not linear": (
        'into = "y[offset]"',
        'into = "y[offset ^ 6]"',
        "[store 0] needs a writer",
    ),
    "definitions that double": ("[let]", f"[let]\nd0 = \"thread\"\n{DOUBLING}", ""),
    "a divisor that may be zero": ('from = "x[offset]"', 'from = "x[offset / value]"', "positive"),
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
