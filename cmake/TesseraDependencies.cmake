# Tessera's dependencies: an installed package, or else a pinned upstream release (TesseraDownloads.cmake).
#
# Defines the targets Kokkos::kokkos, tessera_hdf5, CLI11::CLI11 and nlohmann_json::nlohmann_json; with tests
# GTest::gtest and GTest::gtest_main; with MPI MPI::MPI_CXX; with Kokkos Kernels tessera_kokkos_kernels. Also defines
# the variables Kokkos_ENABLE_<BACKEND>. tessera_dependency_summary() prints the choices and why something is off.

set(TESSERA_DEPS_SOURCE "auto" CACHE STRING
    "auto: installed, else fetched; installed: only installed; release: only fetched")
set_property(CACHE TESSERA_DEPS_SOURCE PROPERTY STRINGS auto installed release)
set(TESSERA_KOKKOS_KERNELS "auto" CACHE STRING
    "Library variants: auto (if installed), ON (needed; fetched if missing), OFF")
set_property(CACHE TESSERA_KOKKOS_KERNELS PROPERTY STRINGS auto ON OFF)
option(TESSERA_ENABLE_MPI "Several ranks with MPI" OFF)
option(TESSERA_PYTHON "The Python module (common/python)" OFF)
set(TESSERA_ENABLE_NCCL "AUTO" CACHE STRING
    "NCCL or RCCL beside MPI, in a build for GPUs: AUTO (if it is found), ON, OFF")

if(NOT TESSERA_DEPS_SOURCE MATCHES "^(auto|installed|release)$")
  message(FATAL_ERROR "TESSERA_DEPS_SOURCE is '${TESSERA_DEPS_SOURCE}' (unknown); choose auto, installed or release")
endif()

include(${CMAKE_CURRENT_LIST_DIR}/TesseraDownloads.cmake)
include(FetchContent)

if(NOT DEFINED CMAKE_CXX_EXTENSIONS)
  set(CMAKE_CXX_EXTENSIONS OFF)  # a Kokkos built without them insists, with a warning
endif()

set(TESSERA_DEPENDENCIES "")  # lines of the summary

# tessera_took(name text): adds one line to the summary.
function(tessera_took name text)
  string(LENGTH "${name}" length)
  math(EXPR missing "16 - ${length}")
  string(REPEAT " " ${missing} space)
  list(APPEND TESSERA_DEPENDENCIES "${name}${space} ${text}")
  set(TESSERA_DEPENDENCIES "${TESSERA_DEPENDENCIES}" PARENT_SCOPE)
endfunction()

# tessera_fetch(name wanted): adds the pinned release to the build, or stops with advice. `wanted` is the name in
# messages. Fetched projects are installed together with Tessera, so that the installed tree is complete.
function(tessera_fetch name wanted)
  if(TESSERA_DEPS_SOURCE STREQUAL "installed")
    message(FATAL_ERROR "${wanted} was not found (TESSERA_DEPS_SOURCE=installed looks only at what is installed); "
                        "name its prefix in CMAKE_PREFIX_PATH, or configure with TESSERA_DEPS_SOURCE=auto")
  endif()
  tessera_archive(${name} archive reason)
  if(NOT archive)
    message(FATAL_ERROR "${wanted} was not found and could not be fetched (${reason}); name its prefix in "
                        "CMAKE_PREFIX_PATH, or put the archive into a directory and name that in TESSERA_DOWNLOADS")
  endif()
  # Callers set the options of fetched projects as plain variables.
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
  set(CMAKE_POLICY_DEFAULT_CMP0135 NEW)
  set(BUILD_TESTING OFF)
  set(CMAKE_CXX_STANDARD 20)
  if(POLICY CMP0135)
    cmake_policy(SET CMP0135 NEW)  # extracted files are as old as their extraction: a changed pin rebuilds
  endif()
  string(TOLOWER ${name} lower)
  FetchContent_Declare(${lower} URL ${archive})
  FetchContent_MakeAvailable(${lower})
  set(${lower}_SOURCE_DIR ${${lower}_SOURCE_DIR} PARENT_SCOPE)
  set(${lower}_BINARY_DIR ${${lower}_BINARY_DIR} PARENT_SCOPE)
endfunction()

# The driver compares and copies with its own threads.
find_package(Threads REQUIRED)

# --- Kokkos ---------------------------------------------------------------------------------------------------------
set(TESSERA_KOKKOS_FETCHED FALSE)
if(NOT TESSERA_DEPS_SOURCE STREQUAL "release")
  find_package(Kokkos 4.6...<6 CONFIG QUIET)
endif()
if(Kokkos_FOUND)
  set(TESSERA_KOKKOS_DEVICES ${Kokkos_DEVICES})
  set(TESSERA_KOKKOS_OPTIONS ${Kokkos_OPTIONS})
  set(TESSERA_KOKKOS_ARCH ${Kokkos_ARCH})
  tessera_took(Kokkos "${Kokkos_VERSION} (installed, ${Kokkos_DIR})")
else()
  set(wanted "Kokkos 4.6 to 5.x")
  if(Kokkos_CONSIDERED_VERSIONS)
    list(GET Kokkos_CONSIDERED_VERSIONS 0 version)
    list(GET Kokkos_CONSIDERED_CONFIGS 0 config)
    string(APPEND wanted " (there is ${version} in ${config})")
  endif()
  # The user chooses the back ends. Without a choice: Serial, and OpenMP if the compiler supports it.
  get_cmake_property(variables CACHE_VARIABLES)
  list(FILTER variables INCLUDE REGEX "^Kokkos_ENABLE_(SERIAL|OPENMP|THREADS|HPX|CUDA|HIP|SYCL|OPENMPTARGET|OPENACC)$")
  if(NOT variables)
    find_package(OpenMP QUIET COMPONENTS CXX)
    set(Kokkos_ENABLE_SERIAL ON CACHE BOOL "Kokkos' Serial back end")
    set(Kokkos_ENABLE_OPENMP ${OpenMP_CXX_FOUND} CACHE BOOL "Kokkos' OpenMP back end")
  endif()
  # The Python module is a shared library, also with Kokkos' static libraries in it.
  set(CMAKE_POSITION_INDEPENDENT_CODE ${TESSERA_PYTHON})
  tessera_fetch(kokkos "${wanted}")
  unset(CMAKE_POSITION_INDEPENDENT_CODE)
  set(TESSERA_KOKKOS_FETCHED TRUE)
  set(Kokkos_VERSION ${tessera_pin_kokkos})
  tessera_took(Kokkos "${Kokkos_VERSION} (upstream release)")
  # In the same form as the installed package reports them.
  set(TESSERA_KOKKOS_DEVICES "")
  set(TESSERA_KOKKOS_OPTIONS "")
  set(TESSERA_KOKKOS_ARCH "")
  get_cmake_property(variables CACHE_VARIABLES)
  foreach(variable IN LISTS variables)
    if(variable MATCHES "^Kokkos_ENABLE_(SERIAL|OPENMP|THREADS|HPX|CUDA|HIP|SYCL|OPENMPTARGET|OPENACC)$"
       AND ${variable})
      list(APPEND TESSERA_KOKKOS_DEVICES ${CMAKE_MATCH_1})
    elseif(variable MATCHES "^Kokkos_ARCH_(.*)$" AND ${variable})
      list(APPEND TESSERA_KOKKOS_ARCH ${CMAKE_MATCH_1})
    elseif(variable MATCHES "^Kokkos_ENABLE_(.*)$" AND "${${variable}}" STREQUAL "ON")
      list(APPEND TESSERA_KOKKOS_OPTIONS ${CMAKE_MATCH_1})
    endif()
  endforeach()
endif()

# --- MPI ------------------------------------------------------------------------------------------------------------
if(TESSERA_ENABLE_MPI)
  find_package(MPI QUIET COMPONENTS CXX)
  if(NOT MPI_CXX_FOUND)
    message(FATAL_ERROR "MPI was not found (TESSERA_ENABLE_MPI is ON); load or install an MPI, or configure with "
                        "TESSERA_ENABLE_MPI=OFF")
  endif()
  tessera_took(MPI "${MPI_CXX_VERSION} (installed)")
else()
  tessera_took(MPI "off (TESSERA_ENABLE_MPI is OFF)")
endif()

# --- HDF5 -----------------------------------------------------------------------------------------------------------
if(NOT TESSERA_DEPS_SOURCE STREQUAL "release")
  set(HDF5_PREFER_PARALLEL ${TESSERA_ENABLE_MPI})
  include(${CMAKE_CURRENT_LIST_DIR}/TesseraHDF5.cmake)
endif()
if(TARGET tessera_hdf5)
  set(text "installed")
  if(HDF5_IS_PARALLEL)
    string(APPEND text ", parallel")
  endif()
  if(TESSERA_ENABLE_MPI)
    include(${CMAKE_CURRENT_LIST_DIR}/TesseraOneMPI.cmake)
    tessera_check_one_mpi()
  endif()
  tessera_took(HDF5 "${HDF5_VERSION} (${text})")
else()
  enable_language(C)
  set(HDF5_BUILD_CPP_LIB OFF)
  set(HDF5_BUILD_FORTRAN OFF)
  set(HDF5_BUILD_HL_LIB OFF)
  set(HDF5_BUILD_TOOLS OFF)
  set(HDF5_BUILD_EXAMPLES OFF)
  find_package(ZLIB QUIET)  # for reading compressed data sets
  set(HDF5_ENABLE_Z_LIB_SUPPORT ${ZLIB_FOUND})
  set(HDF5_ENABLE_SZIP_SUPPORT OFF)
  set(HDF5_EXTERNALLY_CONFIGURED OFF)
  set(HDF5_ENABLE_PARALLEL ${TESSERA_ENABLE_MPI})
  set(HDF5_IS_PARALLEL ${TESSERA_ENABLE_MPI})
  set(BUILD_SHARED_LIBS OFF)
  tessera_fetch(hdf5 "HDF5")
  unset(BUILD_SHARED_LIBS)
  add_library(tessera_hdf5 INTERFACE IMPORTED GLOBAL)
  target_link_libraries(tessera_hdf5 INTERFACE hdf5-static)
  # hdf5.h includes the sub-filing header, whose directory is missing in the target.
  target_include_directories(tessera_hdf5 INTERFACE ${hdf5_SOURCE_DIR}/src ${hdf5_SOURCE_DIR}/src/H5FDsubfiling
                                                    ${hdf5_BINARY_DIR}/src)
  tessera_took(HDF5 "${tessera_pin_hdf5} (upstream release)")
endif()

# --- Header-only and test libraries ----------------------------------------------------------------------------------
if(NOT TESSERA_DEPS_SOURCE STREQUAL "release")
  find_package(CLI11 2.1 CONFIG QUIET)
  find_package(nlohmann_json 3.10 CONFIG QUIET)
endif()
if(CLI11_FOUND)
  tessera_took(CLI11 "${CLI11_VERSION} (installed)")
else()
  set(CLI11_BUILD_TESTS OFF)
  set(CLI11_BUILD_EXAMPLES OFF)
  set(CLI11_BUILD_DOCS OFF)
  set(CLI11_INSTALL ON)
  tessera_fetch(CLI11 "CLI11 2.1 or later")
  tessera_took(CLI11 "${tessera_pin_CLI11} (upstream release)")
endif()
if(nlohmann_json_FOUND)
  tessera_took(nlohmann_json "${nlohmann_json_VERSION} (installed)")
else()
  set(JSON_BuildTests OFF)
  set(JSON_Install ON)
  tessera_fetch(nlohmann_json "nlohmann_json 3.10 or later")
  tessera_took(nlohmann_json "${tessera_pin_nlohmann_json} (upstream release)")
endif()

if(TESSERA_BUILD_TESTS)
  if(NOT TESSERA_DEPS_SOURCE STREQUAL "release")
    find_package(GTest 1.11 CONFIG QUIET)
  endif()
  if(GTest_FOUND)
    tessera_took(GoogleTest "${GTest_VERSION} (installed)")
  else()
    set(INSTALL_GTEST OFF)
    tessera_fetch(googletest "GoogleTest 1.11 or later")
    tessera_took(GoogleTest "${tessera_pin_googletest} (upstream release)")
  endif()
else()
  tessera_took(GoogleTest "off (TESSERA_BUILD_TESTS is OFF)")
endif()

# --- Python and nanobind ----------------------------------------------------------------------------------------------
if(TESSERA_PYTHON)
  find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
  if(NOT Python_FOUND)
    message(FATAL_ERROR "Python 3.10 or later with its headers was not found (TESSERA_PYTHON is ON); install "
                        "python3-dev, or name an interpreter in Python_EXECUTABLE")
  endif()
  # pip's nanobind says where it is; other packages are found as all are.
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE directory ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  find_package(nanobind 2.2 CONFIG QUIET HINTS ${directory})
  if(NOT nanobind_FOUND)
    message(FATAL_ERROR "nanobind 2.2 or later was not found (TESSERA_PYTHON is ON); install it, or name its prefix in "
                        "CMAKE_PREFIX_PATH")
  endif()
  tessera_took(nanobind "${nanobind_VERSION} (installed), Python ${Python_VERSION}")
endif()

# --- NCCL or RCCL: from GPU to GPU, beside MPI ------------------------------------------------------------------------
# Some packages (for example Python's) contain only the library name with its version.
if(TESSERA_ENABLE_MPI AND (Kokkos_ENABLE_CUDA OR Kokkos_ENABLE_HIP) AND NOT TESSERA_ENABLE_NCCL STREQUAL "OFF")
  if(Kokkos_ENABLE_CUDA)
    find_path(NCCL_INCLUDE_DIR nccl.h PATH_SUFFIXES include)
    find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 PATH_SUFFIXES lib)
  else()
    find_path(NCCL_INCLUDE_DIR rccl/rccl.h PATH_SUFFIXES include)
    find_library(NCCL_LIBRARY NAMES rccl librccl.so.1 PATH_SUFFIXES lib)
  endif()
  if(NCCL_INCLUDE_DIR AND NCCL_LIBRARY)
    set(TESSERA_HAVE_NCCL TRUE)
    tessera_took(NCCL "${NCCL_LIBRARY} (installed)")
  elseif(TESSERA_ENABLE_NCCL STREQUAL "ON")
    message(FATAL_ERROR "NCCL was not found (TESSERA_ENABLE_NCCL is ON); name its prefix in CMAKE_PREFIX_PATH, or "
                        "configure with TESSERA_ENABLE_NCCL=OFF")
  else()
    tessera_took(NCCL "none (ranks copy through host memory, unless MPI takes device pointers)")
  endif()
endif()

# --- Kokkos Kernels ---------------------------------------------------------------------------------------------------
# Installed Kokkos Kernels match only the Kokkos with which they were built, so they cannot be combined with a fetched
# Kokkos.
if(TESSERA_KOKKOS_KERNELS AND NOT TESSERA_KOKKOS_FETCHED)
  # Trilinos' package has no version file and requests a CMake version so old that newer ones warn.
  set(tessera_warn_deprecated ${CMAKE_WARN_DEPRECATED})
  set(CMAKE_WARN_DEPRECATED OFF)
  find_package(KokkosKernels CONFIG QUIET)
  set(CMAKE_WARN_DEPRECATED ${tessera_warn_deprecated})
endif()
if(KokkosKernels_FOUND)
  if(TARGET Kokkos::kokkoskernels)
    set(target Kokkos::kokkoskernels)
  else()
    set(target KokkosKernels::all_libs)
  endif()
  if(NOT KokkosKernels_VERSION)
    get_target_property(directories ${target} INTERFACE_INCLUDE_DIRECTORIES)
    foreach(directory IN LISTS directories)
      if(EXISTS ${directory}/KokkosKernels_config.h)
        file(STRINGS ${directory}/KokkosKernels_config.h lines REGEX "KOKKOSKERNELS_VERSION_(MAJOR|MINOR|PATCH)")
        string(REGEX REPLACE "[^0-9;]" "" lines "${lines}")
        list(JOIN lines . KokkosKernels_VERSION)
      endif()
    endforeach()
  endif()
  add_library(tessera_kokkos_kernels INTERFACE IMPORTED GLOBAL)
  target_link_libraries(tessera_kokkos_kernels INTERFACE ${target})
  tessera_took("Kokkos Kernels" "${KokkosKernels_VERSION} (installed, ${KokkosKernels_DIR})")
elseif(TESSERA_KOKKOS_KERNELS STREQUAL "auto")
  if(TESSERA_KOKKOS_FETCHED)
    tessera_took("Kokkos Kernels" "off (compiling them takes minutes: TESSERA_KOKKOS_KERNELS=ON fetches them)")
  else()
    tessera_took("Kokkos Kernels" "off (none found: name its prefix in CMAKE_PREFIX_PATH)")
  endif()
elseif(NOT TESSERA_KOKKOS_KERNELS)
  tessera_took("Kokkos Kernels" "off (TESSERA_KOKKOS_KERNELS is OFF)")
elseif(NOT TESSERA_KOKKOS_FETCHED)
  message(FATAL_ERROR "Kokkos Kernels was not found (TESSERA_KOKKOS_KERNELS is ON, and Kokkos is the installed "
                      "${Kokkos_VERSION}); install the Kokkos Kernels of that Kokkos, or fetch both with "
                      "TESSERA_DEPS_SOURCE=release")
else()
  # Only the parts that the library variants call.
  set(KokkosKernels_ENABLE_ALL_COMPONENTS OFF)
  set(KokkosKernels_ENABLE_COMPONENT_BLAS ON)
  set(KokkosKernels_INST_FLOAT ON)
  set(KokkosKernels_INST_DOUBLE ON)
  tessera_fetch(kokkos-kernels "Kokkos Kernels")
  add_library(tessera_kokkos_kernels INTERFACE IMPORTED GLOBAL)
  target_link_libraries(tessera_kokkos_kernels INTERFACE Kokkos::kokkoskernels)
  tessera_took("Kokkos Kernels" "${tessera_pin_kokkos-kernels} (upstream release)")
endif()

# tessera_dependency_summary(): prints each dependency, its origin, and why something is off.
function(tessera_dependency_summary)
  message(STATUS "Dependencies")
  foreach(line IN LISTS TESSERA_DEPENDENCIES)
    message(STATUS "  ${line}")
    if(line MATCHES "^Kokkos  ")
      foreach(kind devices options arch)
        string(TOUPPER ${kind} upper)
        list(JOIN TESSERA_KOKKOS_${upper} " " values)
        if(values)
          message(STATUS "    ${kind}: ${values}")
        endif()
      endforeach()
    endif()
  endforeach()
endfunction()
