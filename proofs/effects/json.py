"""Effects as JSON: objects, lists, strings and integers, versioned by their schema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from tylo.layouts.errors import ClaimError
from tylo.layouts.terms import from_json, to_json
from tylo.proofs.claims import canonical_json
from tylo.proofs.effects.elements import Element, Less, Matrix
from tylo.proofs.effects.parts import COMPUTED, Part, Source, computed
from tylo.proofs.effects.values import (
    Buffer,
    Effect,
    Parameter,
    Store,
)

SCHEMA = "tylo.effect/1"
_RARE = ("round", "run", "run_stride", "block_y", "block_z")  # left out where they are zero
_Built = TypeVar("_Built")


def effect_to_bytes(effect: Effect) -> bytes:
    """The content of an effect's file: canonical JSON and a newline."""
    return (canonical_json(effect_to_json(effect)) + "\n").encode("ascii")


def effect_to_json(effect: Effect) -> dict[str, Any]:
    """The effect as JSON of objects, lists, strings and integers.

    What an effect without sizes does not use is left out.
    """
    return {
        **_present(
            parameters=[_parameter_to_json(parameter) for parameter in effect.parameters],
            preconditions=[_less_to_json(condition) for condition in effect.preconditions],
            arguments=list(effect.arguments),
            alternatives=[[_less_to_json(each) for each in one] for one in effect.alternatives],
            block_shape=list(effect.block_shape),
            further=list(effect.further),
        ),
        "schema": SCHEMA,
        "entry": effect.entry,
        "threads": effect.threads,
        "maximum_blocks": effect.maximum_blocks,
        "buffers": [_buffer_to_json(buffer) for buffer in effect.buffers],
        "stores": [_store_to_json(store) for store in effect.stores],
    }


def _present(**fields: Any) -> dict[str, Any]:
    """The fields that are used."""
    return {name: value for name, value in fields.items() if value not in (None, [], {})}


def _terms(value: Any) -> dict[str, Any] | None:
    """A dataclass of terms alone."""
    if value is None:
        return None
    found = {field.name: getattr(value, field.name) for field in fields(value)}
    return {each: to_json(term) for each, term in found.items() if each not in _RARE or term != 0}


def _less_to_json(condition: Less) -> list[Any]:
    return ["<", to_json(condition.left), to_json(condition.right)]


def _parameter_to_json(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "bits": parameter.bits,
        "minimum": parameter.minimum,
        "maximum": parameter.maximum,
    }


def _buffer_to_json(buffer: Buffer) -> dict[str, Any]:
    shares, total = buffer.elements_per_block, buffer.elements
    return {
        "name": buffer.name,
        "direction": buffer.direction,
        "element_bits": buffer.element_bits,
        "alignment": buffer.alignment,
        **_present(
            elements_per_block=None if shares is None else to_json(shares),
            elements=None if total is None else to_json(total),
            written=_terms(buffer.written),
            phase=to_json(buffer.phase) if buffer.phase != 0 else None,
        ),
    }


def _store_to_json(store: Store) -> dict[str, Any]:
    return {
        "buffer": store.buffer,
        "offset": to_json(store.offset),
        **_present(
            repeat=to_json(store.repeat) if store.repeat != 1 else None,
            rounds=to_json(store.rounds) if store.rounds != 1 else None,
            where=[_less_to_json(condition) for condition in store.where],
            element=_terms(store.element),
        ),
        "parts": [_part_to_json(part) for part in store.parts],
    }


def _part_to_json(part: Part) -> dict[str, Any]:
    if part.conversion == COMPUTED:
        sources = [
            {
                "buffer": source.buffer,
                **_present(
                    first=None if source.first is None else to_json(source.first),
                    end=None if source.end is None else to_json(source.end),
                    count=None if source.count == 1 else to_json(source.count),
                    apart=None if source.apart == 0 else to_json(source.apart),
                    whole=source.whole or None,
                ),
            }
            for source in part.sources
        ]
        constant = {"constant": True} if part.constant else {}
        return {"bits": part.bits, COMPUTED: part.name, "sources": sources, **constant}
    return {
        "bits": part.bits,
        "conversion": part.conversion,
        "buffer": part.buffer,
        "offset": to_json(part.offset),
        **_present(within=None if part.within is None else _less_to_json(part.within)),
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
        preconditions=_Optional(_each(_less_from_json)),
        arguments=_Optional(_each(_text)),
        alternatives=_Optional(_each(_each(_less_from_json))),
        block_shape=_Optional(_each(_integer)),
        further=_Optional(_each(_text)),
        entry=_text,
        threads=_integer,
        maximum_blocks=_integer,
        buffers=_each(_buffer_from_json),
        stores=_each(_store_from_json),
    )


def _buffer_from_json(item: Any) -> Buffer:
    if isinstance(item, dict) and "elements" in item:
        item = {"elements_per_block": None, **item}
    return _build(
        Buffer,
        item,
        name=_text,
        direction=_text,
        element_bits=_integer,
        elements_per_block=_maybe_term,
        alignment=_integer,
        elements=_Optional(from_json),
        written=_Optional(lambda data: _of_terms(Matrix, data)),
        phase=_Optional(from_json),
    )


def _store_from_json(item: Any) -> Store:
    return _build(
        Store,
        item,
        buffer=_text,
        offset=from_json,
        repeat=_Optional(from_json),
        rounds=_Optional(from_json),
        where=_Optional(_each(_less_from_json)),
        element=_Optional(lambda data: _of_terms(Element, data)),
        parts=_each(_part_from_json),
    )


def _part_from_json(item: Any) -> Part:
    if isinstance(item, dict) and COMPUTED in item:
        constant = item.get("constant", True) is True
        if not constant or set(item) - {"constant"} != {"bits", COMPUTED, "sources"}:
            raise ClaimError(f"not a Part: {sorted(item)}", hint="bits, computed and sources")
        sources = _each(_source_from_json)(item["sources"])
        bits, name = _integer(item["bits"]), _text(item[COMPUTED])
        return computed(bits, name, *sources, constant="constant" in item)
    within = _Optional(_less_from_json)
    numbers = {"bits": _integer, "offset": from_json}
    return _build(Part, item, conversion=_text, buffer=_text, within=within, **numbers)


def _source_from_json(item: Any) -> Source:
    terms = {each: _Optional(from_json) for each in ("first", "end", "count", "apart")}
    return _build(Source, item, buffer=_text, whole=_Optional(_integer), **terms)


def _less_from_json(item: Any) -> Less:
    if not isinstance(item, list) or len(item) != 3 or item[0] != "<":
        raise ClaimError(f"not a condition: {item!r}", hint='expected ["<", left, right]')
    return Less(from_json(item[1]), from_json(item[2]))


def _of_terms(kind: type[_Built], data: Any) -> _Built:
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    readers = {each: _Optional(from_json) if each in _RARE else from_json for each in names}
    return _build(kind, data, **readers)


def _maybe_term(data: Any) -> Any:
    return None if data is None else from_json(data)


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
