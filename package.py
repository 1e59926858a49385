# Spack recipe. Reachable from a checkout:
#
#   spack repo add <checkout>/cmake/spack/spack_repo/tessera
#   spack install tessera                                # OpenMP and Serial
#   spack install tessera +kernels +cuda cuda_arch=90
#   spack install tessera apps=dot,map dtypes=float      # a part of it
#   spack install --test=root tessera
#   spack test run tessera
#
# This recipe builds what is committed on the branch `main` of the checkout; in a Spack environment
# `spack develop --path <checkout> tessera@main` builds the files as they are. It names a release only
# after the release is tagged. `cmake/release.py` writes an archive and a recipe for it: git refuses
# another user's checkout, but everybody can read an archive.

import os

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.rocm import ROCmPackage

from spack.package import *


class Tessera(CMakePackage, CudaPackage, ROCmPackage):
    """A suite of Kokkos mini-apps: every algorithm written several ways, each verified
    against a serial reference and measured."""

    # Spack reads the recipe by a link in cmake/spack, which leads to the checkout. cmake/release.py
    # changes `git`, `releases` and the version "main" in the recipe of a release.
    here = "file://" + os.path.dirname(os.path.realpath(__file__))
    homepage = here
    git = here
    # The folder of release archives. There is no public address yet; fill it in here.
    releases = here + "/build/releases"

    # Fill in: GitHub names of those who answer for the recipe. Nobody has been asked yet.
    # maintainers("...")

    license("BSD-3-Clause")

    version("main", branch="main", preferred=True)

    def url_for_version(self, version):
        return f"{self.releases}/tessera-{version}.tar.gz"

    generator("ninja")

    test_requires_compiler = True
    sanity_check_is_file = [
        join_path("bin", "tessera"),
        join_path("bin", "tessera-plot"),
        join_path("include", "tessera", "core", "config.hpp"),
    ]

    # Back ends are Kokkos': a back end that Kokkos has is used, asked for here or not.
    variant("openmp", default=True, description="Kokkos with OpenMP")
    variant("serial", default=True, description="Kokkos with Serial")
    # Kokkos compiles for one GPU: one value, where the build systems' own variants take many.
    variant(
        "cuda_arch",
        default="none",
        values=("none",) + CudaPackage.cuda_arch_values,
        multi=False,
        sticky=True,
        when="+cuda",
        description="CUDA architecture",
    )
    variant(
        "amdgpu_target",
        default="none",
        values=("none",) + ROCmPackage.amdgpu_targets,
        multi=False,
        sticky=True,
        when="+rocm",
        description="AMD GPU architecture",
    )
    variant("kernels", default=False, description="Library variants, with Kokkos Kernels")
    variant("mpi", default=False, description="Several ranks, with MPI")
    variant("python", default=False, description="The Python module")
    variant("plot", default=False, description="What tessera-plot needs: Python and matplotlib")
    variant(
        "dtypes",
        default="float,double,int32",
        values=("float", "double", "int32", "half", "bfloat16"),
        multi=True,
        description="Element types to compile rows for",
    )
    # Written by tests/puzzles/puzzle_map.py.
    mini_apps = (
        "attention",
        "axis_sum",
        "bias_add",
        "broadcast_add",
        "butterfly",
        "concurrent",
        "conv1d",
        "conv2d",
        "divide_by_mean",
        "dot",
        "embedding",
        "finite_difference",
        "histogram",
        "lane_broadcast",
        "layernorm",
        "layernorm_linear",
        "layernorm_linear_backward",
        "layouts",
        "map",
        "map_2d",
        "map_3d",
        "matmul",
        "memory_access",
        "monte_carlo",
        "moving_average",
        "partition",
        "pooling",
        "prefix_sum",
        "random",
        "reduce_by_key",
        "roofline",
        "segmented_sum",
        "softmax",
        "sort",
        "sort_segments",
        "stencil_chain",
        "top_k",
        "transformer_block",
        "transformer_block_backward",
        "transpose",
        "zip",
    )
    variant(
        "apps",
        values=disjoint_sets(("all",), mini_apps)
        .prohibit_empty_set()
        .with_error("'all' cannot be named together with mini-apps")
        .with_default("all")
        .with_non_feature_values("all"),
        description="Mini-apps to build and install, with their inputs",
    )

    conflicts("~openmp~serial", msg="Tessera needs a host back end: +openmp or +serial")
    conflicts("+cuda", when="cuda_arch=none", msg="choose cuda_arch, for example cuda_arch=90")
    conflicts("+rocm", when="amdgpu_target=none", msg="choose amdgpu_target, for example amdgpu_target=gfx90a")
    conflicts("+cuda+rocm", msg="Kokkos takes one of CUDA and HIP")
    # What Kokkos was built for decides about compiler and flags: both must say the same.
    conflicts("^kokkos+cuda", when="~cuda", msg="this Kokkos has CUDA: ask for tessera+cuda")
    conflicts("^kokkos+rocm", when="~rocm", msg="this Kokkos has HIP: ask for tessera+rocm")

    depends_on("c", type="build")  # CMake's HDF5 module tries HDF5 with it
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")

    depends_on("kokkos@4.6:5 cxxstd=20")
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
        depends_on("kokkos-kernels@4.6:5 scalars=float,double")
        depends_on("kokkos-kernels+openmp", when="+openmp")
        depends_on("kokkos-kernels+serial", when="+serial")
        depends_on("kokkos-kernels+cuda+cublas", when="+cuda")
        for _arch in CudaPackage.cuda_arch_values:
            depends_on(f"kokkos-kernels cuda_arch={_arch}", when=f"+cuda cuda_arch={_arch}")
        depends_on("kokkos-kernels+rocblas", when="+rocm")

    # Parallel or not: each rank reads its own part of a file with the serial calls.
    depends_on("hdf5@1.10:")
    depends_on("mpi", when="+mpi")
    depends_on("mpi", when="^hdf5+mpi")  # its headers ask for MPI's
    depends_on("cli11@2.1:")
    depends_on("nlohmann-json@3.10:")
    depends_on("googletest@1.11:", type="test")

    with when("+python"):
        depends_on("python@3.10:", type=("build", "link", "run"))
        depends_on("py-nanobind@2.2:", type="build")
        extends("python")

    with when("+plot"):
        depends_on("python@3.10:", type="run")
        depends_on("py-matplotlib@3.6:", type="run")

    def _kokkos_compiler(self):
        """The compiler that Kokkos needs in place of Spack's, or None.

        Kokkos' own `kokkos_cxx` is not asked: an external Kokkos has no compiler to name.
        """
        kokkos = self.spec["kokkos"]
        if kokkos.satisfies("+rocm"):
            return self.spec["hip"].hipcc
        if kokkos.satisfies("+wrapper"):
            # An external Kokkos brings its wrapper along.
            name = "kokkos-nvcc-wrapper"
            owner = self.spec[name] if name in self.spec else kokkos
            return join_path(owner.prefix.bin, "nvcc_wrapper")
        return None

    def cmake_args(self):
        args = [
            self.define("Kokkos_ROOT", self.spec["kokkos"].prefix),
            # Nothing is downloaded behind Spack's back.
            self.define("TESSERA_DEPS_SOURCE", "installed"),
            self.define("TESSERA_KOKKOS_KERNELS", self.spec.satisfies("+kernels")),
            self.define("TESSERA_BUILD_TESTS", self.run_tests),
            # The target of Spack's spec says what to compile for.
            self.define("TESSERA_NATIVE", False),
            self.define_from_variant("TESSERA_APPS", "apps"),
            self.define_from_variant("TESSERA_DTYPES", "dtypes"),
            self.define_from_variant("TESSERA_ENABLE_MPI", "mpi"),
            self.define_from_variant("TESSERA_PYTHON", "python"),
        ]
        if self.spec.satisfies("+python"):
            args.append(self.define("TESSERA_PYTHON_INSTALL_DIR", python_platlib))
        compiler = self._kokkos_compiler()
        if compiler:
            args.append(self.define("CMAKE_CXX_COMPILER", compiler))
        return args

    # A project that uses an installed Tessera: kept beside the installation for `spack test run`.
    consumer = join_path("tests", "install")

    @run_after("install")
    def keep_the_consumer(self):
        cache_extra_test_sources(self, self.consumer)

    def test_installed_inputs(self):
        """every mini-app on the inputs that were installed with it, verified"""
        tessera = which(self.prefix.bin.tessera, required=True)
        inputs = self.prefix.share.tessera.inputs
        output = tessera(
            *("run", "all", "--inputs", inputs, "--dtype", "all"),
            *("--samples", "1", "--min-time", "0"),
            output=str.split,
            error=str.split,
        )
        check_outputs(r"TESSERA rows=[1-9][0-9]* passed=[1-9][0-9]* failed=0 ", output)

    def test_find_package(self):
        """a project of its own finds the package, compiles a kernel and runs it"""
        # A test has no CXX in its environment, and what was needed to build is not on its PATH.
        compiler = self._kokkos_compiler() or self.compiler.cxx
        cmake = which(self.spec["cmake"].prefix.bin.cmake, required=True)
        prefixes = [spec.prefix for spec in self.spec.traverse(deptype=("link", "run"))]
        source = join_path(self.test_suite.current_test_cache_dir, self.consumer)
        with working_dir("consumer", create=True):
            cmake(
                *("-G", "Ninja", source),
                self.define("CMAKE_BUILD_TYPE", "Release"),
                self.define("CMAKE_MAKE_PROGRAM", self.spec["ninja"].prefix.bin.ninja),
                self.define("CMAKE_CXX_COMPILER", compiler),
                self.define("CMAKE_PREFIX_PATH", prefixes),
            )
            cmake("--build", ".", "--target", "own_kernel")
            own_kernel = Executable(join_path(os.getcwd(), "own_kernel"))
            output = own_kernel(output=str.split, error=str.split)
            check_outputs("own_kernel: ok", output)
