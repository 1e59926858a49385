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
  target_compile_options(tessera_flags INTERFACE "SHELL:-Xcudafe --diag_suppress=20014" "SHELL:-Xcudafe --diag_suppress=445")
  # Without this error, a kernel that calls a host-only function would compile and compute wrong results.
  target_compile_options(tessera_flags INTERFACE "SHELL:-Xcudafe --diag_error=20011")
endif()

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
    message(FATAL_ERROR "TESSERA_SPACES names '${space}' (not an execution space); choose all, or from cuda;hip;openmp;threads;serial")
  endif()
endforeach()

# Folder of the mini-apps' own programs; only `tessera` goes to bin.
set(TESSERA_INSTALL_PROGRAMS ${CMAKE_INSTALL_LIBEXECDIR}/tessera)

# tessera_add_absent_variant(app variant why): for a variant without code in this build. It is listed as in
# variants/<variant>.cpp, with the same dtypes, and its rows are skipped with the reason `why`.
# tessera_write_absent_variants() writes the code.
function(tessera_add_absent_variant app variant why)
  set(file ${PROJECT_SOURCE_DIR}/apps/${app}/variants/${variant}.cpp)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(REGEX REPLACE "^.*static constexpr VariantInfo info" "" info "${text}")
  string(FIND "${info}" "};" end)
  string(SUBSTRING "${info}" 0 ${end} info)
  if(info STREQUAL text OR end EQUAL -1 OR NOT info MATCHES "^{")
    message(FATAL_ERROR "${file} has no `static constexpr VariantInfo info{...};` (--list shows it, also in a build that has no "
                        "code for the variant); write it so")
  endif()
  set(integers true)
  if(text MATCHES "requires (std::is_floating_point_v|std::floating_point|Floating)<T>")
    set(integers false)
  endif()
  # 16-bit floats: if the Problem has them and the variant does not require one of the language's own types.
  set(short_floats false)
  file(READ ${PROJECT_SOURCE_DIR}/apps/${app}/problem.hpp problem)
  if(problem MATCHES "bool short_floats = true;" AND
     NOT text MATCHES "requires( std::(is_floating_point_v|floating_point)<T>|[(]!ShortFloat<T>)")
    set(short_floats true)
  endif()
  set_property(GLOBAL APPEND_STRING PROPERTY TESSERA_ABSENT_VARIANTS "namespace ${app} {
VariantRows ${variant}() {
  return absent_rows(VariantInfo${info}}, ${integers}, ${short_floats},
                     [](Case&) -> std::unique_ptr<RowRun> { throw Skip(\"${why}\"); });
}
}  // namespace ${app}
")
endfunction()

# tessera_write_absent_variants(): writes one source for all mini-apps, because one object per variant would take
# seconds each.
function(tessera_write_absent_variants)
  get_property(TESSERA_ABSENT_VARIANTS GLOBAL PROPERTY TESSERA_ABSENT_VARIANTS)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/AbsentVariants.cpp.in ${PROJECT_BINARY_DIR}/absent_variants.cpp @ONLY)
  add_library(tessera_absent_variants STATIC ${PROJECT_BINARY_DIR}/absent_variants.cpp)
  target_link_libraries(tessera_absent_variants PRIVATE tessera_flags PUBLIC tessera::driver)
endfunction()

# tessera_add_app(name VARIANTS v1 v2 ...): adds the library tessera::app_<name> with the mini-app's table, and its
# program. There is one source file per variant; TESSERA_UNITY joins them.
function(tessera_add_app name)
  cmake_parse_arguments(PARSE_ARGV 1 app "" "" "VARIANTS")
  if(app_UNPARSED_ARGUMENTS OR NOT app_VARIANTS)
    message(FATAL_ERROR "tessera_add_app(${name}): VARIANTS v1 v2 ... is needed, and nothing else is known")
  endif()
  list(TRANSFORM app_VARIANTS REPLACE "(.+)" "variants/\\1.cpp" OUTPUT_VARIABLE sources)
  set(with_library "")
  if("kernels" IN_LIST app_VARIANTS)
    if(TARGET tessera_kokkos_kernels)
      set(with_library tessera_kokkos_kernels)
    else()
      list(REMOVE_ITEM sources variants/kernels.cpp)
      tessera_add_absent_variant(${name} kernels "built without Kokkos Kernels")
    endif()
  endif()
  set(on_ranks ${app_VARIANTS})
  list(FILTER on_ranks INCLUDE REGEX "^distributed")
  foreach(variant IN LISTS on_ranks)
    if(NOT TESSERA_ENABLE_MPI)
      list(REMOVE_ITEM sources variants/${variant}.cpp)
      tessera_add_absent_variant(${name} ${variant} "needs a build with MPI (TESSERA_ENABLE_MPI=ON)")
    endif()
    set_source_files_properties(variants/${variant}.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
  set(of_warpgroups ${sources})
  list(FILTER of_warpgroups INCLUDE REGEX "/warpgroup_")
  if(of_warpgroups AND ("HOPPER90" IN_LIST Kokkos_ARCH OR Kokkos_ARCH_HOPPER90))
    # These sources use instructions of 9.0a. Kokkos' flags select 9.0, and nvcc_wrapper accepts no second architecture,
    # but nvcc reads this variable last. In other builds the sources compile like all others, and their rows are
    # skipped.
    list(REMOVE_ITEM sources ${of_warpgroups})
    add_library(tessera_app_${name}_sm_90a OBJECT ${of_warpgroups})
    target_include_directories(tessera_app_${name}_sm_90a PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(tessera_app_${name}_sm_90a PRIVATE tessera::driver tessera::core tessera_flags)
    set(launcher ${CMAKE_COMMAND} -E env NVCC_APPEND_FLAGS=-arch=sm_90a ${CMAKE_CXX_COMPILER_LAUNCHER})
    set_target_properties(tessera_app_${name}_sm_90a PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}")
    list(APPEND sources $<TARGET_OBJECTS:tessera_app_${name}_sm_90a>)
  endif()
  # `App app()` is generated from the list of variants above. The Problem's name is the mini-app's name in CamelCase.
  string(REPLACE "_" ";" words ${name})
  set(TESSERA_PROBLEM "")
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 first)
    string(SUBSTRING ${word} 1 -1 others)
    string(TOUPPER ${first} first)
    string(APPEND TESSERA_PROBLEM ${first}${others})
  endforeach()
  set(TESSERA_DECLARATIONS "")
  foreach(variant IN LISTS app_VARIANTS)
    string(APPEND TESSERA_DECLARATIONS "VariantRows ${variant}();\n")
  endforeach()
  list(JOIN app_VARIANTS "(), " TESSERA_CALLS)
  string(APPEND TESSERA_CALLS "()")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/App.cpp.in app.cpp @ONLY)
  file(GLOB own_sources CONFIGURE_DEPENDS problem.cpp)
  add_library(tessera_app_${name} STATIC reference.cpp ${own_sources} ${CMAKE_CURRENT_BINARY_DIR}/app.cpp ${sources})
  add_library(tessera::app_${name} ALIAS tessera_app_${name})
  target_include_directories(tessera_app_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(tessera_app_${name} PUBLIC tessera::driver tessera_absent_variants
                        PRIVATE tessera::core tessera_flags ${with_library})
  if(TESSERA_UNITY)
    # All files form one unit, so that shared code is compiled once; other mini-apps use other cores. Files that some
    # builds lack stay outside, so that the unit is the same in all builds and ccache can reuse it. With many cores the
    # largest mini-app takes longest; a number as the value limits how many files are joined.
    set(files_of_unit 0)
    if(TESSERA_UNITY MATCHES "^([2-9]|[1-9][0-9]+)$")
      set(files_of_unit ${TESSERA_UNITY})
    endif()
    set_target_properties(tessera_app_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files_of_unit})
    set_source_files_properties(variants/kernels.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
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
