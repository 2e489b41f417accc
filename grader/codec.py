"""Plain data on the wire: msgpack, with extensions for what Python and numpy add.

None, bool, int, float, str, bytes, list, tuple, dict, slices, numeric arrays, their
dtypes and numpy scalars cross by value, and only if that is their exact type. A `Seed`
arrives as a random generator. Anything else crosses as a handle: a number that the
side which owns the object looks up.
Nothing is ever unpickled or evaluated; sizes are checked before memory is taken.
"""

import math
import sys
from collections.abc import Callable, Container
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import msgpack

TUPLE, HANDLE, ARRAY, SCALAR, BIG_INT, SLICE, ELLIPSIS, RECORD, DTYPE, SEED = range(1, 11)
DTYPES = {
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
}  # fmt: skip
MAX_FRAME = 64 * 2**20
MAX_DEPTH = 40
WRAPPING = 8  # levels that a message puts around the data it carries
MAX_AXES = 32
MAX_DIGITS = 4000


class CodecError(Exception):
    """A frame that is not what this codec writes, or data that it cannot write."""


@dataclass(frozen=True)
class Seed:
    """Stands for `numpy.random.default_rng(value)`, which the other side makes of it."""

    value: int


def encode(value: Any, handle_of: Callable[[Any], int] | None = None) -> bytes:
    """Return `value` as bytes; `handle_of` numbers the objects that are not plain data.

    A frozen dataclass is written as a record (its class must be given to `decode`)
    where there is no `handle_of`. Raises CodecError where neither will do.
    """

    def extend(obj: Any) -> msgpack.ExtType:
        kind = type(obj)
        if kind is tuple:
            return msgpack.ExtType(TUPLE, pack(list(obj)))
        if kind is int and obj.bit_length() < 3 * MAX_DIGITS:
            return msgpack.ExtType(BIG_INT, str(obj).encode())
        if kind is slice:
            return msgpack.ExtType(SLICE, pack([obj.start, obj.stop, obj.step]))
        if obj is Ellipsis:
            return msgpack.ExtType(ELLIPSIS, b"")
        numpy = sys.modules.get("numpy")  # not loaded: then nothing here is an array
        if kind is Seed:
            return msgpack.ExtType(SEED, pack(obj.value))
        if numpy is not None and kind is numpy.ndarray and is_plain_array(obj):
            native = obj.astype(obj.dtype.newbyteorder("="), copy=False)
            by_columns = obj.flags.f_contiguous and not obj.flags.c_contiguous
            raw = native.T.tobytes() if by_columns else native.tobytes()
            return msgpack.ExtType(ARRAY, pack([obj.dtype.name, list(obj.shape), raw, by_columns]))
        if numpy is not None and issubclass(kind, numpy.dtype) and obj.name in DTYPES:
            return msgpack.ExtType(DTYPE, pack(obj.name))
        if numpy is not None and is_plain_scalar(obj, kind, numpy):
            return msgpack.ExtType(SCALAR, pack([obj.dtype.name, obj.tobytes()]))
        if handle_of is not None:
            return msgpack.ExtType(HANDLE, pack(handle_of(obj)))
        if is_dataclass(obj):
            state = [getattr(obj, field.name) for field in fields(obj)]
            return msgpack.ExtType(RECORD, pack([kind.__name__, state]))
        raise CodecError(f"{kind.__name__} is not plain data")

    def pack(obj: Any) -> bytes:
        return msgpack.packb(obj, default=extend, strict_types=True, unicode_errors="surrogatepass")

    if not is_shallow(value):
        raise CodecError("nested too deeply")
    try:
        frame = pack(value)
    except (ValueError, OverflowError, TypeError, RecursionError) as error:
        raise CodecError(f"cannot be sent: {error}") from None
    if len(frame) > MAX_FRAME:
        raise CodecError("too large to be sent")
    return frame


def decode(
    frame: bytes,
    object_of: Callable[[int], Any] | None = None,
    records: dict[str, type] | None = None,
) -> Any:
    """Return the value in `frame`; `object_of` looks up handles, `records` holds dataclasses.

    Raises CodecError for anything that `encode` would not have written.
    """
    depth = 0
    looked_up: dict[int, Any] = {}  # live objects, whose insides are nobody's business; kept alive

    def extend(code: int, data: bytes) -> Any:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH + WRAPPING:
            raise CodecError("nested too deeply")
        try:
            return expand(code, data)
        finally:
            depth -= 1

    def expand(code: int, data: bytes) -> Any:
        if code == TUPLE:
            return tuple(expect(unpack(data), list))
        if code == HANDLE and object_of is not None:
            found = object_of(expect(unpack(data), int))
            looked_up[id(found)] = found
            return found
        if code == ARRAY:
            dtype, shape, raw, by_columns = expect(unpack(data), list, 4)
            shape = expect(shape, list)
            if expect(by_columns, bool):
                return array(dtype, shape[::-1], expect(raw, bytes)).T
            return array(dtype, shape, expect(raw, bytes))
        if code == SCALAR:
            dtype, raw = expect(unpack(data), list, 2)
            return array(dtype, [], expect(raw, bytes))[()]
        if code == DTYPE:
            return array(unpack(data), [0], b"").dtype
        if code == SEED:
            return generator(expect(unpack(data), int))
        if code == BIG_INT and len(data) <= MAX_DIGITS:
            return int(data)
        if code == SLICE:
            return slice(*expect(unpack(data), list, 3))
        if code == ELLIPSIS:
            return Ellipsis
        if code == RECORD and records is not None:
            name, state = expect(unpack(data), list, 2)
            return records[name](*expect(state, list))
        raise CodecError(f"unknown extension {code}")

    def unpack(data: bytes) -> Any:
        return msgpack.unpackb(
            data, ext_hook=extend, strict_map_key=False, unicode_errors="surrogatepass"
        )

    if len(frame) > MAX_FRAME:
        raise CodecError("frame too large")
    try:
        value = unpack(frame)
    except CodecError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError, msgpack.UnpackException) as error:
        raise CodecError(f"not a frame: {type(error).__name__}") from None
    if not is_shallow(value, MAX_DEPTH + WRAPPING, looked_up):
        raise CodecError("nested too deeply, or of a kind that is not sent")
    return value


def is_shallow(value: Any, room: int = MAX_DEPTH, skip: Container[int] = ()) -> bool:
    """Say whether containers are nested no deeper than `room`, and hold no time stamps.

    Objects whose ids are in `skip` are not looked into.
    """
    kind = type(value)
    if kind in (list, tuple, dict) and id(value) not in skip:
        items = [*value, *value.values()] if kind is dict else value
        return room > 0 and all(is_shallow(item, room - 1, skip) for item in items)
    return kind is not msgpack.Timestamp


def is_plain_scalar(value: Any, kind: type, numpy: Any) -> bool:
    return (
        issubclass(kind, numpy.generic) and value.dtype.name in DTYPES and kind is value.dtype.type
    )


def is_plain_array(value: Any) -> bool:
    """Say whether an array is one of numbers that fits into a frame."""
    return value.dtype.name in DTYPES and value.ndim <= MAX_AXES and value.nbytes < MAX_FRAME


def generator(seed: int) -> Any:
    import numpy

    return numpy.random.default_rng(seed)


def array(dtype: Any, shape: list[Any], raw: bytes) -> Any:
    """Return a writable numpy array made of `raw`, whose size must fit `shape`."""
    import numpy

    if dtype not in DTYPES or len(shape) > MAX_AXES:
        raise CodecError("not an array of numbers")
    if any(type(n) is not int or n < 0 for n in shape):
        raise CodecError("not a shape")
    if math.prod(shape) * numpy.dtype(dtype).itemsize != len(raw):
        raise CodecError("array and shape disagree")
    return numpy.frombuffer(raw, dtype).reshape(shape).copy()


def expect(value: Any, kind: Any, length: int | None = None) -> Any:
    """Return `value` if it is exactly a `kind` (of that length), else raise CodecError."""
    if type(value) is not kind or (length is not None and len(value) != length):
        raise CodecError(f"{kind.__name__} expected")
    return value
