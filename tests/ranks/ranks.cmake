# On 1, 2, 3, 4 and 7 ranks the layer and its rows, on 5 and 6 some of them; on 2, 7, 16 and 64 the program as a user
# starts it. programs.sh prints which mini-apps the tests here start.

# Root, and more ranks than processors, are what Open MPI wants to be told of.
execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE version ERROR_VARIABLE version)
set(launcher ${MPIEXEC_EXECUTABLE})
if(version MATCHES "[Oo]pen *MPI|OpenRTE|prterun|PRRTE")
  list(APPEND launcher --allow-run-as-root --map-by :OVERSUBSCRIBE)
endif()

# tessera_add_ranks_test(name ranks COMMAND ...)
function(tessera_add_ranks_test name ranks)
  cmake_parse_arguments(PARSE_ARGV 2 test "" "" "COMMAND")
  add_test(NAME ${name}_on_${ranks} COMMAND ${launcher} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${test_COMMAND})
  set_tests_properties(${name}_on_${ranks} PROPERTIES PROCESSORS ${ranks} TIMEOUT 300 LABELS ranks
    ENVIRONMENT "OMP_NUM_THREADS=2;OMP_PROC_BIND=false;OMP_WAIT_POLICY=passive;KOKKOS_DISABLE_WARNINGS=1")
  set_property(TEST ${name}_on_${ranks} APPEND PROPERTY ENVIRONMENT TESSERA_TEST_LONGEST_MESSAGE=1000)
endfunction()

foreach(ranks 1 2 3 4 7)
  tessera_add_ranks_test(ranks_tests ${ranks} COMMAND $<TARGET_FILE:ranks_tests>)
  if(ranks EQUAL 3)  # all dtypes; on one rank the tests of the mini-apps have them
    set_tests_properties(ranks_tests_on_${ranks} PROPERTIES TIMEOUT 900)
  else()
    set_property(TEST ranks_tests_on_${ranks} APPEND PROPERTY ENVIRONMENT TESSERA_TEST_FIRST_DTYPE=1)
  endif()
endforeach()

# The rows whose elements change their rank by their order, if these are in the build.
get_property(sorts GLOBAL PROPERTY TESSERA_RANKS_sort)
get_property(reduces GLOBAL PROPERTY TESSERA_RANKS_reduce_by_key)
if(sorts OR reduces)
  foreach(ranks 5 6)
    tessera_add_ranks_test(order ${ranks} COMMAND $<TARGET_FILE:ranks_tests> --gtest_fail_if_no_test_selected
      --gtest_filter=RowsOnRanks.Sort*:RowsOnRanks.ReduceByKey*)
    set_property(TEST order_on_${ranks} APPEND PROPERTY ENVIRONMENT TESSERA_TEST_FIRST_DTYPE=1)
  endforeach()
endif()

# No row is weak.
foreach(ranks 2 7)
  tessera_add_ranks_test(generated ${ranks} COMMAND $<TARGET_FILE:tessera> run all --size 1,5,100003 --level ranks
    --strict --samples 2 --min-time 0)
  tessera_add_ranks_test(files ${ranks} COMMAND $<TARGET_FILE:tessera> run all --inputs ${PROJECT_SOURCE_DIR}/inputs
    --level ranks --strict --samples 2 --min-time 0)
endforeach()

# As many ranks as large nodes have: fewer elements than ranks, too.
foreach(ranks 16 64)
  tessera_add_ranks_test(generated ${ranks} COMMAND $<TARGET_FILE:tessera> run all --size 5,100003 --level ranks
    --samples 1 --min-time 0 --roof 1e9,1e9)
  set_tests_properties(generated_on_${ranks} PROPERTIES TIMEOUT 900 FAIL_REGULAR_EXPRESSION "TESSERA rows=0")
  set_property(TEST generated_on_${ranks} APPEND PROPERTY ENVIRONMENT OMP_NUM_THREADS=1)
endforeach()

# Without --roof: all ranks of a node together measure for a few seconds, on a part of its memory.
tessera_add_ranks_test(roofs 64 COMMAND $<TARGET_FILE:dot> --size 5 --level ranks --samples 1 --min-time 0)
set_property(TEST roofs_on_64 APPEND PROPERTY ENVIRONMENT OMP_NUM_THREADS=1)

# A table of which each rank has some rows, of files and through buffers beside them, too.
foreach(ranks 2 7)
  tessera_add_ranks_test(table_in_rows ${ranks} COMMAND $<TARGET_FILE:tessera> run embedding --table rows
    --size 1,5,100003 --variant distributed --samples 2 --min-time 0)
  tessera_add_ranks_test(files_of_a_table_in_rows ${ranks} COMMAND $<TARGET_FILE:tessera> run embedding --table rows
    --inputs ${PROJECT_SOURCE_DIR}/inputs --variant distributed --samples 2 --min-time 0)
  tessera_add_ranks_test(staged_table_in_rows ${ranks} COMMAND $<TARGET_FILE:tessera> run embedding --table rows
    --size 1,5,100003 --transport staged --variant distributed --samples 2 --min-time 0)
endforeach()

# Each rank's part, for weak scaling.
tessera_add_ranks_test(size_per_rank 3 COMMAND $<TARGET_FILE:dot> --size-per-rank 100,2^10 --samples 1 --min-time 0)
set_tests_properties(size_per_rank_on_3 PROPERTIES PASS_REGULAR_EXPRESSION "size 300,.*size 3072,.*passed=2 failed=0")

# Bulk data through buffers beside them, as on GPUs.
foreach(ranks 2 3 7)
  tessera_add_ranks_test(staged ${ranks} COMMAND $<TARGET_FILE:tessera>
    run transpose,partition,attention,matmul,layernorm_linear_backward --size 1,5,100003 --transport staged
    --level ranks --samples 2 --min-time 0)
endforeach()
# With NCCL ranks use it, or are told why not: that they share a GPU. Without it a user who asks for it is told.
if(TESSERA_HAVE_NCCL)
  set(nccl nccl)
  set(nccl_answer "cannot use --transport nccl \\(ranks share a GPU|TESSERA rows=[0-9]+ passed=[1-9][0-9]* failed=0")
else()
  set(nccl no_nccl)
  set(nccl_answer "cannot use --transport nccl \\(this build has no NCCL\\)")
endif()
tessera_add_ranks_test(${nccl} 2 COMMAND $<TARGET_FILE:dot> --size 10 --transport nccl)
set_tests_properties(${nccl}_on_2 PROPERTIES PASS_REGULAR_EXPRESSION "${nccl_answer}")

# A mistake of the user is said once, whatever the number of ranks; so is one that only one rank can see.
tessera_add_ranks_test(mistake 3 COMMAND $<TARGET_FILE:dot> --sice 10)
set_tests_properties(mistake_on_3 PROPERTIES PASS_REGULAR_EXPRESSION "unknown option"
  FAIL_REGULAR_EXPRESSION "unknown option.*unknown option")
# A study starts ranks itself: on several it would start each of them several times. Each says so: it does not know of
# the others.
tessera_add_ranks_test(study 2 COMMAND $<TARGET_FILE:tessera> study --preset strong)
set_tests_properties(study_on_2 PROPERTIES PASS_REGULAR_EXPRESSION
  "number [01] of 2 processes.*it starts the ranks of its launches itself.*number [01] of 2 processes.*launches itself")
# The study itself never starts MPI, which Open MPI would refuse here. The prediction of matmul needs a grid of ranks.
list(JOIN launcher " " study_launcher)
add_test(NAME study_of_1_2 COMMAND tessera study --preset strong --apps map,matmul --sizes 1000 --ranks 1,2 --repeats 1
  --variants distributed --out ${CMAKE_CURRENT_BINARY_DIR}/study_of_ranks
  --launcher "env -u OMPI_MCA_pml ${study_launcher} ${MPIEXEC_NUMPROC_FLAG} {ranks}" --run)
set_tests_properties(study_of_1_2 PROPERTIES PROCESSORS 2 TIMEOUT 300 LABELS ranks
  PASS_REGULAR_EXPRESSION "steps=4 done=[0-4] before=[0-4] failed=0 rows_failed=0"
  ENVIRONMENT "OMP_NUM_THREADS=1;OMP_PROC_BIND=false;OMP_WAIT_POLICY=passive;KOKKOS_DISABLE_WARNINGS=1")
set_property(TEST study_of_1_2 APPEND PROPERTY ENVIRONMENT OMPI_MCA_pml=none_such)
# One file of all ranks.
add_test(NAME output_on_1_to_7 COMMAND ${CMAKE_COMMAND} "-DLAUNCHER=${launcher}" -DNUMPROC_FLAG=${MPIEXEC_NUMPROC_FLAG}
  -DTESSERA=$<TARGET_FILE:tessera> -DDIRECTORY=${CMAKE_CURRENT_BINARY_DIR}/output_on_ranks
  -P ${CMAKE_CURRENT_SOURCE_DIR}/ranks/output.cmake)
set_tests_properties(output_on_1_to_7 PROPERTIES PROCESSORS 7 TIMEOUT 900 LABELS ranks
  ENVIRONMENT "OMP_NUM_THREADS=1;OMP_PROC_BIND=false;OMP_WAIT_POLICY=passive;KOKKOS_DISABLE_WARNINGS=1")

# Against a row of one rank.
add_test(NAME baseline_on_1_3 COMMAND ${CMAKE_COMMAND} "-DLAUNCHER=${launcher}" -DNUMPROC_FLAG=${MPIEXEC_NUMPROC_FLAG}
  -DTESSERA=$<TARGET_FILE:tessera> -DDIRECTORY=${CMAKE_CURRENT_BINARY_DIR}/baseline_on_ranks
  -P ${CMAKE_CURRENT_SOURCE_DIR}/ranks/baseline.cmake)
set_tests_properties(baseline_on_1_3 PROPERTIES PROCESSORS 3 TIMEOUT 300 LABELS ranks
  ENVIRONMENT "OMP_NUM_THREADS=1;OMP_PROC_BIND=false;OMP_WAIT_POLICY=passive;KOKKOS_DISABLE_WARNINGS=1")

# SIGTERM, twice, to all ranks.
add_test(NAME terminated_on_2 COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/ranks/terminated.sh
  ${launcher} ${MPIEXEC_NUMPROC_FLAG} 2 $<TARGET_FILE:dot>)
set_tests_properties(terminated_on_2 PROPERTIES PROCESSORS 2 TIMEOUT 300 LABELS ranks
  ENVIRONMENT "OMP_NUM_THREADS=1;OMP_PROC_BIND=false;OMP_WAIT_POLICY=passive;KOKKOS_DISABLE_WARNINGS=1")

# Ranks that differ.
add_test(NAME agreement_on_1_2_3 COMMAND ${CMAKE_COMMAND} "-DLAUNCHER=${launcher}"
  -DNUMPROC_FLAG=${MPIEXEC_NUMPROC_FLAG} -DDOT=$<TARGET_FILE:dot> -DTESSERA=$<TARGET_FILE:tessera>
  -DDIRECTORY=${CMAKE_CURRENT_BINARY_DIR}/agreement_of_ranks
  -P ${CMAKE_CURRENT_SOURCE_DIR}/ranks/agreement.cmake)
set_tests_properties(agreement_on_1_2_3 PROPERTIES PROCESSORS 3 TIMEOUT 600 LABELS ranks
  ENVIRONMENT "OMP_NUM_THREADS=1;OMP_PROC_BIND=false;OMP_WAIT_POLICY=passive;KOKKOS_DISABLE_WARNINGS=1")

# What ctest -L ranks runs.
add_custom_target(all_ranks_tests)
add_dependencies(all_ranks_tests ranks_tests tessera dot)

# Kernels of the variants on ranks have names, too.
if(TARGET command_line_tests)
  tessera_add_ranks_test(regions_and_labels 1 COMMAND $<TARGET_FILE:command_line_tests> --gtest_filter=*profilers*)
  add_dependencies(all_ranks_tests command_line_tests)
endif()
