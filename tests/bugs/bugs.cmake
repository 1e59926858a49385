# Small programs with one planted mistake each, for docs/finding_a_bug.md: `./run bugs` and the test `bugs`. Each is
# built once per tool that finds its mistake on this machine. The table in find.sh says which tools these are.

set(bugs_folder ${PROJECT_BINARY_DIR}/bugs)
set(bugs_tools result)
add_custom_target(bugs)

# tessera_add_bugs(tool PROGRAMS ... OPTIONS ...): the programs, compiled and linked with these options.
function(tessera_add_bugs tool)
  cmake_parse_arguments(PARSE_ARGV 1 bug "" "" "PROGRAMS;OPTIONS")
  foreach(program IN LISTS bug_PROGRAMS)
    set(target bug_${program}_${tool})
    add_executable(${target} bugs/${program}.cpp)
    target_link_libraries(${target} PRIVATE Kokkos::kokkos tessera_flags)
    target_compile_options(${target} PRIVATE ${bug_OPTIONS})
    target_link_options(${target} PRIVATE ${bug_OPTIONS})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${program} RUNTIME_OUTPUT_DIRECTORY ${bugs_folder}/${tool})
    add_dependencies(bugs ${target})
  endforeach()
endfunction()

set(all_bugs null_view host_pointer short_window lone_barrier missing_barrier past_the_end uninitialised)
if(Kokkos_ENABLE_CUDA OR Kokkos_ENABLE_HIP)
  # Line numbers for the tools of the GPU, with the code as it ships.
  tessera_add_bugs(result PROGRAMS ${all_bugs} OPTIONS $<$<BOOL:${Kokkos_ENABLE_CUDA}>:-lineinfo>)
else()
  set(debug -O1 -g -fno-omit-frame-pointer)
  # A debugger stops at each line only without optimisation.
  tessera_add_bugs(result PROGRAMS ${all_bugs} OPTIONS -O0 -g)
  tessera_add_bugs(bounds PROGRAMS null_view past_the_end OPTIONS ${debug} -DKOKKOS_ENABLE_DEBUG_BOUNDS_CHECK=)
  list(APPEND bugs_tools bounds)
  # A build under sanitizers cannot have a second set of them.
  if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    include(CheckCXXSourceCompiles)
    foreach(sanitizer address thread)
      set(CMAKE_REQUIRED_FLAGS -fsanitize=${sanitizer})
      check_cxx_source_compiles("int main() {}" TESSERA_HAS_SANITIZER_${sanitizer})
    endforeach()
    unset(CMAKE_REQUIRED_FLAGS)
    if(TESSERA_HAS_SANITIZER_address)
      tessera_add_bugs(address PROGRAMS null_view past_the_end uninitialised
        OPTIONS ${debug} -fsanitize=address,undefined)
      list(APPEND bugs_tools filled)
      # A Kokkos that checks bounds stops before AddressSanitizer sees the access.
      if(NOT Kokkos_ENABLE_DEBUG_BOUNDS_CHECK)
        list(APPEND bugs_tools address)
      endif()
    endif()
    if(TESSERA_HAS_SANITIZER_thread)
      # g++ warns of fences in Kokkos' headers, which ThreadSanitizer does not understand.
      tessera_add_bugs(threads PROGRAMS lone_barrier missing_barrier
        OPTIONS ${debug} -fsanitize=thread $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
      list(APPEND bugs_tools threads)
    endif()
  endif()
endif()

# For find.sh: the tools of this build. gpu.cmake writes others.
list(JOIN bugs_tools " " bugs_tools)
file(WRITE ${bugs_folder}/tools "tools ${bugs_tools}\n")
if(NOT Kokkos_ENABLE_CUDA AND NOT Kokkos_ENABLE_HIP)
  add_test(NAME bugs COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bugs/find.sh ${bugs_folder})
  # Four threads each, one of which hangs until its time is over.
  set_tests_properties(bugs PROPERTIES TIMEOUT 300 PROCESSORS 2)
endif()
