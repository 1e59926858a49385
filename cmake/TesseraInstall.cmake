# cmake --install: programs, inputs, documents, and the package `tessera` for find_package.
#
#   find_package(tessera CONFIG REQUIRED)                     tessera::core, tessera::driver, tessera::runtime,
#                                                             tessera::study
#   find_package(tessera CONFIG REQUIRED COMPONENTS core)     the headers only: needs Kokkos and nothing else
#
# Two export sets, so that users of only the headers do not need HDF5.

include(CMakePackageConfigHelpers)

set(TESSERA_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)

# --- What the libraries ask of those who link them --------------------------------------------------------------------
# A static library passes its private libraries on to the link. Flags and header-only libraries need no link, but users
# of the package would have to find them again, so they are removed. All other libraries stay, and the package's config
# finds them.
set(TESSERA_FIND_PACKAGES "")
foreach(target tessera_driver tessera_runtime tessera_study)
  get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
  list(REMOVE_ITEM libraries "$<LINK_ONLY:tessera_flags>")
  foreach(library CLI11::CLI11 nlohmann_json::nlohmann_json)
    if("$<LINK_ONLY:${library}>" IN_LIST libraries)
      get_target_property(type ${library} TYPE)
      if(type STREQUAL "INTERFACE_LIBRARY")
        list(REMOVE_ITEM libraries "$<LINK_ONLY:${library}>")
      else()
        string(REGEX REPLACE "::.*" "" package ${library})
        list(APPEND TESSERA_FIND_PACKAGES ${package})
      endif()
    endif()
  endforeach()
  set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES "${libraries}")
endforeach()
target_include_directories(tessera_runtime INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# --- Libraries and headers --------------------------------------------------------------------------------------------
install(TARGETS tessera_core EXPORT tesseraCoreTargets)
install(TARGETS tessera_driver tessera_runtime tessera_study EXPORT tesseraDriverTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/common/include/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp")
install(FILES ${PROJECT_BINARY_DIR}/common/include/tessera/core/config.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera/core)

# --- Programs ---------------------------------------------------------------------------------------------------------
# Each program is installed where it is defined: `tessera` to bin, the mini-apps' own programs to libexec/tessera. This
# part sets the RPATH, so that they find shared libraries installed beside them (a fetched Kokkos) and those in other
# prefixes.
get_property(programs GLOBAL PROPERTY TESSERA_APPS_BUILT)
foreach(program IN LISTS programs ITEMS tessera)
  set_property(TARGET ${program} PROPERTY INSTALL_RPATH_USE_LINK_PATH ON)
  if(NOT CMAKE_INSTALL_RPATH AND NOT APPLE)
    if(program STREQUAL "tessera")
      file(RELATIVE_PATH up /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
    else()
      file(RELATIVE_PATH up /${TESSERA_INSTALL_PROGRAMS} /${CMAKE_INSTALL_LIBDIR})
    endif()
    set_property(TARGET ${program} PROPERTY INSTALL_RPATH "$ORIGIN/${up}")
  endif()
endforeach()

# --- tessera-plot -----------------------------------------------------------------------------------------------------
set(modules ${CMAKE_INSTALL_DATADIR}/tessera/plot)
if(NOT IS_ABSOLUTE ${modules})
  file(RELATIVE_PATH modules /${CMAKE_INSTALL_BINDIR} /${modules})
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/common/plot/tessera-plot)
file(READ ${PROJECT_SOURCE_DIR}/common/plot/tessera-plot script)
string(REPLACE "PACKAGE = \".\"" "PACKAGE = \"${modules}\"" script "${script}")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/package/tessera-plot CONTENT "${script}" @ONLY)
install(PROGRAMS ${PROJECT_BINARY_DIR}/package/tessera-plot DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/common/plot/tessera_plot DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera/plot
        FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)

# --- Inputs and documents ---------------------------------------------------------------------------------------------
# Only the inputs of the mini-apps that were built.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/common/results ${PROJECT_SOURCE_DIR}/common/schemas
                  ${PROJECT_SOURCE_DIR}/common/cluster
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/common USE_SOURCE_PERMISSIONS)
foreach(program IN LISTS programs)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/inputs/${program} DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera/inputs
          FILES_MATCHING PATTERN "*.h5")
endforeach()

# Pages keep the source tree's structure, so that links between them stay valid; links to headers lead to the installed
# headers.
file(REMOVE_RECURSE ${PROJECT_BINARY_DIR}/documents)
file(GLOB_RECURSE pages RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/apps/*.md
     ${PROJECT_SOURCE_DIR}/docs/*.md)
foreach(page IN LISTS pages ITEMS README.md CHANGELOG.md CONTRIBUTING.md)
  get_filename_component(folder ${page} DIRECTORY)
  file(RELATIVE_PATH headers ${CMAKE_INSTALL_FULL_DOCDIR}/${folder} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
  file(READ ${PROJECT_SOURCE_DIR}/${page} text)
  string(REGEX REPLACE "\\]\\((\\.\\./)*common/include" "](${headers}" text "${text}")
  file(WRITE ${PROJECT_BINARY_DIR}/documents/${page} "${text}")
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/documents/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/pictures DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/tests/install DESTINATION ${CMAKE_INSTALL_DOCDIR}/tests
        FILES_MATCHING PATTERN "*.cpp" PATTERN "*.hpp")

# --- The package ------------------------------------------------------------------------------------------------------
# The libraries are compiled for one Kokkos and cannot be used with another version or build of it. Kokkos' own version
# file writes 4.6.01 as 4.6.1.
string(REGEX REPLACE "\\.0+([0-9])" ".\\1" TESSERA_KOKKOS_VERSION "${Kokkos_VERSION}")
if(TESSERA_KOKKOS_FETCHED)
  set(TESSERA_KOKKOS_HINT "\${PACKAGE_PREFIX_DIR}")  # installed beside Tessera
else()
  set(TESSERA_KOKKOS_HINT "${Kokkos_DIR}")
endif()
set(TESSERA_HDF5_FETCHED FALSE)
if(TARGET hdf5-static)
  get_target_property(imported hdf5-static IMPORTED)
  if(NOT imported)
    set(TESSERA_HDF5_FETCHED TRUE)
  endif()
endif()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tesseraConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/package/tesseraConfig.cmake
                              INSTALL_DESTINATION ${TESSERA_CMAKE_DIR} NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/tesseraConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/tesseraConfig.cmake ${PROJECT_BINARY_DIR}/package/tesseraConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/TesseraHDF5.cmake
        DESTINATION ${TESSERA_CMAKE_DIR})
install(EXPORT tesseraCoreTargets NAMESPACE tessera:: DESTINATION ${TESSERA_CMAKE_DIR})
install(EXPORT tesseraDriverTargets NAMESPACE tessera:: DESTINATION ${TESSERA_CMAKE_DIR})
