"""Compiled kernels, kept between runs.

An entry is one file whose name is the digest of everything that decides its bytes: source, name,
options, architecture, the compiler's full version, Tylo's version. Fields are length-prefixed, so
that no two different lists of fields run together into the same bytes.

>>> entry_key(["ab", "c"]) == entry_key(["a", "bc"])
False

One file cannot be mixed from two writers. It is written under a name of its own and then renamed,
which is atomic, so any number of processes may share the folder. It begins with the digest of the
rest and of its key: a truncated, altered or misplaced entry is compiled again.

The folder is `TYLO_CACHE_DIR`, or the platform's place for caches. Without a usable folder entries
live in memory, and one warning per process says so.

A source that includes headers, or is given include folders, is compiled anew each time: its bytes
depend on files that the key does not name.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tylo import __version__
from tylo.codegen.architecture import parse_architecture
from tylo.codegen.nvrtc import (
    Compiled,
    compile,
    compiler_info,
    include_folders,
    require_kernels,
)
from tylo.codegen.nvrtc.options import checked_options

FOLDER_VARIABLE = "TYLO_CACHE_DIR"

_LENGTH_BYTES = 8
_DIGEST_BYTES = hashlib.sha256().digest_size
_INCLUDES = re.compile(r"(#|%:)[\s\\]*include|__has_include")

_memory: dict[str, bytes] = {}
_warned = threading.Event()


def compile_cached(
    source: str,
    architecture: str,
    *,
    kernels: Sequence[str],
    name: str = "kernel.cu",
    options: Sequence[str] = (),
) -> Compiled:
    """`tylo.codegen.nvrtc.compile`, once per source, options, architecture and compiler.

    The same errors are raised for the same requests, whether or not an entry exists.
    """
    target = parse_architecture(architecture)
    every_option = checked_options(target.name, options)
    if _reads_other_files(source, options):
        return compile(source, architecture, kernels=kernels, name=name, options=options)
    key = entry_key([source, name, *every_option, target.name, compiler_info().name, __version__])
    entry = _read(key)
    compiled = None if entry is None else _decoded(key, entry)
    if compiled is not None:
        require_kernels(compiled, kernels, name)
        return compiled
    compiled = compile(source, architecture, kernels=kernels, name=name, options=options)
    _write(key, _encoded(key, compiled))
    return compiled


def entry_key(fields: Iterable[str]) -> str:
    """The name of the entry that `fields` decide: SHA-256 of their length-prefixed bytes.

    >>> entry_key(["kernel"])[:12]
    '5c56ad5bcbf1'
    """
    return hashlib.sha256(_packed(field.encode() for field in fields)).hexdigest()


def cache_folder(environment: Mapping[str, str], platform: str) -> Path | None:
    """Where entries lie; None when `environment` names no home to put them in.

    >>> cache_folder({"TYLO_CACHE_DIR": "/scratch/kernels"}, "linux").as_posix()
    '/scratch/kernels'
    >>> cache_folder({"HOME": "/home/ada"}, "linux").as_posix()
    '/home/ada/.cache/tylo'
    >>> cache_folder({"HOME": "/Users/ada"}, "darwin").as_posix()
    '/Users/ada/Library/Caches/tylo'
    >>> cache_folder({}, "linux") is None
    True
    """
    if chosen := environment.get(FOLDER_VARIABLE):
        return Path(chosen)
    if platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return Path(local) / "tylo" / "cache" if local else None
    home = environment.get("HOME")
    if platform == "darwin":
        return Path(home) / "Library" / "Caches" / "tylo" if home else None
    shared = environment.get("XDG_CACHE_HOME", "")
    if shared.startswith("/"):
        return Path(shared) / "tylo"
    return Path(home) / ".cache" / "tylo" if home else None


def _reads_other_files(source: str, options: Sequence[str]) -> bool:
    named = any(True for _ in include_folders(options)) or any("include" in o for o in options)
    return named or _INCLUDES.search(source) is not None


def _read(key: str) -> bytes | None:
    folder = cache_folder(os.environ, sys.platform)
    if folder is not None:
        # An unusable folder is reported by the write that follows, once.
        with contextlib.suppress(OSError):
            return (folder / key).read_bytes()
    return _memory.get(key)


def _write(key: str, entry: bytes) -> None:
    folder = cache_folder(os.environ, sys.platform)
    if folder is None:
        _keep_in_memory(key, entry, "no home folder is set")
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _publish(folder / key, entry)
    except OSError as error:
        _keep_in_memory(key, entry, str(error))


def _publish(path: Path, entry: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(entry)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _keep_in_memory(key: str, entry: bytes, reason: str) -> None:
    _memory[key] = entry
    if not _warned.is_set():
        _warned.set()
        warnings.warn(
            f"compiled kernels cannot be kept on disk ({reason}) and live in memory; "
            f"set {FOLDER_VARIABLE} to a writable folder",
            stacklevel=4,
        )


def _encoded(key: str, compiled: Compiled) -> bytes:
    body = _packed(
        [
            compiled.cubin,
            compiled.ptx.encode(),
            compiled.log.encode(),
            compiled.compiler.encode(),
            compiled.architecture.encode(),
            *(option.encode() for option in compiled.options),
        ]
    )
    return _digest(key, body) + body


def _decoded(key: str, entry: bytes) -> Compiled | None:
    digest, body = entry[:_DIGEST_BYTES], entry[_DIGEST_BYTES:]
    if digest != _digest(key, body):
        return None
    cubin, *texts = _unpacked(body)
    ptx, log, compiler, architecture, *options = (text.decode() for text in texts)
    return Compiled(ptx, cubin, log, compiler, tuple(options), architecture)


def _digest(key: str, body: bytes) -> bytes:
    return hashlib.sha256(_packed([key.encode()]) + body).digest()


def _packed(fields: Iterable[bytes]) -> bytes:
    return b"".join(len(field).to_bytes(_LENGTH_BYTES, "little") + field for field in fields)


def _unpacked(packed: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(packed):
        begin = start + _LENGTH_BYTES
        start = begin + int.from_bytes(packed[start:begin], "little")
        yield packed[begin:start]
