"""Folders: one flipped byte, one file more or less, a link, or something in the way."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tylo.codegen.bundle import generate
from tylo.layouts.errors import BundleError, CompileError, GenerationError
from tylo.proofs.bundle import (
    MANIFEST,
    MANIFEST_DIGEST,
    Bundle,
    read_bundle,
    write_bundle,
)
from tylo.proofs.bundle.manifest import manifest_from_bytes

PARAMETERS = {"atom": "mma.m16n8k16.f16"}


@pytest.fixture
def copy(honest: Path, tmp_path: Path) -> Path:
    shutil.copytree(honest, tmp_path / "copy")
    return tmp_path / "copy"


def paths(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_what_a_bundle_holds(honest: Path) -> None:
    assert paths(honest) == [
        "cubin/sm_80.cubin",
        "cubin/sm_90a.cubin",
        "kernel.cu",
        MANIFEST,
        MANIFEST_DIGEST,
        "proof/certificate.json",
        "proof/effect.json",
        "ptx/sm_80.ptx",
        "ptx/sm_90a.ptx",
        "report.html",
        "tests/coordinates.cu",
        "tests/second_instruction.cu",
        "tests/shared_roundtrip.cu",
    ]


def test_one_flipped_byte_anywhere_is_refused(copy: Path) -> None:
    """Every byte of the small files, and a spread of those of the large ones."""
    flipped = 0
    chosen = random.Random(7)
    for path in paths(copy):
        content = (copy / path).read_bytes()
        places = {0, len(content) // 2, len(content) - 1}
        places |= {chosen.randrange(len(content)) for _ in range(20)}
        for place in sorted(places):
            changed = bytearray(content)
            changed[place] ^= 1 << chosen.randrange(8)
            (copy / path).write_bytes(bytes(changed))
            with pytest.raises(BundleError) as refused:
                read_bundle(copy)
            expected = MANIFEST if path == MANIFEST_DIGEST else path
            assert expected in str(refused.value), (path, place)
            flipped += 1
        (copy / path).write_bytes(content)
    assert flipped > 200
    assert isinstance(read_bundle(copy), Bundle)


def test_a_file_that_the_manifest_does_not_name(copy: Path) -> None:
    (copy / "cubin" / "sm_100a.cubin").write_bytes(b"anything")
    with pytest.raises(BundleError, match=r"cubin/sm_100a.cubin is not named"):
        read_bundle(copy)


def test_a_missing_file(copy: Path) -> None:
    (copy / "kernel.cu").unlink()
    with pytest.raises(BundleError, match=r"kernel.cu is missing"):
        read_bundle(copy)


def test_a_link(copy: Path, tmp_path: Path) -> None:
    (copy / "kernel.cu").rename(tmp_path / "kernel.cu")
    (copy / "kernel.cu").symlink_to(tmp_path / "kernel.cu")
    with pytest.raises(BundleError, match=r"kernel.cu is a link"):
        read_bundle(copy)


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/b/c", MANIFEST, ""])
def test_a_manifest_that_names_a_file_elsewhere(honest: Path, name: str) -> None:
    content = (honest / MANIFEST).read_bytes().replace(b'"kernel.cu"', f'"{name}"'.encode())
    with pytest.raises(BundleError, match=r"names|canonical"):
        manifest_from_bytes(content)


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"null", b"\\xff", b'{"schema":"tylo.bundle/2"}', b'{"schema":1.5}'],
)
def test_a_malformed_manifest(content: bytes) -> None:
    with pytest.raises(BundleError):
        manifest_from_bytes(content)


def test_a_second_write_replaces_the_first(honest: Path, tmp_path: Path) -> None:
    bundle = read_bundle(honest)
    write_bundle(tmp_path / "again", bundle)
    write_bundle(tmp_path / "again", bundle)
    assert paths(tmp_path / "again") == paths(honest)
    assert [p.name for p in tmp_path.iterdir()] == ["again"]


def test_nothing_else_is_overwritten(tmp_path: Path, honest: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(BundleError, match="exists and is no intact bundle"):
        write_bundle(tmp_path / "mine", read_bundle(honest))
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize(
    ("parameters", "architectures", "error", "message"),
    [
        (PARAMETERS, ("sm_75",), GenerationError, "needs sm_80"),
        (PARAMETERS, ("compute_90",), CompileError, "virtual"),
        (PARAMETERS, (), GenerationError, "no architecture"),
        (PARAMETERS, ("sm_80", "sm_80"), GenerationError, "twice"),
        (PARAMETERS, ("sm_999",), CompileError, "sm_999"),
        ({**PARAMETERS, "repeats_m": 0}, ("sm_80",), GenerationError, "0 M repeats"),
        ({**PARAMETERS, "repeats_m": 5, "pairs": 4}, ("sm_80",), GenerationError, "spill"),
        ({**PARAMETERS, "warps_m": 33}, ("sm_80",), GenerationError, "at most 32 warps"),
        ({**PARAMETERS, "warps_n": 2}, ("sm_80",), GenerationError, "no parameter 'warps_n'"),
    ],
)
def test_a_refusal_leaves_nothing_behind(
    tmp_path: Path,
    parameters: dict[str, int | str],
    architectures: tuple[str, ...],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        generate("pack_operand_a", parameters, tmp_path / "new", architectures=architectures)
    assert list(tmp_path.iterdir()) == []


def test_a_manifest_of_something_else_protects_its_folder(tmp_path: Path, honest: Path) -> None:
    (tmp_path / "webapp").mkdir()
    (tmp_path / "webapp" / MANIFEST).write_text('{"name": "my web app"}')
    (tmp_path / "webapp" / "app.js").write_text("precious")
    with pytest.raises(BundleError, match="no intact bundle"):
        write_bundle(tmp_path / "webapp", read_bundle(honest))
    assert (tmp_path / "webapp" / "app.js").read_text() == "precious"


def test_an_earlier_bundle_with_a_file_of_yours_is_kept(copy: Path, honest: Path) -> None:
    (copy / "notes.txt").write_text("mine")
    with pytest.raises(BundleError, match="no intact bundle"):
        write_bundle(copy, read_bundle(honest))
    assert (copy / "notes.txt").read_text() == "mine"
