# HDF5's C library as the target tessera_hdf5, however it was installed: built with CMake it brings a package of its own
# (and CMake's module stumbles over static ones among them), else CMake's module finds it. Used by the build and by the
# installed package.
#
# Sets HDF5_FOUND, HDF5_VERSION and, of a parallel HDF5, HDF5_IS_PARALLEL. HDF5's package and CMake's module need C as a
# language.

enable_language(C)
if(NOT TARGET tessera_hdf5)
  # Debian has one for each MPI beside the serial one, and CMake takes any of them.
  if(HDF5_PREFER_PARALLEL AND NOT hdf5_DIR)
    set(flavour "")
    if(MPI_CXX_LIBRARIES MATCHES "mpich")
      set(flavour mpich)
    elseif(MPI_CXX_LIBRARIES MATCHES "open_?mpi")
      set(flavour openmpi)
    endif()
    find_package(hdf5 CONFIG QUIET NO_DEFAULT_PATH
                 PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake/hdf5_${flavour})
  endif()
  find_package(hdf5 CONFIG QUIET)
  set(tessera_hdf5_targets hdf5::hdf5-shared hdf5-shared hdf5::hdf5-static hdf5-static)
  foreach(target IN LISTS tessera_hdf5_targets)
    if(hdf5_FOUND AND TARGET ${target} AND NOT TARGET tessera_hdf5)
      add_library(tessera_hdf5 INTERFACE IMPORTED GLOBAL)
      target_link_libraries(tessera_hdf5 INTERFACE ${target})
      # Not every release writes its include directory into the target.
      if(HDF5_INCLUDE_DIR)
        target_include_directories(tessera_hdf5 INTERFACE ${HDF5_INCLUDE_DIR})
      endif()
      set(HDF5_FOUND TRUE)
      set(HDF5_VERSION ${hdf5_VERSION})
      foreach(package HDF5 hdf5)
        if(${package}_PROVIDES_PARALLEL OR ${package}_ENABLE_PARALLEL)
          set(HDF5_IS_PARALLEL TRUE)
        endif()
      endforeach()
    endif()
  endforeach()
endif()
if(NOT TARGET tessera_hdf5)
  find_package(HDF5 QUIET COMPONENTS C)
  if(HDF5_FOUND)
    add_library(tessera_hdf5 INTERFACE IMPORTED GLOBAL)
    if(TARGET HDF5::HDF5)
      target_link_libraries(tessera_hdf5 INTERFACE HDF5::HDF5)
    else()
      target_link_libraries(tessera_hdf5 INTERFACE ${HDF5_C_LIBRARIES})
    endif()
    target_include_directories(tessera_hdf5 INTERFACE ${HDF5_C_INCLUDE_DIRS} ${HDF5_INCLUDE_DIRS})
    target_compile_definitions(tessera_hdf5 INTERFACE ${HDF5_C_DEFINITIONS})
  endif()
endif()
