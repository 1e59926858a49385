# Ranks that were asked for different things, or found different things, end with one message that says so, and with 2;
# and ranks whose launcher's variables are beside another one's.
# cmake -D LAUNCHER=... -D NUMPROC_FLAG=... -D DOT=... -D TESSERA=... -D DIRECTORY=... -P agreement.cmake

file(REMOVE_RECURSE ${DIRECTORY})
file(MAKE_DIRECTORY ${DIRECTORY})
set(odd sh ${CMAKE_CURRENT_LIST_DIR}/odd.sh)
set(quick --roof 1e9,1e9 --level ranks --samples 1 --min-time 0)

function(check code expected output)  # and texts that must, or behind NOT must not, be in the output
  if(NOT code EQUAL expected)
    message(SEND_ERROR "ended with ${code}, not ${expected}:\n${output}")
  endif()
  set(wanted TRUE)
  foreach(text IN LISTS ARGN)
    if(text STREQUAL "NOT")
      set(wanted FALSE)
      continue()
    endif()
    string(FIND "${output}" "${text}" at)
    if((at EQUAL -1 AND wanted) OR (NOT at EQUAL -1 AND NOT wanted))
      message(SEND_ERROR "`${text}` wanted: ${wanted}, in:\n${output}")
    endif()
    set(wanted TRUE)
  endforeach()
endfunction()

# ranks(count command... EXPECT code texts...), with what odd.sh reads from the environment
function(ranks count)
  cmake_parse_arguments(PARSE_ARGV 1 call "" "" "COMMAND;EXPECT")
  execute_process(COMMAND ${LAUNCHER} ${NUMPROC_FLAG} ${count} ${odd} ${call_COMMAND}
    OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE code TIMEOUT 120)
  list(POP_FRONT call_EXPECT expected)
  check("${code}" ${expected} "${output}" ${call_EXPECT})
  foreach(variable ODD_RANK ODD_ARGUMENTS ODD_VARIABLES EVEN_ARGUMENTS)
    set(ENV{${variable}} "")
  endforeach()
endfunction()

# The command line: one rank only.
macro(odd_arguments arguments)
  set(ENV{ODD_RANK} 1)
  set(ENV{ODD_ARGUMENTS} "${arguments}")
  ranks(3 COMMAND ${DOT} --size 5 ${quick} EXPECT 2 ${ARGN})
endmacro()
odd_arguments("--help" "do not agree on what to do (dot --help on rank 1; dot on ranks 0 and 2)" NOT "usage:")
odd_arguments("--list" "do not agree on what to do (dot --list on rank 1; dot on ranks 0 and 2)")
odd_arguments("--warmup 3" "do not agree on --warmup (3 on rank 1; none on ranks 0 and 2)" NOT "TESSERA rows")
odd_arguments("--output ${DIRECTORY}/x.h5"
  "do not agree on --output (${DIRECTORY}/x.h5 on rank 1; none on ranks 0 and 2)")
odd_arguments("--json ${DIRECTORY}/x.json" "do not agree on --json (a path on rank 1; none on ranks 0 and 2)")
odd_arguments("--sampels 3" "rank 1: unknown option `--sampels` (not an option of dot); did you mean `--samples`?")
set(ENV{ODD_RANK} 0)
set(ENV{ODD_ARGUMENTS} 2^10)
set(ENV{EVEN_ARGUMENTS} 2^11)
ranks(2 COMMAND ${DOT} ${quick} --size EXPECT 2 "do not agree on --size (2^10 on rank 0; 2^11 on rank 1)")
set(ENV{ODD_RANK} 1)
set(ENV{ODD_ARGUMENTS} "list")
set(ENV{EVEN_ARGUMENTS} "run dot --size 5")
ranks(2 COMMAND ${TESSERA} EXPECT 2 "do not agree on what to do (tessera run dot on rank 0; tessera list on rank 1)")
# What all are asked for is said once.
ranks(2 COMMAND ${TESSERA} list EXPECT 0 "dot")
ranks(2 COMMAND ${TESSERA} lisst EXPECT 2 "unknown command")

# The environment.
set(ENV{ODD_RANK} 1)
set(ENV{ODD_VARIABLES} "TESSERA_MPI_GPU_AWARE=1")
ranks(2 COMMAND ${DOT} --size 5 ${quick} EXPECT 2 "do not agree on the transport (staged on rank 0; device on rank 1)")

# Files: small ones, and ones that are not kept in memory; each rank has a folder, as on nodes with a disk of their own.
foreach(file "old 1000 1" "new 1000 2" "old_large 300000 1" "new_large 300000 2")
  separate_arguments(words UNIX_COMMAND "${file}")
  list(GET words 0 name)
  list(GET words 1 size)
  list(GET words 2 seed)
  execute_process(COMMAND ${DOT} --size ${size} --seed ${seed} --variant range_reduce --roof 1e9,1e9 --samples 1
    --min-time 0 --output ${DIRECTORY}/${name}.h5
    OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE code)
  check("${code}" 0 "${output}")
endforeach()
macro(copies even odd)
  file(COPY_FILE ${DIRECTORY}/${even}.h5 ${DIRECTORY}/even/dot/case.h5)
  file(COPY_FILE ${DIRECTORY}/${odd}.h5 ${DIRECTORY}/odd/dot/case.h5)
  set(ENV{ODD_RANK} 1)
  set(ENV{ODD_ARGUMENTS} ${DIRECTORY}/odd/dot/case.h5)
  set(ENV{EVEN_ARGUMENTS} ${DIRECTORY}/even/dot/case.h5)
  ranks(3 COMMAND ${DOT} ${quick} --input EXPECT ${ARGN})
endmacro()
file(MAKE_DIRECTORY ${DIRECTORY}/even/dot ${DIRECTORY}/odd/dot)
copies(old new 2 "do not agree on the contents of case.h5 in case 1 (" "on rank 1; " "on ranks 0 and 2)"
  NOT "TESSERA rows")
copies(old_large new_large 2 "do not agree on the contents of case.h5 in case 1 (" "on rank 1; " "on ranks 0 and 2)")
# One byte differs, far from both ends.
execute_process(
  COMMAND sh -c "cp old_large.h5 one_byte.h5 && printf '\\001' | dd of=one_byte.h5 bs=1 seek=777777 conv=notrunc"
  WORKING_DIRECTORY ${DIRECTORY} COMMAND_ERROR_IS_FATAL ANY ERROR_QUIET)
copies(old_large one_byte 2 "do not agree on the contents of case.h5 in case 1 (" NOT "TESSERA rows")
copies(old_large old_large 0 "passed=1 failed=0")
copies(old old_large 2 "do not agree on the contents of case.h5 in case 1 (" NOT "TESSERA rows")
copies(old old 0 "passed=1 failed=0")
set(ENV{ODD_RANK} 2)
set(ENV{ODD_ARGUMENTS} ${DIRECTORY}/new.h5)
ranks(3 COMMAND ${DOT} ${quick} --input ${DIRECTORY}/old.h5
  EXPECT 2 "do not agree on --input (2 files on rank 2; 1 file on ranks 0 and 1)")
foreach(variable HDF5_VDS_PREFIX HDF5_EXT_PREFIX HDF5_EXTFILE_PREFIX)
  set(ENV{ODD_RANK} 1)
  set(ENV{ODD_VARIABLES} "${variable}=/elsewhere")
  ranks(2 COMMAND ${DOT} ${quick} --input ${DIRECTORY}/old.h5
    EXPECT 2 "do not agree on ${variable} (none on rank 0; /elsewhere on rank 1)" NOT "TESSERA rows")
endforeach()
file(COPY_FILE ${DIRECTORY}/new.h5 ${DIRECTORY}/odd/dot/new.h5)
set(ENV{ODD_RANK} 0)
set(ENV{ODD_ARGUMENTS} ${DIRECTORY}/odd)
set(ENV{EVEN_ARGUMENTS} ${DIRECTORY}/even)
ranks(2 COMMAND ${DOT} ${quick} --inputs
  EXPECT 2 "do not agree on the input in case 2 (new.h5 of dot in float on rank 0; none on rank 1)")

# The nearest launcher counts. Whoever ends says why.
function(alone expected variables)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env ${variables} ${ARGN}
    OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE code TIMEOUT 120)
  check("${code}" ${expected} "${output}" ${texts})
endfunction()
set(slurm SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=2)
set(one ${LAUNCHER} ${NUMPROC_FLAG} 1)
set(run ${DOT} --size 5 ${quick})
set(texts "passed=1 failed=0")
alone(0 "${slurm}" ${one} ${run})
alone(0 "FLUX_JOB_SIZE=8;FLUX_TASK_RANK=3" ${one} ${run})
alone(0 "PMI_SIZE=4;PMI_RANK=2;OMPI_COMM_WORLD_SIZE=4;OMPI_COMM_WORLD_RANK=2;${slurm}"
  ${one} sh -c "exec \"$@\"" sh ${run})
set(texts "started as number 2 of 4 processes (SLURM_STEP_NUM_TASKS), but " "; start one process"
    "or unset SLURM_STEP_NUM_TASKS")
alone(2 "${slurm}" ${run})
string(CONCAT texts "number 2 of 4 processes (SLURM_STEP_NUM_TASKS), but it starts the ranks of its launches itself; "
              "start it as one process")
alone(2 "${slurm}" ${TESSERA} study --preset strong)
set(texts "started as number 3 of 8 processes (FLUX_JOB_SIZE), but ")
alone(2 "FLUX_JOB_SIZE=8;FLUX_TASK_RANK=3" ${run})
set(texts "usage: dot")
alone(0 "${slurm}" ${DOT} --help)
set(texts "unknown option `--sice`")
alone(2 "${slurm}" ${DOT} --sice 5)

# A signal that one rank gets ends all of them, as it would end one, and all say so.
function(signal name rank code)
  set(directory ${DIRECTORY}/${name})
  file(MAKE_DIRECTORY ${directory})
  execute_process(
    COMMAND ${LAUNCHER} ${NUMPROC_FLAG} 3 sh ${CMAKE_CURRENT_LIST_DIR}/signal.sh ${name} ${rank} ${directory}
            ${DOT} --size 1000,1001,1002,1003,1004,1005,1006,1007,1008,1009 --roof 1e9,1e9 --variant distributed
            --samples 10 --min-time 0.5
    OUTPUT_VARIABLE output ERROR_VARIABLE output TIMEOUT 120)
  foreach(of 0 1 2)
    file(READ ${directory}/code-${of} ended)
    string(STRIP "${ended}" ended)
    check("${ended}" ${code} "rank ${of}:\n${output}" "interrupted: these are the rows that were done" "passed="
      NOT "rows=10")
  endforeach()
  file(READ ${directory}/report.json report)
  string(JSON finished GET "${report}" system finished)
  string(JSON finished_is TYPE "${report}" system finished)
  if(NOT finished_is STREQUAL "NULL")
    message(SEND_ERROR "${name} to rank ${rank}: the report says that the run finished: ${finished}")
  endif()
endfunction()
signal(TERM 1 143)
signal(XCPU 0 152)
signal(HUP 2 129)
