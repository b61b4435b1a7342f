"""Layouts, ownerships and instruction tables: pure values, imported with the standard library.

Public names load the module they live in when they are first used, so that importing the package
costs next to nothing. A new name goes into `_HOME` and, for type checkers, into the imports below.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tylo.layouts import linear as linear
    from tylo.layouts.algebra.coalesce import coalesce as coalesce
    from tylo.layouts.algebra.common import max_common_layout as max_common_layout
    from tylo.layouts.algebra.common import max_common_vector as max_common_vector
    from tylo.layouts.algebra.complement import complement as complement
    from tylo.layouts.algebra.composition import composition as composition
    from tylo.layouts.algebra.divide import Predicate as Predicate
    from tylo.layouts.algebra.divide import flat_divide as flat_divide
    from tylo.layouts.algebra.divide import in_bounds as in_bounds
    from tylo.layouts.algebra.divide import logical_divide as logical_divide
    from tylo.layouts.algebra.divide import tiled_divide as tiled_divide
    from tylo.layouts.algebra.divide import zipped_divide as zipped_divide
    from tylo.layouts.algebra.filters import filter as filter
    from tylo.layouts.algebra.filters import nullspace as nullspace
    from tylo.layouts.algebra.injective import collision as collision
    from tylo.layouts.algebra.injective import is_injective as is_injective
    from tylo.layouts.algebra.inverse import left_inverse as left_inverse
    from tylo.layouts.algebra.inverse import right_inverse as right_inverse
    from tylo.layouts.algebra.modes import append as append
    from tylo.layouts.algebra.modes import dice as dice
    from tylo.layouts.algebra.modes import flatten as flatten
    from tylo.layouts.algebra.modes import group as group
    from tylo.layouts.algebra.modes import prepend as prepend
    from tylo.layouts.algebra.modes import replace as replace
    from tylo.layouts.algebra.modes import slice as slice
    from tylo.layouts.algebra.modes import with_shape as with_shape
    from tylo.layouts.algebra.products import blocked_product as blocked_product
    from tylo.layouts.algebra.products import flat_product as flat_product
    from tylo.layouts.algebra.products import logical_product as logical_product
    from tylo.layouts.algebra.products import raked_product as raked_product
    from tylo.layouts.algebra.products import tiled_product as tiled_product
    from tylo.layouts.algebra.products import zipped_product as zipped_product
    from tylo.layouts.algebra.recast import downcast as downcast
    from tylo.layouts.algebra.recast import recast as recast
    from tylo.layouts.algebra.recast import upcast as upcast
    from tylo.layouts.algebra.unzip import hier_unzip as hier_unzip
    from tylo.layouts.coordinates import CoordinateLayout as CoordinateLayout
    from tylo.layouts.coordinates import make_identity_layout as make_identity_layout
    from tylo.layouts.errors import LayoutError as LayoutError
    from tylo.layouts.errors import NotationError as NotationError
    from tylo.layouts.int_tuple import IntTuple as IntTuple
    from tylo.layouts.int_tuple import compatible as compatible
    from tylo.layouts.int_tuple import congruent as congruent
    from tylo.layouts.int_tuple import crd2crd as crd2crd
    from tylo.layouts.int_tuple import crd2idx as crd2idx
    from tylo.layouts.int_tuple import depth as depth
    from tylo.layouts.int_tuple import dice_ as dice_
    from tylo.layouts.int_tuple import elem_scale as elem_scale
    from tylo.layouts.int_tuple import has_none as has_none
    from tylo.layouts.int_tuple import idx2crd as idx2crd
    from tylo.layouts.int_tuple import inner_product as inner_product
    from tylo.layouts.int_tuple import is_int as is_int
    from tylo.layouts.int_tuple import is_tuple as is_tuple
    from tylo.layouts.int_tuple import prefix_product as prefix_product
    from tylo.layouts.int_tuple import product as product
    from tylo.layouts.int_tuple import rank as rank
    from tylo.layouts.int_tuple import shape_div as shape_div
    from tylo.layouts.int_tuple import signum as signum
    from tylo.layouts.int_tuple import slice_ as slice_
    from tylo.layouts.int_tuple import tuple_max as tuple_max
    from tylo.layouts.int_tuple import unflatten as unflatten
    from tylo.layouts.int_tuple import weakly_congruent as weakly_congruent
    from tylo.layouts.layout import Layout as Layout
    from tylo.layouts.layout import as_layout as as_layout
    from tylo.layouts.layout import cosize as cosize
    from tylo.layouts.layout import is_layout as is_layout
    from tylo.layouts.layout import make_layout as make_layout
    from tylo.layouts.layout import size as size
    from tylo.layouts.layout import slice_and_offset as slice_and_offset
    from tylo.layouts.linear import LinearLayout as LinearLayout
    from tylo.layouts.notation import evaluate as evaluate
    from tylo.layouts.notation import parse as parse
    from tylo.layouts.notation import parse_int_tuple as parse_int_tuple
    from tylo.layouts.swizzle import ComposedLayout as ComposedLayout
    from tylo.layouts.swizzle import Swizzle as Swizzle

_HOME = {
    "algebra.coalesce": ("coalesce",),
    "algebra.common": (
        "max_common_layout",
        "max_common_vector",
    ),
    "algebra.complement": ("complement",),
    "algebra.composition": ("composition",),
    "algebra.divide": (
        "Predicate",
        "flat_divide",
        "in_bounds",
        "logical_divide",
        "tiled_divide",
        "zipped_divide",
    ),
    "algebra.filters": (
        "filter",
        "nullspace",
    ),
    "algebra.injective": (
        "collision",
        "is_injective",
    ),
    "algebra.inverse": (
        "left_inverse",
        "right_inverse",
    ),
    "algebra.modes": (
        "append",
        "dice",
        "flatten",
        "group",
        "prepend",
        "replace",
        "slice",
        "with_shape",
    ),
    "algebra.products": (
        "blocked_product",
        "flat_product",
        "logical_product",
        "raked_product",
        "tiled_product",
        "zipped_product",
    ),
    "algebra.recast": (
        "downcast",
        "recast",
        "upcast",
    ),
    "algebra.unzip": ("hier_unzip",),
    "coordinates": (
        "CoordinateLayout",
        "make_identity_layout",
    ),
    "errors": (
        "LayoutError",
        "NotationError",
    ),
    "int_tuple": (
        "IntTuple",
        "compatible",
        "congruent",
        "crd2crd",
        "crd2idx",
        "depth",
        "dice_",
        "elem_scale",
        "has_none",
        "idx2crd",
        "inner_product",
        "is_int",
        "is_tuple",
        "prefix_product",
        "product",
        "rank",
        "shape_div",
        "signum",
        "slice_",
        "tuple_max",
        "unflatten",
        "weakly_congruent",
    ),
    "layout": (
        "Layout",
        "as_layout",
        "cosize",
        "is_layout",
        "make_layout",
        "size",
        "slice_and_offset",
    ),
    "linear": ("LinearLayout",),
    "notation": (
        "evaluate",
        "parse",
        "parse_int_tuple",
    ),
    "swizzle": (
        "ComposedLayout",
        "Swizzle",
    ),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}
__all__ = ["linear"]
__all__ += list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name == "linear":
        return import_module("tylo.layouts.linear")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'tylo.layouts' has no attribute {name!r}")
    value = getattr(import_module(f"tylo.layouts.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
