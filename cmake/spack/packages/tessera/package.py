# Spack recipe. Reachable from a checkout:
#
#   spack repo add <checkout>/cmake/spack
#   spack install tessera                                # OpenMP and Serial
#   spack install tessera +kernels +cuda cuda_arch=90
#   spack install --test=root tessera
#
# What is committed on the branch `main` of the checkout is built; `spack develop --path <checkout> tessera@main` in a Spack
# environment builds the files as they are.

import os

try:  # Spack 1.x
    from spack_repo.builtin.build_systems.cmake import CMakePackage
    from spack_repo.builtin.build_systems.cuda import CudaPackage
    from spack_repo.builtin.build_systems.rocm import ROCmPackage
except ImportError:  # before, spack.package had them
    pass

from spack.package import *


class Tessera(CMakePackage, CudaPackage, ROCmPackage):
    """A suite of Kokkos mini-apps: every algorithm written several ways, each verified
    against a serial reference and measured."""

    # There is no public address yet. Spack reads the recipe by a link in cmake/spack, which leads to the checkout.
    git = "file://" + os.path.dirname(os.path.realpath(__file__))
    homepage = git

    license("BSD-3-Clause")

    version("main", branch="main")

    # Back ends are Kokkos': a back end that Kokkos has is used, whether or not it was asked for here.
    variant("openmp", default=True, description="Kokkos with OpenMP")
    variant("serial", default=True, description="Kokkos with Serial")
    variant("kernels", default=False, description="Library variants, with Kokkos Kernels")
    variant(
        "dtypes",
        default="float,double,int32",
        values=("float", "double", "int32"),
        multi=True,
        description="Element types to compile rows for",
    )

    conflicts("~openmp~serial", msg="Tessera needs a host back end")
    conflicts("+cuda", when="cuda_arch=none", msg="choose cuda_arch, for example cuda_arch=90")
    conflicts("+rocm", when="amdgpu_target=none", msg="choose amdgpu_target, for example gfx90a")
    conflicts("+cuda+rocm", msg="Kokkos takes one of CUDA and HIP")

    depends_on("c", type="build")  # CMake's HDF5 module tries HDF5 with it
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")

    depends_on("kokkos@4.6:5")
    depends_on("kokkos+openmp", when="+openmp")
    depends_on("kokkos+serial", when="+serial")
    # Sources are .cpp: nvcc_wrapper is what compiles them.
    depends_on("kokkos+cuda+wrapper", when="+cuda")
    requires("^kokkos+cuda_lambda", when="+cuda ^kokkos@:4")
    for _arch in CudaPackage.cuda_arch_values:
        depends_on(f"kokkos cuda_arch={_arch}", when=f"+cuda cuda_arch={_arch}")
    depends_on("kokkos+rocm", when="+rocm")
    for _arch in ROCmPackage.amdgpu_targets:
        depends_on(f"kokkos amdgpu_target={_arch}", when=f"+rocm amdgpu_target={_arch}")

    with when("+kernels"):
        depends_on("kokkos-kernels scalars=float,double")
        depends_on("kokkos-kernels+openmp", when="+openmp")
        depends_on("kokkos-kernels+serial", when="+serial")
        depends_on("kokkos-kernels+cuda+cublas", when="+cuda")
        for _arch in CudaPackage.cuda_arch_values:
            depends_on(f"kokkos-kernels cuda_arch={_arch}", when=f"+cuda cuda_arch={_arch}")
        depends_on("kokkos-kernels+rocblas", when="+rocm")

    # One rank for now: a parallel HDF5 would ask for MPI's headers.
    depends_on("hdf5@1.10:~mpi")
    depends_on("cli11@2.1:")
    depends_on("nlohmann-json@3.10:")
    depends_on("googletest@1.11:", type="test")

    def _kokkos_compiler(self):
        if self.spec.satisfies("+rocm"):
            return self.spec["hip"].hipcc
        try:
            return self["kokkos"].kokkos_cxx  # Spack 1.x
        except (TypeError, AttributeError, KeyError):
            return self.spec["kokkos"].kokkos_cxx

    def cmake_args(self):
        return [
            self.define("CMAKE_CXX_COMPILER", self._kokkos_compiler()),
            self.define("Kokkos_ROOT", self.spec["kokkos"].prefix),
            # Nothing is downloaded behind Spack's back.
            self.define("TESSERA_DEPS_SOURCE", "installed"),
            self.define("TESSERA_KOKKOS_KERNELS", self.spec.satisfies("+kernels")),
            self.define("TESSERA_BUILD_TESTS", self.run_tests),
            # The target of Spack's spec says what to compile for.
            self.define("TESSERA_NATIVE", False),
            self.define_from_variant("TESSERA_DTYPES", "dtypes"),
            self.define("TESSERA_ENABLE_MPI", False),
        ]
