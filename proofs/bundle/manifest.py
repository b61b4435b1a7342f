"""The manifest: what a bundle holds, what it claims to be, and what made it.

``manifest.json`` is canonical JSON and names every other file with its digest; its own digest is in
``manifest.json.sha256``, outside the file it covers. Digests only show that a bundle is the one
that was published: `tylo.proofs.bundle.check` believes nothing here and regenerates the claims.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from tylo.layouts.errors import BundleError
from tylo.proofs.claims import canonical_json

SCHEMA = "tylo.bundle/1"
MANIFEST = "manifest.json"
MANIFEST_DIGEST = "manifest.json.sha256"
KERNEL = "kernel.cu"
CERTIFICATE = "proof/certificate.json"
EFFECT = "proof/effect.json"
REPORT = "report.html"

_FILE = re.compile(r"(?:[a-z][a-z_]*/)?[A-Za-z0-9][A-Za-z0-9_.]*")


@dataclass(frozen=True, slots=True)
class GeneratedTest:
    """A self-checking kernel: its file, entry, block size, number of checks, and result words."""

    file: str
    entry: str
    threads: int
    checks: int
    result_words: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of ``manifest.json``."""

    specification: str
    parameters: Mapping[str, int | str]
    architectures: tuple[str, ...]
    compiler: str
    options: tuple[str, ...]
    assumptions: tuple[str, ...]
    tests: tuple[GeneratedTest, ...]
    files: Mapping[str, str]
    version: str

    def to_bytes(self) -> bytes:
        """Canonical JSON and a newline."""
        data = {
            "schema": SCHEMA,
            "specification": {"name": self.specification, "parameters": dict(self.parameters)},
            "architectures": list(self.architectures),
            "compiler": self.compiler,
            "options": list(self.options),
            "assumptions": list(self.assumptions),
            "tests": [asdict(test) for test in self.tests],
            "files": dict(self.files),
            "version": self.version,
        }
        return (canonical_json(data) + "\n").encode("ascii")


def digest(content: bytes) -> str:
    """The digest by which a manifest names a file.

    >>> digest(b"")[:23]
    'sha256:e3b0c44298fc1c14'
    """
    return "sha256:" + hashlib.sha256(content).hexdigest()


def manifest_from_bytes(content: bytes) -> Manifest:
    """The manifest in `content`; raises `BundleError` unless it would be written just so."""
    try:
        data = json.loads(content)
        if data["schema"] != SCHEMA:
            raise BundleError(
                f"{MANIFEST} has schema {data['schema']!r}", hint=f"this version reads {SCHEMA}"
            )
        manifest = Manifest(
            specification=_text(data["specification"]["name"]),
            parameters={
                _text(label): given if type(given) is int else _text(given)
                for label, given in data["specification"]["parameters"].items()
            },
            architectures=_texts(data["architectures"]),
            compiler=_text(data["compiler"]),
            options=_texts(data["options"]),
            assumptions=_texts(data["assumptions"]),
            tests=tuple(_test(test) for test in data["tests"]),
            files={_path(path): _text(each) for path, each in data["files"].items()},
            version=_text(data["version"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as reason:
        if isinstance(reason, BundleError):
            raise
        raise BundleError(
            f"{MANIFEST} is malformed: {type(reason).__name__} {reason}",
            hint="generate the bundle again",
        ) from reason
    if manifest.to_bytes() != content:
        raise BundleError(
            f"{MANIFEST} is not in canonical form: it was edited or has unknown entries",
            hint="generate the bundle again",
        )
    return manifest


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise TypeError(f"{values!r} is not a list")
    return tuple(_text(value) for value in values)


def _path(value: str) -> str:
    if not _FILE.fullmatch(value) or value in (MANIFEST, MANIFEST_DIGEST):
        raise BundleError(f"{MANIFEST} names {value!r}", hint="files are NAME or FOLDER/NAME")
    return value


def _test(data: Any) -> GeneratedTest:
    kinds = {field.name: int if field.type == "int" else str for field in fields(GeneratedTest)}
    if data.keys() != kinds.keys() or any(type(data[key]) is not kinds[key] for key in kinds):
        raise TypeError(f"{data!r} is not a generated test")
    return GeneratedTest(**data)
