# HDF5's C library as the target tessera_hdf5, however it was found: CMake's module answers with plain paths, with targets
# or both, depending on how HDF5 was installed. Used by the build and by the installed package.
#
# Sets HDF5_FOUND and HDF5_VERSION. The module needs C as a language.

enable_language(C)
find_package(HDF5 QUIET COMPONENTS C)
if(HDF5_FOUND AND NOT TARGET tessera_hdf5)
  add_library(tessera_hdf5 INTERFACE IMPORTED GLOBAL)
  if(TARGET HDF5::HDF5)
    target_link_libraries(tessera_hdf5 INTERFACE HDF5::HDF5)
  else()
    target_link_libraries(tessera_hdf5 INTERFACE ${HDF5_C_LIBRARIES})
  endif()
  target_include_directories(tessera_hdf5 INTERFACE ${HDF5_C_INCLUDE_DIRS} ${HDF5_INCLUDE_DIRS})
  target_compile_definitions(tessera_hdf5 INTERFACE ${HDF5_C_DEFINITIONS})
endif()
