# Helpers for Tessera's own targets: flags, mini-apps, the build summary.

# Compiler options of all Tessera targets. The interface target is linked PRIVATE, so that users of an installed Tessera
# do not inherit its warnings.
add_library(tessera_flags INTERFACE)
target_compile_options(tessera_flags INTERFACE -Wall -Wextra $<$<BOOL:${TESSERA_WARNINGS_AS_ERRORS}>:-Werror>)
if(TESSERA_NATIVE)
  target_compile_options(tessera_flags INTERFACE -march=native)
endif()
if(Kokkos_ENABLE_CUDA)
  # nvcc's front end reports "calling a __host__ function" (20014) for defaulted members of standard types that no
  # kernel calls. It also warns about lambdas whose template parameters are given and not deduced (445).
  target_compile_options(tessera_flags INTERFACE
    "SHELL:-Xcudafe --diag_suppress=20014" "SHELL:-Xcudafe --diag_suppress=445")
  # Without this error, a kernel that calls a host-only function would compile and compute wrong results.
  target_compile_options(tessera_flags INTERFACE "SHELL:-Xcudafe --diag_error=20011")
endif()

# tessera_strict_kernels(target): a kernel that calls a host function, also a constexpr one, is an error. nvcc only
# warns (20013, 20015), and the kernel computes nothing. Not for tests, which call collectives with host lambdas.
function(tessera_strict_kernels target)
  if(Kokkos_ENABLE_CUDA)
    target_compile_options(${target} PRIVATE
      "SHELL:-Xcudafe --diag_error=20013" "SHELL:-Xcudafe --diag_error=20015")
  endif()
endfunction()

# tessera_strict(target): additional warnings for sources without Kokkos, whose headers trigger them.
function(tessera_strict target)
  target_compile_options(${target} PRIVATE -Wpedantic -Wshadow -Wconversion)
endfunction()

# The dtypes as C++ types, for tessera/core/config.hpp.
set(TESSERA_DTYPE_LIST "")
foreach(dtype IN LISTS TESSERA_DTYPES)
  if(dtype STREQUAL "float" OR dtype STREQUAL "double")
    list(APPEND TESSERA_DTYPE_LIST ${dtype})
  elseif(dtype STREQUAL "int32")
    list(APPEND TESSERA_DTYPE_LIST std::int32_t)
  elseif(dtype STREQUAL "half")
    list(APPEND TESSERA_DTYPE_LIST tessera::Half)
  elseif(dtype STREQUAL "bfloat16")
    list(APPEND TESSERA_DTYPE_LIST tessera::BFloat16)
  else()
    message(FATAL_ERROR "TESSERA_DTYPES names '${dtype}' (not a dtype); choose from float;double;int32;half;bfloat16")
  endif()
endforeach()
if(NOT TESSERA_DTYPE_LIST)
  message(FATAL_ERROR "TESSERA_DTYPES is empty (nothing would be built); choose from float;double;int32;half;bfloat16")
endif()
list(JOIN TESSERA_DTYPE_LIST ", " TESSERA_DTYPE_LIST)

foreach(space IN LISTS TESSERA_SPACES)
  if(NOT space MATCHES "^(all|cuda|hip|openmp|threads|serial)$")
    message(FATAL_ERROR "TESSERA_SPACES names '${space}' (not an execution space); "
                        "choose all, or from cuda;hip;openmp;threads;serial")
  endif()
endforeach()

# Folder of the mini-apps' own programs; only `tessera` goes to bin.
set(TESSERA_INSTALL_PROGRAMS ${CMAKE_INSTALL_LIBEXECDIR}/tessera)

# tessera_camel_case(snake_case result): the name of a Problem or a variant as a type.
function(tessera_camel_case name result)
  string(REPLACE "_" ";" words ${name})
  set(type "")
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 first)
    string(SUBSTRING ${word} 1 -1 others)
    string(TOUPPER ${first} first)
    string(APPEND type ${first}${others})
  endforeach()
  set(${result} ${type} PARENT_SCOPE)
endfunction()

# tessera_add_app(name VARIANTS v1 v2 ... [KOKKOS_KERNELS v...] [RANKS v...] [SM_90A v...]): adds the library
# tessera::app_<name> with the mini-app's table, and its program. There is one source file per variant; TESSERA_UNITY
# joins them. --list shows first VARIANTS, then KOKKOS_KERNELS (need the library), then RANKS (need MPI). Builds without
# the library, or without MPI, list them too, and skip their rows. SM_90A: those of VARIANTS with instructions of 9.0a.
function(tessera_add_app name)
  cmake_parse_arguments(PARSE_ARGV 1 app "" "" "VARIANTS;KOKKOS_KERNELS;RANKS;SM_90A")
  if(app_UNPARSED_ARGUMENTS OR NOT app_VARIANTS)
    message(FATAL_ERROR "tessera_add_app(${name}): VARIANTS v1 v2 ... is needed; only KOKKOS_KERNELS, RANKS and SM_90A "
                        "may follow")
  endif()
  tessera_camel_case(${name} TESSERA_PROBLEM)
  if(TESSERA_KOKKOS_KERNELS_ALONE AND app_KOKKOS_KERNELS)
    set(app_VARIANTS "")
    set(app_RANKS "")
  endif()
  # Files that some builds lack stay outside of the unit: it is the same in all builds, and ccache can reuse it.
  set(TESSERA_ABSENT "")
  set(outside "")
  foreach(needed IN ITEMS KOKKOS_KERNELS RANKS)
    foreach(variant IN LISTS app_${needed})
      if(needed STREQUAL "RANKS" AND NOT TESSERA_ENABLE_MPI)
        set(why "needs a build with MPI (TESSERA_ENABLE_MPI=ON)")
      elseif(needed STREQUAL "KOKKOS_KERNELS" AND NOT TARGET tessera_kokkos_kernels)
        set(why "built without Kokkos Kernels")
      else()
        list(APPEND outside variants/${variant}.cpp)
        continue()
      endif()
      tessera_camel_case(${variant} type)
      string(APPEND TESSERA_ABSENT "namespace tessera {\nnamespace ${name} {\nstruct ${type};\n}\ntemplate <>\n"
             "inline constexpr std::string_view why_absent<${name}::${type}> = \"${why}\";\n}\n"
             "#include \"apps/${name}/variants/${variant}.cpp\"\n")
    endforeach()
  endforeach()
  if(TESSERA_ABSENT)
    # One library of all mini-apps: a unit in which Kokkos' headers are read once.
    if(NOT TARGET tessera_absent_variants)
      add_library(tessera_absent_variants STATIC)
      target_include_directories(tessera_absent_variants PRIVATE ${PROJECT_SOURCE_DIR})
      target_link_libraries(tessera_absent_variants PRIVATE tessera::core tessera_flags)
      if(TESSERA_UNITY)
        set_target_properties(tessera_absent_variants PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
      endif()
      if(TARGET tessera_precompiled)
        target_precompile_headers(tessera_absent_variants REUSE_FROM tessera_precompiled)
      endif()
    endif()
    configure_file(${PROJECT_SOURCE_DIR}/cmake/AbsentVariants.cpp.in absent_variants.cpp @ONLY)
    target_sources(tessera_absent_variants PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/absent_variants.cpp)
  endif()
  if(outside)
    set_source_files_properties(${outside} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  set_property(GLOBAL PROPERTY TESSERA_RANKS_${name} ${app_RANKS})
  list(TRANSFORM app_VARIANTS REPLACE "(.+)" "variants/\\1.cpp" OUTPUT_VARIABLE sources)
  if(app_SM_90A AND ("HOPPER90" IN_LIST Kokkos_ARCH OR Kokkos_ARCH_HOPPER90))
    # Kokkos' flags select 9.0, and nvcc_wrapper accepts no second architecture, but nvcc reads this variable last. In
    # other builds the sources compile like all others, and their rows are skipped.
    list(TRANSFORM app_SM_90A REPLACE "(.+)" "variants/\\1.cpp")
    list(REMOVE_ITEM sources ${app_SM_90A})
    add_library(tessera_app_${name}_sm_90a OBJECT ${app_SM_90A})
    target_include_directories(tessera_app_${name}_sm_90a PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(tessera_app_${name}_sm_90a PRIVATE tessera::driver tessera::core tessera_flags)
    tessera_strict_kernels(tessera_app_${name}_sm_90a)
    set(launcher ${CMAKE_COMMAND} -E env NVCC_APPEND_FLAGS=-arch=sm_90a ${CMAKE_CXX_COMPILER_LAUNCHER})
    set_target_properties(tessera_app_${name}_sm_90a PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}")
    list(APPEND sources $<TARGET_OBJECTS:tessera_app_${name}_sm_90a>)
  endif()
  # `App app()` is generated from the lists of variants.
  list(APPEND app_VARIANTS ${app_KOKKOS_KERNELS} ${app_RANKS})
  set(TESSERA_DECLARATIONS "")
  foreach(variant IN LISTS app_VARIANTS)
    string(APPEND TESSERA_DECLARATIONS "VariantRows ${variant}();\n")
  endforeach()
  list(JOIN app_VARIANTS "(), " TESSERA_CALLS)
  string(APPEND TESSERA_CALLS "()")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/App.cpp.in app.cpp @ONLY)
  file(GLOB own_sources CONFIGURE_DEPENDS problem.cpp)
  add_library(tessera_app_${name} STATIC reference.cpp ${own_sources} ${CMAKE_CURRENT_BINARY_DIR}/app.cpp ${sources}
              ${outside})
  add_library(tessera::app_${name} ALIAS tessera_app_${name})
  target_include_directories(tessera_app_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(tessera_app_${name} PUBLIC tessera::driver PRIVATE tessera::core tessera_flags)
  if(TESSERA_ABSENT)
    target_link_libraries(tessera_app_${name} PRIVATE tessera_absent_variants)
  endif()
  tessera_strict_kernels(tessera_app_${name})
  if(app_KOKKOS_KERNELS AND TARGET tessera_kokkos_kernels)
    target_link_libraries(tessera_app_${name} PRIVATE tessera_kokkos_kernels)
  endif()
  if(TESSERA_UNITY)
    # All files form one unit, so that shared code is compiled once; other mini-apps use other cores. With many cores
    # the largest mini-app takes longest; a number as the value limits how many files are joined.
    set(files_of_unit 0)
    if(TESSERA_UNITY MATCHES "^([2-9]|[1-9][0-9]+)$")
      set(files_of_unit ${TESSERA_UNITY})
    endif()
    set_target_properties(tessera_app_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files_of_unit})
  endif()
  if(TARGET tessera_precompiled)
    target_precompile_headers(tessera_app_${name} REUSE_FROM tessera_precompiled)
  endif()

  configure_file(${PROJECT_SOURCE_DIR}/cmake/MiniAppMain.cpp.in main.cpp @ONLY)
  add_executable(${name} ${CMAKE_CURRENT_BINARY_DIR}/main.cpp)
  target_link_libraries(${name} PRIVATE tessera_app_${name} tessera_flags)
  # Not on the PATH, because zip, dot, map and others are names of other programs. Use `tessera run <name>`.
  install(TARGETS ${name} RUNTIME DESTINATION ${TESSERA_INSTALL_PROGRAMS})
  set_property(GLOBAL APPEND PROPERTY TESSERA_APPS_BUILT ${name})
endfunction()

# tessera_write_table(file app...): writes a source with all_apps() for these mini-apps.
function(tessera_write_table file)
  set(TESSERA_DECLARATIONS "")
  set(TESSERA_CALLS "")
  foreach(app IN LISTS ARGN)
    string(APPEND TESSERA_DECLARATIONS "namespace ${app} {\nApp app();\n}\n")
    string(APPEND TESSERA_CALLS "      ${app}::app(),\n")
  endforeach()
  configure_file(${PROJECT_SOURCE_DIR}/apps/tessera/all_apps.cpp.in ${file} @ONLY)
endfunction()

# tessera_build_summary(): prints what will be built. Must be called after everything was added.
function(tessera_build_summary)
  get_property(apps GLOBAL PROPERTY TESSERA_APPS_BUILT)
  list(JOIN apps " " apps)
  list(JOIN TESSERA_DTYPES " " dtypes)
  message(STATUS "Tessera ${PROJECT_VERSION}")
  message(STATUS "  mini-apps        ${apps}")
  message(STATUS "  dtypes           ${dtypes}")
  message(STATUS "  spaces           ${TESSERA_SPACES}")
  message(STATUS "  build type       ${CMAKE_BUILD_TYPE}")
  message(STATUS "  tests            ${TESSERA_BUILD_TESTS}")
  message(STATUS "  unity build      ${TESSERA_UNITY}")
  message(STATUS "  -march=native    ${TESSERA_NATIVE}")
endfunction()
