"""A bundle as a folder: read once, whole, or not at all; written whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tylo.layouts.errors import BundleError
from tylo.proofs.bundle.manifest import (
    MANIFEST,
    MANIFEST_DIGEST,
    Manifest,
    digest,
    manifest_from_bytes,
)

_LARGEST = 1 << 26  # bytes of one file; a kernel and its proof are a few hundred kilobytes
_MOST = 1000  # files


@dataclass(frozen=True, slots=True)
class Bundle:
    """A manifest and the content of every file it names, as they were when read."""

    manifest: Manifest
    files: Mapping[str, bytes]

    def text(self, path: str) -> str:
        """A file of the bundle as text, or `BundleError`."""
        if path not in self.files:
            raise BundleError(f"the bundle has no {path}", hint="generate the bundle again")
        try:
            return self.files[path].decode("utf-8")
        except UnicodeDecodeError as reason:
            raise BundleError(f"{path} is not text: {reason}") from reason


def sealed(manifest: Manifest, files: Mapping[str, bytes]) -> Bundle:
    """A bundle of these files, with the digests of exactly these in its manifest."""
    digests = {path: digest(content) for path, content in files.items()}
    return Bundle(replace(manifest, files=digests), files)


def read_bundle(folder: str | os.PathLike[str]) -> Bundle:
    """The bundle in `folder`, with every digest checked.

    Raises `BundleError` for a file that differs from its digest, is missing, is a link, or that the
    manifest does not name: nothing else may be loaded from a bundle.
    """
    root = Path(folder)
    if not root.is_dir():
        raise BundleError(f"{root} is not a folder", hint="name the folder of a bundle")
    if not (root / MANIFEST).is_file():
        raise BundleError(f"{root} holds no {MANIFEST}", hint="name the folder of a bundle")
    content = {path.relative_to(root).as_posix(): path for path in _walk(root)}
    manifest_bytes = _read(content[MANIFEST])
    stated = digest(manifest_bytes) + "\n"
    recorded = _read(content[MANIFEST_DIGEST]) if MANIFEST_DIGEST in content else b""
    if recorded != stated.encode():
        raise BundleError(
            f"{MANIFEST} is not the file that {MANIFEST_DIGEST} records",
            hint="generate the bundle again",
        )
    manifest = manifest_from_bytes(manifest_bytes)
    extra = sorted(content.keys() - manifest.files.keys() - {MANIFEST, MANIFEST_DIGEST})
    if extra:
        raise BundleError(f"{extra[0]} is not named by {MANIFEST}", hint="remove it")
    files: dict[str, bytes] = {}
    for path, expected in sorted(manifest.files.items()):
        if path not in content:
            raise BundleError(f"{path} is missing", hint="generate the bundle again")
        files[path] = _read(content[path])
        if digest(files[path]) != expected:
            raise BundleError(
                f"{path} differs from the digest that {MANIFEST} records",
                hint="generate the bundle again",
            )
    return Bundle(manifest, files)


def write_bundle(folder: str | os.PathLike[str], bundle: Bundle) -> None:
    """Write a bundle beside its final place and rename it there.

    An earlier bundle is replaced; anything else in the way is refused with `BundleError`.
    """
    target = Path(folder).absolute()
    if target.exists() and not _replaceable(target):
        raise BundleError(
            f"{target} exists and is no intact bundle", hint="name a new folder, or empty this one"
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    except OSError as reason:
        raise BundleError(
            f"cannot write {target}: {reason.strerror}", hint="name a folder you may write to"
        ) from reason
    try:
        written = staging / "new"
        manifest = bundle.manifest.to_bytes()
        everything = {
            **bundle.files,
            MANIFEST: manifest,
            MANIFEST_DIGEST: f"{digest(manifest)}\n".encode(),
        }
        for path, content in everything.items():
            place = written / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        if target.exists():
            target.rename(staging / "old")
        try:
            written.rename(target)
        except OSError:
            with contextlib.suppress(OSError):
                (staging / "old").rename(target)
            raise
    except OSError as reason:
        raise BundleError(f"cannot write {target}: {reason.strerror}") from reason
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _replaceable(target: Path) -> bool:
    """An empty folder, or an intact bundle: a file that no manifest names is somebody's work."""
    if not target.is_dir():
        return False
    try:
        if any(target.iterdir()):
            read_bundle(target)
    except (BundleError, OSError):
        return False
    return True


def _walk(root: Path) -> list[Path]:
    found: list[Path] = []
    for base, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = Path(base) / name
            if path.is_symlink():
                raise BundleError(
                    f"{path.relative_to(root)} is a link", hint="a bundle holds plain files"
                )
        found += [Path(base) / name for name in names]
        if len(found) > _MOST:
            raise BundleError(f"more than {_MOST} files in {root}", hint="this is no bundle")
    return found


def _read(path: Path) -> bytes:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            raise BundleError(f"{path.name} is no plain file of at most {_LARGEST} bytes")
        return path.read_bytes()
    except OSError as reason:
        raise BundleError(f"cannot read {path}: {reason.strerror}") from reason
