# The Python module's tests: ctest -L python. The target python_planted builds modules with one planted mistake each.

set(python_environment "OMP_NUM_THREADS=4;OMP_PROC_BIND=false;OMP_WAIT_POLICY=passive;PYTHONDONTWRITEBYTECODE=1")
add_test(NAME python_tests COMMAND ${Python_EXECUTABLE} -m unittest discover -s ${CMAKE_CURRENT_SOURCE_DIR}/python)
set_tests_properties(python_tests PROPERTIES LABELS python TIMEOUT 600
  ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python;${python_environment}")
add_custom_target(python_planted)

# tessera_plant_in_python(name source from to test): the module with `to` in place of `from`, which is once in
# common/python/src/<source>, must fail this test of tests/python. A source that is compiled
# into the module replaces the same one in the library of kernels.
function(tessera_plant_in_python name source from to test)
  set(original ${PROJECT_SOURCE_DIR}/common/python/src/${source})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${original})
  file(READ ${original} text)
  string(FIND "${text}" "${from}" first)
  string(FIND "${text}" "${from}" last REVERSE)
  if(first LESS 0 OR NOT first EQUAL last)
    message(FATAL_ERROR "tests/python/python.cmake: this is not in ${source} just once; move the mistake along:\n"
                        "${from}")
  endif()
  string(REPLACE "${from}" "${to}" text "${text}")
  set(directory ${CMAKE_CURRENT_BINARY_DIR}/python_planted/${name})
  file(CONFIGURE OUTPUT ${directory}/${source} CONTENT "${text}" @ONLY)
  set(sources module.cpp operations.cpp arguments.cpp)
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/common/python/src/)
  list(REMOVE_ITEM sources ${original})
  tessera_add_python_module(python_planted_${name} ${directory}/tessera ${directory}/${source} ${sources})
  add_dependencies(python_planted python_planted_${name})
  add_test(NAME python_planted_${name}
           COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/python/planted.py ${test})
  set_tests_properties(python_planted_${name} PROPERTIES LABELS "python;planted" TIMEOUT 120
    ENVIRONMENT "PYTHONPATH=${directory};${python_environment}")
endfunction()

tessera_plant_in_python(strides arguments.cpp
  "fits = fits && (array.shape[i] == 1 || stride(i) == expected);" ""
  test_arrays.Refusals.test_strides_of_matrices)
tessera_plant_in_python(out arguments.cpp
  "bool const is_new = out.is_none();" "bool const is_new = true;"
  test_arrays.NoCopies.test_out_is_written_and_returned)
tessera_plant_in_python(freed_input arguments.cpp
  "return view->stride(i); });\n  argument.keep = view;\n" "return view->stride(i); });\n"
  test_arrays.Lifetime.test_exported_temporary_lives_until_the_end)
tessera_plant_in_python(gil module.cpp
  "nb::gil_scoped_release const released;" ""
  test_process.Threads.test_others_run_during_a_kernel)

if(Kokkos_ENABLE_CUDA)
  tessera_plant_in_python(cuda_producer arguments.cpp
    "order_behind(stream.value_or(default_stream()), reinterpret_cast<std::uintptr_t>(other), array.device);" ""
    test_cuda.Streams.test_input_from_another_stream)
  tessera_plant_in_python(cuda_own_stream arguments.cpp
    "if (own) {" "if (false) {"
    test_cuda.Streams.test_a_call_is_ordered_on_its_stream_and_does_not_wait)
  tessera_plant_in_python(cuda_freed module.cpp
    "next.arguments.push_back({argument->object, argument->keep, argument->array.data});" "(void)argument;"
    test_cuda.Streams.test_arguments_live_until_the_stream_has_passed)
  tessera_plant_in_python(cuda_new_result module.cpp
    "return !argument->is_new || !argument->is_current;" "return !argument->is_new;"
    test_cuda.Streams.test_new_results_are_held_only_on_other_streams)
  tessera_plant_in_python(cuda_graph runtime.cpp
    "require_no_capture(stream);\n  require_no_capture(other);" ""
    test_cuda.Streams.test_a_graph_of_another_stream_is_not_ended)
  tessera_plant_in_python(cuda_export arguments.cpp
    "require_no_capture(own);  // first: the library" "// the library"
    test_cuda.Streams.test_dlpack_on_a_stream_that_captures)
  tessera_plant_in_python(cuda_repeated module.cpp
    "own.back().mark = nullptr;" ""
    test_cuda.Streams.test_arguments_of_repeated_calls_live_as_well)
  tessera_plant_in_python(cuda_address runtime.cpp
    "return number;" "return stream;"
    test_cuda.Kept.test_a_stream_with_the_address_of_another)
  tessera_plant_in_python(cuda_not_ready runtime.cpp
    "return state != gpu::not_ready;" "return true;"
    test_cuda.Streams.test_arguments_live_until_the_stream_has_passed)
endif()
