"""concurrent: chains of kernels x -> (a x + b) mod 4093, a chain for each chunk of the array"""

import numpy as np

from cases.common import ALL, FLOAT, FLOATS, INT32_MAX, INT32_MIN, SUFFIX, Case

MODULUS = 4093


def constants(chain, kernel):
    h = (chain * 40503 + kernel * 2654435761 + 12345) % 2**32
    h = (h ^ h >> 15) * 2246822519 % 2**32
    h ^= h >> 13
    return 2 + h % 4090, 1 + (h >> 12) % 4092


def concurrent_case(name, description, values, chains=4, kernels=8, out=None):
    x = np.where((values >= 0) & (values < MODULUS), values, 0).astype(np.int64)
    for chain in range(chains):
        chunk = slice(len(x) * chain // chains, len(x) * (chain + 1) // chains)
        for kernel in range(kernels):
            a, b = constants(chain, kernel)
            x[chunk] = (a * x[chunk] + b) % MODULUS
    if out is not None:
        assert np.array_equal(x, out), (name, x)
    return Case(name + SUFFIX[values.dtype], description, {"in": values}, {"out": x.astype(values.dtype)},
                {"chains": chains, "kernels": kernels})


def cases():
    for t in ALL:
        yield concurrent_case("uneven", "1001 elements in 4 chains of 8 kernels",
                              (np.arange(1001) * 37 % MODULUS).astype(t))
        yield concurrent_case("seven_chains", "chunks of 14 and 15 elements, 5 kernels",
                              (np.arange(101) * 1009 % MODULUS).astype(t), chains=7, kernels=5)
    yield concurrent_case("one_kernel", "a chain is one kernel: it reads the input and writes the output",
                          np.arange(10, dtype=FLOAT), chains=3, kernels=1)
    yield concurrent_case("one_chain", "one chain of 100 kernels", np.arange(77, dtype=FLOAT), chains=1, kernels=100)
    yield concurrent_case("empty_chunks", "3 elements in 8 chains: most chunks are empty", np.arange(3, dtype=FLOAT),
                          chains=8, kernels=3)
    yield concurrent_case("empty", "no elements", np.empty(0, FLOAT))
    yield concurrent_case("single", "one element", np.array([5], FLOAT), chains=1, kernels=2)
    for t in FLOATS:
        info = np.finfo(t)
        values = [np.nan, np.inf, -np.inf, -0.0, 0.5, 4092.75, 4093, -1, info.max, info.tiny, 4092]
        yield concurrent_case("outside", "what is not 0 to 4092 counts as 0; fractions are dropped",
                              np.array(values, t), chains=2, kernels=3)
    edge = np.array([INT32_MIN, -1, 0, 4092, 4093, INT32_MAX], np.int32)
    yield concurrent_case("outside", "what is not 0 to 4092 counts as 0", edge, chains=2, kernels=3)
