"""Tables of a claim's file, read key by key: what is missing, unknown or no fit is refused.

>>> table = Table("copy.toml", "buffer.x", {"alignment": 16, "colour": "red"})
>>> table.integer("alignment", 1, 1 << 20)
16
>>> table.finish()
Traceback (most recent call last):
tylo.layouts.errors.ClaimError: copy.toml: [buffer.x] has a key 'colour' that means nothing here; \
known keys: alignment
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from tylo.layouts.errors import ClaimError, TyloError

_Read = TypeVar("_Read")
_KINDS = {
    str: "a string",
    dict: "a table",
    list: "a list",
    int: "an integer",
    bool: "true or false",
}


class Table:
    """One table of a file, and which of its keys were asked for."""

    def __init__(self, file: str, path: str, data: Mapping[str, Any]) -> None:
        self.file = file
        self.path = path
        self.data = data
        self.asked: list[str] = []

    def fail(self, message: str, hint: str = "") -> NoReturn:
        """Refuse what is written here, naming file and table."""
        where = f"[{self.path}] " if self.path else ""
        raise ClaimError(f"{self.file}: {where}{message}", hint=hint)

    def has(self, key: str) -> bool:
        """Whether the key is there; it is then known."""
        self.asked.append(key)
        return key in self.data

    def text(self, key: str) -> str:
        """A string that is not empty."""
        found = self._take(key, str)
        if not found.strip():
            self.fail(f"{key} is empty", hint="write something, or leave an optional key out")
        return str(found)

    def one_of(self, key: str, choices: Mapping[str, _Read]) -> _Read:
        """What a string among `choices` stands for."""
        found = self.text(key)
        if found not in choices:
            self.fail(f"{key} is {found!r}", hint=f"use one of {', '.join(choices)}")
        return choices[found]

    def integer(self, key: str, least: int, most: int) -> int:
        """An integer within bounds."""
        found = self._take(key, int)
        if isinstance(found, bool) or not least <= found <= most:
            # A number may have more digits than anyone wants to read.
            shown = found if abs(found) < 1 << 128 else f"a number of {found.bit_length()} bits"
            self.fail(f"{key} is {shown}", hint=f"use an integer from {least} to {most}")
        return int(found)

    def integers(self, key: str, least: int, most: int) -> list[int]:
        """A list of so many integers."""
        found = self._take(key, list)
        plain = all(isinstance(each, int) and not isinstance(each, bool) for each in found)
        if not plain or not least <= len(found) <= most:
            self.fail(f"{key} is {found!r}", hint=f"use a list of {least} to {most} integers")
        return list(found)

    def flag(self, key: str) -> bool:
        """Whether something is said to be true; nothing said is false."""
        return self.has(key) and bool(self._take(key, bool))

    def table(self, key: str) -> Table:
        """A table inside this one."""
        return Table(self.file, f"{self.path}.{key}" if self.path else key, self._take(key, dict))

    def tables(self, key: str) -> list[Table]:
        """A list of tables, such as ``[[store]]`` writes."""
        found = self._take(key, list)
        if not found or not all(isinstance(item, dict) for item in found):
            self.fail(f"{key} is no list of tables", hint=f"begin each with [[{key}]]")
        return [Table(self.file, f"{key} {place}", item) for place, item in enumerate(found)]

    def texts(self, key: str) -> list[str]:
        """A list of strings, or a string alone."""
        self.asked.append(key)
        found = self.data.get(key)
        if isinstance(found, str):
            return [found]
        found = self._take(key, list)
        if not all(isinstance(item, str) for item in found):
            self.fail(f"{key} is {found!r}", hint="use a list of strings")
        return list(found)

    def read(self, key: str, reader: Callable[[str], _Read]) -> _Read:
        """What `reader` makes of a string; a number stands for its digits."""
        self.asked.append(key)
        found = self.data.get(key)
        if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 1 << 63:
            return self.parsed(key, str(found), reader)
        return self.parsed(key, self.text(key), reader)

    def parsed(self, key: str, text: str, reader: Callable[[str], _Read]) -> _Read:
        """What `reader` makes of a text; its refusal names the key."""
        try:
            return reader(text)
        except TyloError as reason:
            self.fail(f"{key}: {reason}")

    def finish(self) -> None:
        """Refuse keys that nobody asked for."""
        for key in self.data:
            if key not in self.asked:
                self.fail(
                    f"has a key {key!r} that means nothing here",
                    hint=f"known keys: {', '.join(sorted(set(self.asked)))}",
                )

    def _take(self, key: str, kind: type) -> Any:
        self.asked.append(key)
        if key not in self.data:
            self.fail(f"{key} is missing", hint=f"it is {_KINDS[kind]}")
        found = self.data[key]
        if not isinstance(found, kind):
            self.fail(
                f"{key} is a {type(found).__name__} where {_KINDS[kind]} belongs",
                hint=f"write {_KINDS[kind]}",
            )
        return found
