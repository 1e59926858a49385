"""random: element i of a stream; Philox4x32-10 as the paper has it, on arrays of counters"""

import numpy as np

from cases.common import DOUBLE, FLOAT, INT32, INT32_MAX, INT32_MIN, SUFFIX, Case, stored

MASK = np.uint64(0xFFFFFFFF)
HALF_WORD = np.uint64(32)


def philox(counter, key):
    """Four arrays of words of 32 bits, kept in 64, for four arrays of counter words and two words of a key. Salmon,
    Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC'11)."""
    x = [np.asarray(word, np.uint64) for word in counter]
    for step in range(10):
        keys = [np.uint64((word + step * weyl) % 2**32) for word, weyl in zip(key, (0x9E3779B9, 0xBB67AE85))]
        first = x[0] * np.uint64(0xD2511F53)
        second = x[2] * np.uint64(0xCD9E8D57)
        x = [second >> HALF_WORD ^ x[1] ^ keys[0], second & MASK, first >> HALF_WORD ^ x[3] ^ keys[1], first & MASK]
    return x


def check_known_answers():
    """The vectors that the authors publish with Random123."""
    pi = ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0))
    known = [
        ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((2**32 - 1,) * 4, (2**32 - 1,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (*pi, "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ]
    for counter, key, answer in known:
        found = " ".join(f"{int(word):08x}" for word in philox(counter, key))
        assert found == answer, (counter, key, found)


def words(index, seed, stream, number):
    """Word `number` of the elements at `index`."""
    block = index // np.uint64(4)
    some = philox([block & MASK, block >> HALF_WORD, np.full_like(block, stream), np.full_like(block, number)],
                  (seed % 2**32, seed >> 32))
    return np.choose((index % np.uint64(4)).astype(np.intp), some)


def digits(index, seed, stream, dtype):
    """The upper 24 bits of an element of float, the upper 53 of double."""
    if dtype == FLOAT:
        return words(index, seed, stream, 0) >> np.uint64(8)
    return (words(index, seed, stream, 1) << HALF_WORD | words(index, seed, stream, 0)) >> np.uint64(11)


def integers(index, seed, stream, lo, hi):
    span = np.uint64(hi - lo)
    out = np.zeros(index.size, np.int64)
    for i in range(index.size):
        number = 0
        while True:
            product = int(words(index[i : i + 1], seed, stream, number)[0]) * int(span)
            if product % 2**32 >= 2**32 % int(span):
                break
            number += 1
        out[i] = lo + product // 2**32
    return out


def elements(index, seed, stream, distribution, dtype, lo, hi):
    if distribution == "integers":
        return integers(index, seed, stream, lo, hi)
    if dtype == INT32:
        return words(index, seed, stream, 0).astype(np.uint32).view(np.int32)
    unit = 2.0 ** (-24 if dtype == FLOAT else -53)
    if distribution != "normal":
        return (digits(index, seed, stream, dtype) + np.uint64(distribution == "uniform_positive")) * unit
    even = index - index % np.uint64(2)
    u = (digits(even, seed, stream, dtype) + np.uint64(1)).astype(np.longdouble) * unit
    v = digits(even + np.uint64(1), seed, stream, dtype).astype(np.longdouble) * unit
    turn = 8 * np.arctan(np.longdouble(1))
    return np.sqrt(-2 * np.log(u)) * np.where(index == even, np.cos(turn * v), np.sin(turn * v))


def random_case(name, description, n, dtype, distribution, seed=42, stream=0, offset=0, lo=0, hi=6):
    index = np.arange(n, dtype=np.uint64) + np.uint64(offset)
    out = elements(index, seed % 2**64, stream, distribution, dtype, lo, hi)
    names = {FLOAT: "float", DOUBLE: "double", INT32: "int32"}
    parameters = {"count": n, "dtype": names[dtype], "seed": seed, "stream": stream, "distribution": distribution,
                  "offset": offset}  # fmt: skip
    if distribution == "integers":
        parameters.update(lo=lo, hi=hi)
    return Case(name + SUFFIX[dtype], description, {}, {"out": stored(out, dtype)}, parameters)


def cases():
    check_known_answers()
    for t in (FLOAT, DOUBLE):
        yield random_case("uniform", "[0, 1)", 1001, t, "uniform")
        yield random_case("uniform_positive", "(0, 1], another stream", 1001, t, "uniform_positive", stream=7)
        yield random_case("normal", "pairs of a cosine and a sine, the last one incomplete", 1001, t, "normal", seed=1)
        yield random_case("inside_a_pair", "the first is a sine", 30, t, "normal", seed=2, offset=5)
    yield random_case("bits", "whole words", 1001, INT32, "bits", seed=-1, stream=2**32 - 1)
    yield random_case("counter_beyond_32_bits", "from element 2^34 - 6 on", 33, INT32, "bits", offset=2**34 - 6)
    yield random_case("dice", "0 to 5", 1001, INT32, "integers")
    yield random_case("rejected", "2^31 + 1 integers: every second word is rejected", 257, INT32, "integers",
                      lo=INT32_MIN, hi=1)  # fmt: skip
    yield random_case("all_integers", "2^32 integers: none is rejected", 257, INT32, "integers", lo=INT32_MIN,
                      hi=INT32_MAX + 1)  # fmt: skip
    yield random_case("one_integer", "only -3", 5, INT32, "integers", lo=-3, hi=-2)
    yield random_case("empty", "no elements", 0, FLOAT, "uniform")
    yield random_case("single", "one element", 1, FLOAT, "normal")
