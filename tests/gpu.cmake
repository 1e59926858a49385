# Tests that a GPU must pass: `ctest -L gpu` in a build with CUDA or HIP (`./run gpu` makes one), and `ctest -L large`
# (`./run gpu --large`). Every test's name begins with gpu_. Tests of the host are not repeated here.

if(Kokkos_ENABLE_CUDA)
  set(space cuda)
else()
  set(space hip)
endif()

# tessera_add_gpu_test(name COMMAND ... [ENVIRONMENT ...] [TIMEOUT seconds] [LABEL label])
function(tessera_add_gpu_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "" "TIMEOUT;LABEL" "COMMAND;ENVIRONMENT")
  if(NOT test_LABEL)
    set(test_LABEL gpu)
  endif()
  if(NOT test_TIMEOUT)
    set(test_TIMEOUT 600)
  endif()
  add_test(NAME gpu_${name} COMMAND ${test_COMMAND})
  # Tests run side by side: few threads each, that sleep while they wait.
  set_tests_properties(gpu_${name} PROPERTIES LABELS ${test_LABEL} TIMEOUT ${test_TIMEOUT} ENVIRONMENT
    "TESSERA_TEST_SPACE=${space};OMP_NUM_THREADS=2;OMP_PROC_BIND=false;OMP_WAIT_POLICY=passive;${test_ENVIRONMENT}")
endfunction()

# Each layer of the collectives: each look-back is launched 200 times. In parts, because that takes as long as the rest.
foreach(part RANGE 3)
  tessera_add_gpu_test(collectives_${part} COMMAND collective_tests
    ENVIRONMENT GTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX=${part})
endforeach()
tessera_add_gpu_test(kernels COMMAND kernel_tests)

tessera_add_gpu_test(memory COMMAND memory_tests)

# Every row of every mini-app, its variants that are wrong on purpose, and many runs of what may depend on the order in
# which tiles arrive.
foreach(program IN LISTS app_test_programs)
  string(REPLACE app_tests rows name ${program})
  tessera_add_gpu_test(${name} COMMAND ${program} --gtest_filter=-*RepeatedRuns*:*LateMistakes*:PlantedMistakes*
    TIMEOUT 1800)
  string(REPLACE app_tests repeats name ${program})
  tessera_add_gpu_test(${name} COMMAND ${program} --gtest_filter=*RepeatedRuns* ENVIRONMENT TESSERA_TEST_REPEATS=100)
  # Mistakes that come late, and those inside kernels, at the size of a GPU's runs: few at a time, for the memory.
  string(REPLACE app_tests late name ${program})
  tessera_add_gpu_test(${name} COMMAND ${program} --gtest_filter=*LateMistakes*:PlantedMistakes*
    ENVIRONMENT TESSERA_TEST_LATE_SIZE=268435456)
  set_tests_properties(gpu_${name} PROPERTIES PROCESSORS 4)
endforeach()

# The same behind 2^31 elements, with mini-apps of each family of kernels (large_cases() in
# apps/late_mistakes_test.cpp). Two at a time need up to 100 GB of host memory and 70 GB of the GPU's, so that they have
# a label of their own; the largest ones do not run beside each other.
set(large_apps map prefix_sum dot axis_sum histogram partition sort transpose broadcast_add pooling embedding softmax
    layernorm matmul attention)
foreach(app IN LISTS apps)
  if(NOT app IN_LIST large_apps)
    continue()
  endif()
  set(filter *LateMistakes*)
  if(app STREQUAL "sort")  # and inside its kernels: a skipped digit, counts of the launch before
    string(APPEND filter ":PlantedMistakes.sort_onesweep_*")
  endif()
  tessera_add_gpu_test(large_${app} COMMAND app_tests_${app} --gtest_filter=${filter} LABEL large
    TIMEOUT 1800 ENVIRONMENT TESSERA_TEST_LATE_SIZE=2147483653 TESSERA_TEST_LATE_LARGE=1)
  set_tests_properties(gpu_large_${app} PROPERTIES PROCESSORS 8)
  if(app MATCHES "^(softmax|layernorm|matmul|attention|sort)$")
    set_tests_properties(gpu_large_${app} PROPERTIES RESOURCE_LOCK large_host_memory COST 100)
  endif()
endforeach()

# One measurement of the roofs for all that follow.
set(quickly --space ${space} --samples 1 --min-time 0 --warmup 0)
if(TARGET roofline)
  set(machine_file ${PROJECT_BINARY_DIR}/gpu_machine.json)
  tessera_add_gpu_test(machine COMMAND roofline ${quickly} --save-machine ${machine_file})
  set_tests_properties(gpu_machine PROPERTIES FIXTURES_SETUP gpu_machine)
  list(APPEND quickly --machine ${machine_file})
endif()

# What joins parts of an array must join neighbours, which sums of everything do not show, and segments do. rows_* tries
# them on 70001 elements: some rows have more levels above 2^21.
foreach(app IN ITEMS prefix_sum partition)
  if(TARGET ${app})
    foreach(segment 100 1048583)
      tessera_add_gpu_test(segments_of_${segment}_${app}
        COMMAND ${app} --size 2^24 --segment ${segment} --dtype all ${quickly})
      set_tests_properties(gpu_segments_of_${segment}_${app} PROPERTIES FIXTURES_REQUIRED gpu_machine)
    endforeach()
  endif()
endforeach()

# Every row on every input that ships: right, and none weak.
tessera_add_gpu_test(inputs COMMAND tessera run all --inputs ${PROJECT_SOURCE_DIR}/inputs --strict ${quickly})
set_tests_properties(gpu_inputs PROPERTIES FIXTURES_REQUIRED gpu_machine)

# On sizes that fill no tile: accesses out of bounds, races in scratch memory, barriers that some threads leave out, and
# reads of global memory that nothing has written.
find_program(TESSERA_COMPUTE_SANITIZER compute-sanitizer
  HINTS ${CUDAToolkit_BIN_DIR} ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
if(Kokkos_ENABLE_CUDA AND TESSERA_COMPUTE_SANITIZER)
  set(sanitizer_tools memcheck racecheck synccheck initcheck)
  foreach(app IN LISTS apps)
    foreach(tool IN LISTS sanitizer_tools)
      tessera_add_gpu_test(${tool}_${app}
        COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/sanitize.sh ${TESSERA_COMPUTE_SANITIZER} ${tool} $<TARGET_FILE:${app}>
                --size 5003 ${quickly}
        TIMEOUT 1200)
      # One at a time: the sanitizer needs memory of its own, and one has crashed among many. The chain takes
      # some 10 minutes, so it begins early.
      set_tests_properties(gpu_${tool}_${app} PROPERTIES FIXTURES_REQUIRED gpu_machine RESOURCE_LOCK gpu_sanitizer
        COST 200)
    endforeach()
  endforeach()
  # The same tools on programs that are wrong on purpose: each finds its mistake.
  list(JOIN sanitizer_tools " " names)
  file(WRITE ${bugs_folder}/tools "tools result ${names}\ncompute-sanitizer ${TESSERA_COMPUTE_SANITIZER}\n")
  foreach(program IN LISTS all_bugs)
    tessera_add_gpu_test(bugs_${program} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bugs/find.sh ${bugs_folder} ${program})
    set_tests_properties(gpu_bugs_${program} PROPERTIES RESOURCE_LOCK gpu_sanitizer COST 200)
  endforeach()
elseif(Kokkos_ENABLE_CUDA)
  message(STATUS "compute-sanitizer was not found: no tests gpu_memcheck_*, gpu_racecheck_*, gpu_synccheck_*,"
    " gpu_initcheck_*, gpu_bugs_*")
endif()

# What no run can be sure to miss stands in the machine code: fences between a team's result and the word that announces
# it, and, of warpgroups, what lets the matrix unit see copies and factors.
# (The order that a processor happens to keep hides their loss.)
find_program(TESSERA_CUOBJDUMP cuobjdump
  HINTS ${CUDAToolkit_BIN_DIR} ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
function(tessera_add_machine_code_test app kernels)
  if(TARGET ${app} AND Kokkos_ENABLE_CUDA AND TESSERA_CUOBJDUMP)
    list(JOIN ARGN "|" instructions)
    string(MAKE_C_IDENTIFIER ${kernels} name)
    tessera_add_gpu_test(machine_code_${app}_${name} COMMAND ${CMAKE_COMMAND} -D CUOBJDUMP=${TESSERA_CUOBJDUMP}
      -D PROGRAM=$<TARGET_FILE:${app}> -D KERNELS=${kernels} -D "INSTRUCTIONS=${instructions}"
      -P ${CMAKE_CURRENT_SOURCE_DIR}/machine_code.cmake)
  endif()
endfunction()
if(TESSERA_KOKKOS_ARCH MATCHES "HOPPER90")
  # Not AskForWarpgroups, a reduction that runs no kernel of its own.
  tessera_add_machine_code_test(matmul ParallelFor.*Warpgroup
    WARPGROUP[.]ARRIVE WARPGROUP[.]DEPBAR FENCE[.]VIEW[.]ASYNC)
  # Both halves of a cluster's barrier, and the election of a lane.
  tessera_add_machine_code_test(dot run_in_cluster.*ClusterSumKernel CGABAR_ARV CGABAR_WAIT ELECT)
  tessera_add_machine_code_test(histogram run_in_cluster.*ClusterHistogramKernel CGABAR_ARV CGABAR_WAIT)
  # mbarrier: both arrivals and both waits of the source. A barrier of another kind gives the same results.
  tessera_add_machine_code_test(stencil_chain ParallelFor.*SplitBarrier
    SYNCS[.]ARRIVE SYNCS[.]ARRIVE SYNCS[.]PHASECHK SYNCS[.]PHASECHK)
endif()
# Fences of the device, not those of a team (CTA), which barriers may have: one before a team announces its result,
# and one before the last team reads all results. A kernel that reads them by an atomic operation alone needs only the
# first.
set(fence "MEMBAR[.][A-Z]+[.]GPU")
tessera_add_machine_code_test(dot SinglePassSumKernel ${fence} ${fence})
tessera_add_machine_code_test(histogram ScratchHistogramKernel ${fence} ${fence})
tessera_add_machine_code_test(histogram LaneHistogramKernel ${fence} ${fence})
tessera_add_machine_code_test(partition CountLefts ${fence})
tessera_add_machine_code_test(softmax HeldColumn ${fence} ${fence})
tessera_add_machine_code_test(sort CountAllKernel ${fence} ${fence})
tessera_add_machine_code_test(top_k FindThresholdKernel ${fence} ${fence})
tessera_add_machine_code_test(axis_sum TeamRows.*BySeveralTeams ${fence} ${fence})

# Every row once at the size of a GPU's runs, and each family of kernels behind 2^31 elements.
foreach(app IN LISTS apps)
  if(TARGET ${app})
    tessera_add_gpu_test(full_${app} COMMAND ${app} --size 2^28 ${quickly} TIMEOUT 1200)
    set_tests_properties(gpu_full_${app} PROPERTIES FIXTURES_REQUIRED gpu_machine PROCESSORS 8 RESOURCE_LOCK gpu_memory)
  endif()
endforeach()
# The longest sequence and the widest rows of transformer_block.
if(TARGET transformer_block)
  tessera_add_gpu_test(long_transformer_block COMMAND transformer_block --batch 1 --tokens 16384 --d-model 256
    --verify sample:20 ${quickly} TIMEOUT 1200)
  tessera_add_gpu_test(wide_transformer_block COMMAND transformer_block --batch 1 --tokens 64 --d-model 4096 --heads 32
    --verify sample:20 ${quickly} TIMEOUT 1200)
  set_tests_properties(gpu_long_transformer_block gpu_wide_transformer_block PROPERTIES FIXTURES_REQUIRED gpu_machine
    PROCESSORS 8 ENVIRONMENT_MODIFICATION OMP_NUM_THREADS=set:8)
endif()
foreach(app IN ITEMS map prefix_sum dot histogram partition pooling conv1d butterfly)
  if(TARGET ${app})
    tessera_add_gpu_test(beyond_${app} COMMAND ${app} --size 2147483653 ${quickly} TIMEOUT 1200)
    set_tests_properties(gpu_beyond_${app} PROPERTIES FIXTURES_REQUIRED gpu_machine PROCESSORS 16
      RESOURCE_LOCK gpu_memory)
  endif()
endforeach()
