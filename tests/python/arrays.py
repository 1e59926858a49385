"""What the tests of the module share: exporters of arrays, and a count of what Python allocates."""

import contextlib
import ctypes
import tracemalloc
import weakref

import numpy


class Exporter:
    """An array that only DLPack can see."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Temporary:
    """Exports an array that nobody else keeps. Its memory is filled with `poison` when the last user lets it go."""

    def __init__(self, values, poison):
        self.memory, self.poison, self.is_gone = numpy.array(values), poison, False

    def __dlpack__(self, **options):
        array = self.memory.view(_Weak)
        weakref.finalize(array, self.let_go)
        return array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.memory.__dlpack_device__()

    def let_go(self):
        self.is_gone = True
        self.memory[...] = self.poison


class _Weak(numpy.ndarray):
    """A view with a life of its own."""


class _DLTensor(ctypes.Structure):
    """DLPack's DLManagedTensor, flat."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class OnAGPU:
    """Exports an array that says it is on a GPU. Nobody may touch its memory."""

    def __init__(self, n):
        self.shape = (ctypes.c_int64 * 1)(n)
        self.tensor = _DLTensor(data=4096 * id(self), device_type=2, ndim=1, code=2, bits=32, lanes=1, shape=self.shape)

    def __dlpack__(self, **options):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)

    def __dlpack_device__(self):
        return (2, 0)


@contextlib.contextmanager
def allocations():
    """Yields a list that gets the largest number of bytes that Python's libraries had allocated more than before."""
    found = []
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        yield found
        found.append(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()


def address(array):
    return array.__array_interface__["data"][0]
