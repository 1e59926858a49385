"""sort: keys in ascending or descending order, values with their keys, stable"""

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored, uneven

INT64 = np.dtype("int64")
UINT32 = np.dtype("uint32")
UINT64 = np.dtype("uint64")
MORE = {INT64: "_int64", UINT32: "_uint32", UINT64: "_uint64"}


def words(keys):
    """Unsigned numbers in the order of the keys: zeros are equal, NaN is the largest."""
    width = 8 * keys.itemsize
    sign = np.array(1, f"u{keys.itemsize}") << np.array(width - 1, f"u{keys.itemsize}")
    bits = keys.view(sign.dtype)
    if keys.dtype.kind in "iu":
        return bits ^ sign if keys.dtype.kind == "i" else bits
    result = np.where(bits & sign != 0, ~bits, bits | sign)
    result[keys == 0] = sign
    result[np.isnan(keys)] = ~np.array(0, sign.dtype)
    return result


def places(keys, descending, begin_bit, end_bit):
    """Returns the stable order of the keys."""
    width = 8 * keys.itemsize
    end_bit = end_bit or width
    if (begin_bit, end_bit) != (0, width):
        whole = words(keys)
        if descending:
            whole = np.where(keys != keys, whole, ~whole)
        digits = (whole >> np.array(begin_bit, whole.dtype)) & np.array(2 ** (end_bit - begin_bit) - 1, whole.dtype)
        return np.argsort(digits, kind="stable")
    if not descending:
        return np.argsort(keys, kind="stable")
    return np.argsort(~keys if keys.dtype.kind in "iu" else -keys, kind="stable")


def sort_case(name, description, keys, values=None, descending=False, begin_bit=0, end_bit=0, field="values"):
    of_values = INT64 if (keys.itemsize == 8) == (field == "values") else INT32
    values = np.empty(0, of_values) if values is None else np.asarray(values, of_values)
    order = places(keys, descending, begin_bit, end_bit)
    expected = {"keys": keys[order], field: values[order] if values.size else values}
    parameters = {"descending": descending, "begin-bit": begin_bit, "end-bit": end_bit}
    suffix = {**SUFFIX, **MORE}[keys.dtype]
    return Case(name + suffix, description, {"keys": keys, field: values}, expected, parameters)


def special(t):
    """NaN, infinities, zeros of both signs, denormals and equal keys, in no order."""
    tiny = np.finfo(t).smallest_subnormal
    most = np.finfo(t).max
    few = [1, np.nan, -0.0, np.inf, 0.0, -tiny, -np.inf, tiny, -1, 0.0, np.nan, most, -0.0, -most, 1]
    return stored(few * 3, t)


def cases():
    case = sort_case
    for t in ALL:
        four = np.array([5, 3, 3, 1], t)
        yield case("four", "5 3 3 1 with 0 1 2 3 -> 1 3 3 5 with 3 1 2 0", four, range(4))
        yield case("keys", "keys without values", uneven(1001, t))
        yield case("pairs", "keys with values, many of them equal", uneven(1001, t), range(1001))
        yield case("descending", "the largest first, equal keys in their order", uneven(1001, t), range(1001),
                   descending=True)
        yield case("some_bits", "by bits 20 to 27 only", uneven(1001, t), range(1001), begin_bit=20, end_bit=28)
        yield case("other_values", "values of the other width, half of them beyond 32 bits if they have 64",
                   uneven(1001, t), np.arange(1001) << (0 if t.itemsize == 8 else 23), field="other_values")
        yield case("one_bit", "by the highest bit: the negative keys first", uneven(333, t), range(333),
                   begin_bit=8 * t.itemsize - 1)
        yield case("some_bits_descending", "by bits 17 to 30, down", uneven(777, t), begin_bit=17, end_bit=31,
                   descending=True)
    for t in MORE:
        least, most = np.iinfo(t).min, np.iinfo(t).max
        # Neighbours that a double cannot tell apart, both ends, equal keys.
        few = [most, least, most // 2 + 1, most // 2 + 2, 0, 1, most - 1, least + 1, most, most // 2 + 1]
        keys = np.array(few * 5, t)
        yield case("pairs", "keys with values, both ends of the range", keys, range(keys.size))
        yield case("keys", "the same without values", keys)
        yield case("other_values", "the same with values of the other width", keys, range(keys.size),
                   field="other_values")
        yield case("descending", "the largest first", keys, range(keys.size), descending=True)
        yield case("some_bits", "by the upper half of the bits", keys, range(keys.size), begin_bit=4 * t.itemsize)
    for t in FLOATS:
        keys = special(t)
        yield case("special", "NaN last, zeros are equal", keys, range(keys.size))
        yield case("special_keys", "the same without values", keys)
        yield case("special_descending", "down: NaN still last", keys, range(keys.size), descending=True)
    t = INT32
    extremes = np.array([INT32_MAX, INT32_MIN, 0, -1, INT32_MAX, 1, INT32_MIN + 1, INT32_MAX - 1, INT32_MIN], t)
    yield case("extremes", "both ends of the range", extremes, range(extremes.size))
    yield case("extremes_descending", "the same, down", extremes, range(extremes.size), descending=True)
    t = FLOAT
    yield case("empty", "no keys", np.empty(0, t))
    yield case("single", "one key with a value", np.array([-1], t), [7])
    yield case("equal", "equal keys keep their order", np.full(300, 2, t), range(300))
    yield case("sorted", "sorted already", np.arange(257, dtype=t), range(257))
    yield case("reversed", "the reverse order", np.arange(257, dtype=t)[::-1].copy(), range(257))
