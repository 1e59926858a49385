"""What the tests of the module share: exporters of arrays, and a count of what Python allocates."""

import contextlib
import ctypes
import tracemalloc
import types
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


class LikeJax(Exporter):
    """An array as JAX has them: DLPack does not say that it must not be written, scalars may share memory, and integers
    have 32 bits unless jax_enable_x64 is set."""

    device = "cpu"
    zero = numpy.zeros((), "float32")

    def __array_namespace__(self):
        return types.SimpleNamespace(empty=self.empty, float32="float32", int64="int32")

    @classmethod
    def empty(cls, shape, dtype, device):
        return cls(cls.zero if shape == () else numpy.empty(shape, dtype))

    def reshape(self, shape):
        return LikeJax(self.array.reshape(shape).copy())


LikeJax.__module__ = "jaxlib.like"


def made_cupy():
    """Returns modules like CuPy's, whose arrays are on GPU 3 and have nothing but attributes. Nobody may touch their
    memory."""

    class ndarray:
        __module__ = "cupy"

        def __init__(self, shape, dtype, address):
            self.shape, self.dtype, self._c_contiguous = shape, dtype, True
            self.data = types.SimpleNamespace(ptr=address, device_id=3)

    ndarray.__qualname__ = "ndarray"
    cupy = types.ModuleType("cupy")
    cupy.made = []

    def empty(shape, dtype, address=None):
        cupy.made.append((shape, dtype))
        return ndarray(shape, dtype, address or 4096 * len(cupy.made))

    cupy.empty, cupy.dtype = empty, numpy.dtype
    for name in ("float32", "float64", "int32", "int64"):
        setattr(cupy, name, getattr(numpy, name))
    cupy.cuda = types.ModuleType("cupy.cuda")
    cupy.cuda.runtime = types.SimpleNamespace(is_hip=False)
    cupy.cuda.get_current_stream = lambda device: types.SimpleNamespace(ptr=0)
    return {"cupy": cupy, "cupy.cuda": cupy.cuda}


class _Table(ctypes.Structure):
    """DLPack's DLPackExchangeAPI."""

    export = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_DLTensor))
    stream = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("managed", ctypes.c_void_p * 3),
        ("export_tensor", export),
        ("current_stream", stream),
    ]


class ByTable:
    """An array that only the table of C functions of its type can export, as PyTorch's tensors are exported."""

    exported = 0

    def __init__(self, array, refused=False):
        self.array, self.refused = array, refused
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.strides = (ctypes.c_int64 * array.ndim)(*(stride // array.itemsize for stride in array.strides))

    def _fill(self, tensor):
        if self.refused:
            return -1  # without an exception: what follows must not depend on one
        ByTable.exported += 1
        # The bytes before the array are not part of it.
        tensor[0].data, tensor[0].byte_offset = self.array.ctypes.data - 64, 64
        tensor[0].device_type, tensor[0].device_id, tensor[0].ndim = 1, 0, self.array.ndim
        tensor[0].code = {"i": 0, "u": 1, "f": 2}[self.array.dtype.kind]
        tensor[0].bits, tensor[0].lanes = 8 * self.array.itemsize, 1
        tensor[0].shape, tensor[0].strides = self.shape, self.strides
        return 0

    _export = _Table.export(lambda self, tensor: self._fill(tensor))
    _no_stream = _Table.stream(lambda kind, device, stream: -1)
    _table = _Table(1, 3, None, (ctypes.c_void_p * 3)(), _export, _no_stream)
    _new = ctypes.pythonapi.PyCapsule_New
    _new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    _name = b"dlpack_exchange_api"  # a capsule copies neither
    __dlpack_c_exchange_api__ = _new(ctypes.addressof(_table), _name, None)


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
