"""Arrays that belong together, which kernels take as one argument: an address.

A kernel that gets the ten arrays of a cluster one by one gets seventy numbers, and hands them on with every call that
it makes; calls from Python unpack them each time; and there is no list of clusters. So the arrays' addresses, shapes
and strides are laid down once in a block of memory, in the form in which Numba knows arrays, and what travels is the
address of the block. Fields are read in Python and in kernels alike, ``state.jobs``; a field may be another bundle.

Arrays of a bundle never move and are never exchanged for others, their contents change freely. The bundle keeps them
alive, and whoever keeps an address alone must keep the bundle.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import from_dtype, types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
    unbox,
)

B = TypeVar("B", bound="Bundle")


@dataclass(frozen=True)
class Of:
    """What a field of a bundle holds, for `Annotated`.

    Attributes:
        dtype: of the array.
        ndim: number of its dimensions.
    """

    dtype: np.dtype[Any]
    ndim: int = 1

    def accepts(self, array: Any) -> bool:
        """True if the array is of this kind and lies in C order."""
        return bool(
            isinstance(array, np.ndarray)
            and (array.dtype is self.dtype or array.dtype == self.dtype)
            and array.ndim == self.ndim
            and array.flags.c_contiguous
        )


F4: Final = np.dtype(np.float32)
F8: Final = np.dtype(np.float64)
I8: Final = np.dtype(np.int64)
I1: Final = np.dtype(np.int8)
B1: Final = np.dtype(np.bool_)


class Bundle:
    """Base of bundles, each a frozen dataclass.

    Every field is annotated with what it holds: ``Annotated[Array, Of(I8)]``, or another bundle's class.

    Raises:
        TypeError: a field is not what its annotation says.
    """

    _numba_type_: BundleType

    def __init_subclass__(cls) -> None:
        cls._numba_type_ = BundleType(cls)

    def __post_init__(self) -> None:
        block: list[int] = []
        bundle: Any = type(self)
        for name, kind in kinds_of(bundle).items():
            value = getattr(self, name)
            if isinstance(kind, Of):
                if not kind.accepts(value):
                    raise TypeError(f"{type(self).__name__}.{name}: expected an array in C order of {kind}")
                address = value.ctypes.data  # the array interface is slow for records
                # As numba.core.datamodel.models.ArrayModel has it; nobody counts references to it.
                block += (0, 0, value.size, value.itemsize, address, *value.shape, *value.strides)
            else:
                block.append(value._address)
        memory = np.array(block, I8)
        object.__setattr__(self, "_block", memory)
        object.__setattr__(self, "_address", memory.ctypes.data)

    @property
    def address(self) -> int:
        """Where the block lies, for kernels that find their bundle by number."""
        address: int = self._address  # type: ignore[attr-defined]
        return address

    def values(self) -> dict[str, Any]:
        """Arrays and bundles by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def copy(self: B) -> B:
        """An independent copy, a few microseconds for a small cluster."""
        return type(self)(**{name: value.copy() for name, value in self.values().items()})

    def restore(self: B, saved: B) -> None:
        """Take over the values of a copy made by `copy`, in place."""
        for name, value in self.values().items():
            if isinstance(value, Bundle):
                value.restore(getattr(saved, name))
            else:
                value[...] = getattr(saved, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self.values().values())  # the block is laid down anew where it arrives


@cache
def kinds_of(bundle: Any) -> dict[str, Of | type[Bundle]]:
    """What each field of a bundle holds."""
    hints = get_type_hints(bundle, include_extras=True)
    kinds: dict[str, Of | type[Bundle]] = {}
    for field in fields(bundle):
        hint = hints[field.name]
        kinds[field.name] = get_args(hint)[1] if get_origin(hint) is Annotated else hint
    return kinds


# --- how Numba sees it --------------------------------------------------------------------------------
class BundleType(types.Type):  # type: ignore[misc]
    """The type of a bundle: an address."""

    def __init__(self, bundle: Any) -> None:
        self.bundle = bundle
        super().__init__(name=f"{bundle.__module__}.{bundle.__qualname__}")

    def field(self, name: str) -> tuple[Any, int] | None:
        """Type of a field, and the number of words before it in the block."""
        return _layout(self.bundle).get(name)


@cache
def _layout(bundle: Any) -> dict[str, tuple[Any, int]]:
    found, words = {}, 0
    for name, kind in kinds_of(bundle).items():
        if isinstance(kind, Of):
            found[name] = types.Array(from_dtype(kind.dtype), kind.ndim, "C"), words
            words += 5 + 2 * kind.ndim
        else:
            found[name] = kind._numba_type_, words
            words += 1
    return found


@register_model(BundleType)
class _Model(models.OpaqueModel):  # type: ignore[misc]
    """A pointer."""


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = BundleType

    def generic_resolve(self, bundle: BundleType, name: str) -> Any:
        field = bundle.field(name)
        return None if field is None else field[0]


@lower_getattr_generic(BundleType)  # type: ignore[untyped-decorator]
def _load_field(context: Any, builder: Any, bundle: BundleType, address: Any, name: str) -> Any:
    field = bundle.field(name)
    assert field is not None
    kind, words = field
    word = ir.IntType(64)
    begin = builder.gep(builder.bitcast(address, word.as_pointer()), [ir.Constant(word, words)])
    value = builder.load(builder.bitcast(begin, context.get_value_type(kind).as_pointer()))
    value.set_metadata("invariant.load", builder.module.add_metadata([]))  # blocks never change
    return value


@unbox(BundleType)  # type: ignore[untyped-decorator]
def _unbox(bundle: BundleType, value: Any, c: Any) -> Any:
    del bundle
    number = c.pyapi.object_getattr_string(value, "_address")
    address = c.pyapi.long_as_voidptr(number)
    c.pyapi.decref(number)
    return NativeValue(address)


def reader_of(bundle: type[B]) -> Any:
    """A function for kernels: from the address of a bundle of this class to the bundle."""

    @intrinsic  # type: ignore[untyped-decorator]
    def read(typing_context: Any, address: Any) -> Any:
        del typing_context, address

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return bundle._numba_type_(types.int64), generate

    return read
