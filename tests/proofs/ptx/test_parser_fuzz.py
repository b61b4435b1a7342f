"""Text that is cut or changed is read, or refused with line and column."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import numpy as np
import pytest

from tylo.layouts.errors import LaunchError, PtxError
from tylo.proofs.ptx.machine.faults import MachineFault
from tylo.proofs.ptx.machine.launch import launch
from tylo.proofs.ptx.parser import parse

TEXT = """.version 8.8
.target sm_90a
.address_size 64
.const .align 4 .b8 table[4] = {1, 2, 0xff, 4};
.visible .entry k(.param .u64 .ptr .align 4 x, .param .u32 n)
.maxntid 32, 1, 1
{
.reg .pred %p<3>; .reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .f32 %f<5>;
.shared .align 16 .b8 s[256];
ld.param.u64 %rd1, [x];
mov.u32 %r1, %tid.x;
mad.wide.u32 %rd2, %r1, 4, %rd1;
ld.global.nc.u32 %r2, [%rd2];
setp.lt.and.u32 %p1, %r1, 16, !%p2;
@!%p1 bra $L1;
mov.b32 {%h1, %h2}, %r2;
mul.f32 %f1, %f2, 0f3F800000;
shfl.sync.bfly.b32 %r3|%p2, %r2, 1, 31, -1;
$L1:
ld.const.u32 %r4, [table];
bar.sync 0;
st.global.u32 [%rd2+0], %r4;
ret;
}
"""
PIECES = (
    "",
    ";",
    ",",
    "{",
    "}",
    "[",
    "]",
    "%r1",
    "0x",
    "-1",
    "@",
    ".u32",
    "99999999999999999999",
    "|",
    "\\",
    "\x00",
)


def changed(count: int) -> Iterator[str]:
    """Cut short, without a piece, with one twice, with another one, or with two exchanged."""
    generator = random.Random(5)
    words = re.findall(r"\s+|[\w.%$]+|.", TEXT)
    for _ in range(count):
        at, other = (generator.randrange(len(words)) for _ in range(2))
        parts = list(words)
        match generator.randrange(5):
            case 0:
                parts = parts[:at]
            case 1:
                del parts[at]
            case 2:
                parts.insert(at, parts[other])
            case 3:
                parts[at] = generator.choice(PIECES)
            case _:
                parts[at], parts[other] = parts[other], parts[at]
        yield "".join(parts)


def placed(error: PtxError, where: str = r"line \d+, column \d+: ") -> None:
    """An error says where it is."""
    assert re.match(where, str(error)), error


def test_a_changed_text_is_read_or_refused() -> None:
    refused = 0
    for text in changed(1200):
        try:
            parse(text)
        except PtxError as error:
            placed(error)
            refused += 1
    assert refused > 400


def test_a_changed_text_runs_or_says_what_is_wrong() -> None:
    """What the parser lets pass is refused by line and column, or faults at a line, or runs."""
    for text in changed(150):
        try:
            entry = parse(text).entry("k")
        except PtxError:
            continue
        if any(i.mnemonic.startswith("bra") and i.guard is None for i in entry.body):
            continue
        try:
            launch(text, "k", 1, 32, [np.zeros(32, np.uint32), 3][: len(entry.parameters)], seed=1)
        except MachineFault as fault:
            placed(fault, r"line \d+: ")
        except PtxError as error:
            placed(error)
        except LaunchError as error:
            pytest.fail(str(error))


def test_every_instruction_that_comes_later_is_named_with_its_line() -> None:
    for instruction in (
        "mbarrier.init.shared.b64 [s], 1;",
        "cp.async.bulk.commit_group;",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile [s], [%rd1], [%rd2];",
        "wgmma.fence.sync.aligned;",
        "barrier.cluster.arrive;",
        "mapa.shared::cluster.u32 %r1, %r2, 0;",
        "griddepcontrol.wait;",
        "setmaxnreg.inc.sync.aligned.u32 96;",
        "fence.proxy.async;",
    ):
        text = TEXT.replace("bar.sync 0;", instruction)
        with pytest.raises(PtxError, match=r"line 21, column 1: .*PTX ISA 9\.7\..*Hopper's"):
            launch(text, "k", 1, 32, [np.zeros(32, np.uint32), 3])
