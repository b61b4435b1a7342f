"""Layouts, ownerships and instruction tables: pure values, imported with the standard library."""

from tylo.layouts import linear
from tylo.layouts.algebra.coalesce import coalesce
from tylo.layouts.algebra.common import max_common_layout, max_common_vector
from tylo.layouts.algebra.complement import complement
from tylo.layouts.algebra.composition import composition
from tylo.layouts.algebra.divide import (
    Predicate,
    flat_divide,
    in_bounds,
    logical_divide,
    tiled_divide,
    zipped_divide,
)
from tylo.layouts.algebra.filters import filter, nullspace
from tylo.layouts.algebra.injective import collision, is_injective
from tylo.layouts.algebra.inverse import left_inverse, right_inverse
from tylo.layouts.algebra.modes import (
    append,
    dice,
    flatten,
    group,
    prepend,
    replace,
    slice,
    with_shape,
)
from tylo.layouts.algebra.products import (
    blocked_product,
    flat_product,
    logical_product,
    raked_product,
    tiled_product,
    zipped_product,
)
from tylo.layouts.algebra.recast import downcast, recast, upcast
from tylo.layouts.algebra.unzip import hier_unzip
from tylo.layouts.coordinates import CoordinateLayout, make_identity_layout
from tylo.layouts.errors import LayoutError, NotationError
from tylo.layouts.int_tuple import (
    IntTuple,
    compatible,
    congruent,
    crd2crd,
    crd2idx,
    depth,
    dice_,
    elem_scale,
    has_none,
    idx2crd,
    inner_product,
    is_int,
    is_tuple,
    prefix_product,
    product,
    rank,
    shape_div,
    signum,
    slice_,
    tuple_max,
    unflatten,
    weakly_congruent,
)
from tylo.layouts.layout import (
    Layout,
    as_layout,
    cosize,
    is_layout,
    make_layout,
    size,
    slice_and_offset,
)
from tylo.layouts.linear import LinearLayout
from tylo.layouts.notation import evaluate, parse, parse_int_tuple
from tylo.layouts.swizzle import ComposedLayout, Swizzle

__all__ = [
    "ComposedLayout",
    "CoordinateLayout",
    "IntTuple",
    "Layout",
    "LayoutError",
    "LinearLayout",
    "NotationError",
    "Predicate",
    "Swizzle",
    "append",
    "as_layout",
    "blocked_product",
    "coalesce",
    "collision",
    "compatible",
    "complement",
    "composition",
    "congruent",
    "cosize",
    "crd2crd",
    "crd2idx",
    "depth",
    "dice",
    "dice_",
    "downcast",
    "elem_scale",
    "evaluate",
    "filter",
    "flat_divide",
    "flat_product",
    "flatten",
    "group",
    "has_none",
    "hier_unzip",
    "idx2crd",
    "in_bounds",
    "inner_product",
    "is_injective",
    "is_int",
    "is_layout",
    "is_tuple",
    "left_inverse",
    "linear",
    "logical_divide",
    "logical_product",
    "make_identity_layout",
    "make_layout",
    "max_common_layout",
    "max_common_vector",
    "nullspace",
    "parse",
    "parse_int_tuple",
    "prefix_product",
    "prepend",
    "product",
    "raked_product",
    "rank",
    "recast",
    "replace",
    "right_inverse",
    "shape_div",
    "signum",
    "size",
    "slice",
    "slice_",
    "slice_and_offset",
    "tiled_divide",
    "tiled_product",
    "tuple_max",
    "unflatten",
    "upcast",
    "weakly_congruent",
    "with_shape",
    "zipped_divide",
    "zipped_product",
]
