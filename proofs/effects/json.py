"""Effects as JSON: objects, lists, strings and integers, versioned by their schema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import from_json, to_json
from tylo.proofs.claims import canonical_json
from tylo.proofs.effects.values import Buffer, Effect, Parameter, Part, Store

SCHEMA = "tylo.effect/1"
_Built = TypeVar("_Built")


def effect_to_bytes(effect: Effect) -> bytes:
    """The content of an effect's file: canonical JSON and a newline."""
    return (canonical_json(effect_to_json(effect)) + "\n").encode("ascii")


def effect_to_json(effect: Effect) -> dict[str, Any]:
    """The effect as JSON of objects, lists, strings and integers.

    What an effect without sizes does not use is left out.
    """
    sizes = [
        {
            "name": parameter.name,
            "bits": parameter.bits,
            "minimum": parameter.minimum,
            "maximum": parameter.maximum,
        }
        for parameter in effect.parameters
    ]
    return {
        **({"parameters": sizes} if sizes else {}),
        "schema": SCHEMA,
        "entry": effect.entry,
        "threads": effect.threads,
        "maximum_blocks": effect.maximum_blocks,
        "buffers": [
            {
                "name": buffer.name,
                "direction": buffer.direction,
                "element_bits": buffer.element_bits,
                "elements_per_block": to_json(buffer.elements_per_block),
                "alignment": buffer.alignment,
            }
            for buffer in effect.buffers
        ],
        "stores": [
            {
                "buffer": store.buffer,
                "offset": to_json(store.offset),
                **({"repeat": to_json(store.repeat)} if store.repeat != 1 else {}),
                "parts": [
                    {
                        "bits": part.bits,
                        "conversion": part.conversion,
                        "buffer": part.buffer,
                        "offset": to_json(part.offset),
                    }
                    for part in store.parts
                ],
            }
            for store in effect.stores
        ],
    }


def effect_from_json(data: Any) -> Effect:
    """The inverse of `effect_to_json`; raises `ClaimError` on anything else.

    >>> effect_from_json({"schema": "tylo.effect/9"})
    Traceback (most recent call last):
    tylo.layouts.errors.ClaimError: not an effect: schema 'tylo.effect/9'; expected tylo.effect/1
    """
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        found = data.get("schema") if isinstance(data, dict) else data
        raise ClaimError(f"not an effect: schema {found!r}", hint=f"expected {SCHEMA}")
    return _build(
        Effect,
        data,
        schema=None,
        parameters=_Optional(
            _each(
                lambda item: _build(
                    Parameter, item, name=_text, bits=_integer, minimum=_integer, maximum=_integer
                )
            )
        ),
        entry=_text,
        threads=_integer,
        maximum_blocks=_integer,
        buffers=_each(
            lambda item: _build(
                Buffer,
                item,
                name=_text,
                direction=_text,
                element_bits=_integer,
                elements_per_block=from_json,
                alignment=_integer,
            )
        ),
        stores=_each(
            lambda item: _build(
                Store,
                item,
                buffer=_text,
                offset=from_json,
                repeat=_Optional(from_json),
                parts=_each(_part_from_json),
            )
        ),
    )


def _part_from_json(item: Any) -> Part:
    return _build(Part, item, bits=_integer, conversion=_text, buffer=_text, offset=from_json)


@dataclass(frozen=True, slots=True)
class _Optional:
    """Reads a field that may be absent."""

    read: Callable[[Any], Any]

    def __call__(self, data: Any) -> Any:
        return self.read(data)


def _build(kind: type[_Built], data: Any, **readers: Callable[[Any], Any] | None) -> _Built:
    required = {field for field, read in readers.items() if not isinstance(read, _Optional)}
    if not isinstance(data, dict) or not required <= set(data) <= set(readers):
        found = sorted(data) if isinstance(data, dict) else data
        raise ClaimError(
            f"not a {kind.__name__}: {found!r}", hint=f"expected the fields {sorted(readers)}"
        )
    return kind(
        **{field: read(data[field]) for field, read in readers.items() if read and field in data}
    )


def _each(read: Callable[[Any], _Built]) -> Callable[[Any], tuple[_Built, ...]]:
    def read_all(data: Any) -> tuple[_Built, ...]:
        if not isinstance(data, list):
            raise ClaimError(
                f"{data!r} is not a list", hint="an effect lists its buffers, stores and parts"
            )
        return tuple(read(item) for item in data)

    return read_all


def _text(data: Any) -> str:
    if not isinstance(data, str):
        raise ClaimError(f"{data!r} is not a string", hint="names and kinds are strings")
    return data


def _integer(data: Any) -> int:
    if not isinstance(data, int) or isinstance(data, bool):
        raise ClaimError(f"{data!r} is not an integer", hint="sizes are integers")
    return data
