"""What the cases of every mini-app are made of: Case, dtypes, rounding, data without symmetry."""

from dataclasses import dataclass, field

import numpy as np

FLOAT = np.dtype("float32")
DOUBLE = np.dtype("float64")
INT32 = np.dtype("int32")
HALF = np.dtype("float16")
SUFFIX = {FLOAT: "", DOUBLE: "_double", INT32: "_int32", HALF: "_half"}
ALL = (FLOAT, DOUBLE, INT32)
FLOATS = (FLOAT, DOUBLE)
HUGE = 2**50  # an extent of arrays without elements: no loop may run over it
INT32_MIN = -(2**31)
INT32_MAX = 2**31 - 1


@dataclass(frozen=True)
class Case:
    name: str  # of the file, with the dtype's suffix
    description: str
    input: dict  # field -> array
    expected: dict  # field -> array
    parameters: dict = field(default_factory=dict)  # bool, int, float or str
    bfloat16: bool = False  # all fields are float32 arrays of numbers of bfloat16, and are stored so

    def __post_init__(self):
        for name, array in [*self.input.items(), *self.expected.items()]:
            if array.ndim >= 3 and max(array.shape) >= 2**32:
                raise ValueError(f"{self.name}: {name} {array.shape}: Kokkos 4 has 32 bits for three extents or more")


def stored(values, dtype):
    """Values as they are in a file: rounded to a floating-point dtype, wrapped modulo 2^32 to int32."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values).astype(dtype)


def bfloat16(values):
    """The nearest numbers of bfloat16, ties to even, as float32: NumPy has no such type."""
    values = np.asarray(values, DOUBLE)
    _, exponent = np.frexp(values)  # values are below 2^exponent
    unit = np.ldexp(1.0, np.maximum(exponent, -125) - 8)  # of the last of 8 bits
    with np.errstate(invalid="ignore", over="ignore"):
        nearest = np.where(np.isfinite(values), np.rint(values / unit) * unit, values)
        return np.where(np.abs(nearest) >= 2.0**128, np.copysign(np.inf, nearest), nearest).astype(FLOAT)


def wide(values):
    """The same values in the type that results are computed in: double, or int64 for integers."""
    return values.astype(np.int64 if values.dtype == INT32 else DOUBLE)


def uneven(n, dtype, step=37, period=101, shift=50):
    """Data without symmetry, so that a wrong index shows: with the defaults multiples of 1/8 from -6.25 to
    6.25, for int32 eight times that. Every partial sum is exact in every dtype: any order of summation gives
    the same bits."""
    values = (np.arange(n, dtype=np.int64) * step) % period - shift
    return stored(values if dtype == INT32 else values / 8, dtype)
