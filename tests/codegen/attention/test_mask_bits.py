"""Masks packed by the kernel itself, on the machine that runs its PTX, and walked as kernels do."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import pytest

from tylo.codegen.attention.mask_bits import PackMask, drop_masked
from tylo.codegen.attention.member import WORKED, Member
from tylo.codegen.attention.packed_mask import MASK_PARAMETERS, MaskArguments, PackedMask
from tylo.codegen.attention.source import source
from tylo.codegen.cuda_files import cuda_file
from tylo.codegen.nvrtc import Compiled, compile, require_full_speed
from tylo.layouts.errors import GenerationError, LaunchError
from tylo.proofs.ptx.machine.launch import Unwritten, launch

MASKED = (
    replace(WORKED, mask=True),
    Member(64, "bf16", 3, 128, 3, mask=True),
    Member(128, "f16", 2, 128, 2, mask=True, reference="first"),
)


@cache
def packing(groups: int, keys: int) -> Compiled:
    kernel = PackMask(groups, keys)
    built = compile(kernel.source(), "sm_80", kernels=[kernel.entry])
    require_full_speed(built)
    return built


def packed(mask: Any, groups: int, keys: int) -> tuple[PackedMask, Any, Any]:
    """(geometry, bits, kept) of a mask in four dimensions; stride 0 where it repeats."""
    found = PackedMask(mask.shape, mask.strides, 64 * groups, keys)
    memory = mask
    while memory.base is not None:
        memory = memory.base
    bits = numpy.zeros(found.bits_bytes // 4, numpy.uint32)
    kept = numpy.zeros(found.bytes - found.bits_bytes, numpy.uint8)
    given = found.arguments()
    launch(
        packing(groups, keys).ptx,
        "pack_mask",
        found.blocks,
        PackMask(groups, keys).threads,
        [
            memory.view(numpy.uint8),
            Unwritten(bits),
            Unwritten(kept),
            *(getattr(given, name) for name in MASK_PARAMETERS[3:]),
        ],
    )
    batch, heads, rows, _ = found.extents
    return (
        found,
        bits.reshape(batch, heads, found.records, rows, 4),
        kept.reshape(batch, heads, found.row_tiles, found.tiles),
    )


def broadcast(shape: tuple[int, ...], full: tuple[int, ...], share: float) -> Any:
    drawn = numpy.random.default_rng(sum(shape)).random(shape) < share
    return numpy.broadcast_to(drawn, full)


FULL = (2, 2, 150, 200)


@pytest.mark.parametrize(
    ("mask", "groups", "keys"),
    [
        (broadcast(FULL, FULL, 0.5), 2, 64),
        (broadcast((150, 200), FULL, 0.01), 1, 64),
        (broadcast((2, 1, 1, 200), FULL, 0.99), 2, 128),
        (broadcast((150, 1), FULL, 0.5), 3, 128),
        (broadcast((1, 1, 200, 150), (1, 1, 200, 150), 0.5).transpose(0, 1, 3, 2), 1, 128),
        (broadcast((1, 1, 70, 129), (1, 1, 70, 129), 1.0), 1, 64),
        (broadcast((1, 1, 70, 129), (1, 1, 70, 129), 0.0), 1, 64),
    ],
    ids=["full", "heads repeat", "rows repeat", "keys repeat", "transposed", "all", "none"],
)
def test_bits_and_steps(mask: Any, groups: int, keys: int) -> None:
    found, bits, kept = packed(mask, groups, keys)
    batch, heads, rows, count = found.extents
    own = mask[:batch, :heads, :rows]
    key = numpy.arange(count)
    # Eight keys, of which each of four lanes holds two: word by pair, bit by eight and half.
    word, bit = key % 8 // 2, key // 8 % 16 * 2 + key % 2
    for b in range(batch):
        for h in range(heads):
            read = bits[b, h][key // 128, :, word] >> bit[:, None] & 1
            assert (own[b, h] == read.T).all()
            for tile in range(found.row_tiles):
                for step in range(-(-count // keys)):
                    part = own[b, h, tile * found.rows :][: found.rows, step * keys :][:, :keys]
                    byte = int(kept[b, h, tile, step])
                    assert byte & 1 == part.any()
                    for group in range(groups):
                        # A row that repeats is that of every group.
                        of_group = part[64 * group :][:64] if rows > 1 else part
                        whole = of_group.all() and (step + 1) * keys <= count
                        if len(of_group) and part.any():
                            assert byte >> 1 + group & 1 == whole


def test_parameters_are_those_of_the_kernel() -> None:
    text = cuda_file("attention", "pack_mask.cuh")
    listed = text[text.index("pack_mask(") :].partition("(")[2].partition(")")[0]
    found = [part.replace("*", "* ").split() for part in listed.split(",")]
    assert tuple(part[-1] for part in found) == MASK_PARAMETERS
    sizes = {"char*": 8, "unsigned*": 8, "long": 8, "int": 4}
    for *kind, name in found:
        assert getattr(MaskArguments, name).size == sizes[kind[-1]]


@pytest.mark.parametrize("member", MASKED, ids=str)
def test_each_score_looks_its_own_key_up(member: Member) -> None:
    """PTX ISA, register fragments of wgmma.m64nNk16, D; bits as the packing test reads them."""
    lines = re.findall(
        r"if \(\(bits_(\d) & (0x\w+)u\) == 0u\) scores\[(\d+)\] = -lane_inf", drop_masked(member)
    )
    assert [int(value) for _, _, value in lines] == list(range(member.keys // 2))
    for row, place, value in ((int(r), int(p, 16), int(v)) for r, p, v in lines):
        assert row == value // 2 % 2
        for lane in range(32):
            column = 8 * (value // 4) + 2 * (lane % 4) + value % 2
            assert column % 8 // 2 == lane % 4  # the word, which a thread takes by its lane
            assert place == 1 << column // 8 * 2 + column % 2
    assert ("tile % 2 * 16" in drop_masked(member)) == (member.keys == 64)


@pytest.mark.parametrize("member", MASKED, ids=str)
def test_both_roles_walk_the_same_steps(member: Member) -> None:
    """So that trip counts are equal, as the explored schedule takes them to be."""
    text = source(member)
    made = re.findall(r"KeptTiles kept = kept_tiles\((.*)\);", text)
    assert made == ["given, work"] * 2
    assert re.findall(r"tile = (.*?)[;)]", text).count("before(work.tiles") == 2
    assert text.count("for (tile = before(tile); tile >= 0; tile = before(tile))") == 2


WALK = """
#include <cstdio>
#include <vector>
#define __device__
#define __forceinline__
struct Arguments { const unsigned char* kept; long long kept_batch, kept_head, kept_row; };
struct Work { int first_row, head, batch, tiles; };
enum : int { rows = 128 };
static int __clz(int word) { return __builtin_clz(static_cast<unsigned>(word)); }
TEXT
int main() {
    int tiles, byte;
    while (std::scanf("%d", &tiles) == 1) {
        std::vector<unsigned> words(tiles / 4 + 1, 0x01010101u);
        unsigned char* bytes = reinterpret_cast<unsigned char*>(words.data());
        for (int i = 0; i < tiles; ++i) {
            std::scanf("%d", &byte);
            bytes[i] = static_cast<unsigned char>(byte);
        }
        KeptTiles kept = kept_tiles(Arguments{bytes, 0, 0, 0}, Work{0, 0, 0, tiles});
        for (int tile = kept.before(tiles); tile >= 0; tile = kept.before(tile))
            std::printf("%d:%d ", tile, kept.whole(tile, 1u));
        std::printf("\\n");
    }
}
"""


def test_steps_that_keep_something_are_walked_once(tmp_path: Path) -> None:
    """The kernel's own text, compiled for this processor; what lies behind the end is no step."""
    program = tmp_path / "walk.cpp"
    program.write_text(WALK.replace("TEXT", cuda_file("attention", "mask_tiles.cuh")))
    try:
        subprocess.run(["g++", "-O1", str(program), "-o", str(tmp_path / "walk")], check=True)
    except FileNotFoundError:
        pytest.skip("there is no g++ here")
    rng = numpy.random.default_rng(4)
    rows = [rng.choice([0, 1, 5], size=n, p=[p, (1 - p) / 2, (1 - p) / 2]).tolist()
            for n in range(27) for p in (0.0, 0.5, 0.95, 1.0)]  # fmt: skip
    given = "\n".join(f"{len(row)} {' '.join(map(str, row))}" for row in rows)
    done = subprocess.run(
        [str(tmp_path / "walk")], input=given, capture_output=True, text=True, check=True
    )
    for row, found in zip(rows, done.stdout.splitlines(), strict=True):
        wanted = [f"{i}:{byte >> 2 & 1}" for i, byte in enumerate(row) if byte][::-1]
        assert found.split() == wanted, row


def test_refusals() -> None:
    with pytest.raises(GenerationError, match="a mask and steps of 96 keys"):
        Member(64, "bf16", 2, 96, 2, mask=True)
    with pytest.raises(LaunchError, match="takes 8589934592 blocks"):
        PackedMask((2**12, 2**6, 2**14, 2**14), (2**34, 2**28, 2**14, 1), 64, 64)
