# --output on several ranks is the file of one rank, byte for byte, and an input again.
# cmake -D LAUNCHER=... -D NUMPROC_FLAG=... -D TESSERA=... -D DIRECTORY=... -P output.cmake

file(REMOVE_RECURSE ${DIRECTORY})
file(MAKE_DIRECTORY ${DIRECTORY})

function(run ranks)
  set(variant "")
  if(NOT "--variant" IN_LIST ARGN)
    set(variant --variant distributed)
  endif()
  execute_process(
    COMMAND ${LAUNCHER} ${NUMPROC_FLAG} ${ranks} ${TESSERA} run ${ARGN} ${variant} --samples 1 --min-time 0
            --roof 1e12,1e11
    OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN} on ${ranks} ranks ended with ${code}:\n${output}")
  endif()
endfunction()

# Blocks, rows, a grid of ranks, fields that all ranks have; the first elements alone; fewer elements than ranks; none.
# A tolerance verifies `normal` and `call`, but their bits are the same on any number of ranks, too.
foreach(case "prefix_sum --size 100003" "prefix_sum --size 5" "prefix_sum --size 0"
    "partition --size 1001 --variant distributed_compact" "partition --size 3 --variant distributed_compact"
    "partition --size 1001 --pivot -1e9 --variant distributed_compact" "transpose --size 70000 --rows 7"
    "matmul --size 70001" "histogram --size 1001" "random --size 100003 --distribution normal"
    "monte_carlo --size 100003 --quantity call" "embedding --size 3000 --width 7 --vocabulary 50 --table rows"
    "embedding --size 30 --width 7 --vocabulary 3 --table rows")
  separate_arguments(words UNIX_COMMAND "${case}")
  foreach(ranks 1 3 7)
    run(${ranks} ${words} --output ${DIRECTORY}/${ranks}.h5)
    execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${DIRECTORY}/1.h5 ${DIRECTORY}/${ranks}.h5
      RESULT_VARIABLE differs)
    if(differs)
      message(FATAL_ERROR "${case}: the file of ${ranks} ranks is not that of one")
    endif()
  endforeach()
endforeach()
run(3 embedding --table rows --input ${DIRECTORY}/7.h5)

# Files too large to be kept in memory: read part by part, of blocks and of a grid, and the same again.
foreach(case "prefix_sum --size 700001" "matmul --size 700001" "transpose --size 700001"
    "embedding --size 700001 --table rows")
  separate_arguments(words UNIX_COMMAND "${case}")
  list(GET words 0 app)
  run(1 ${words} --output ${DIRECTORY}/whole.h5)
  foreach(ranks 2 3 7)
    run(${ranks} ${app} --input ${DIRECTORY}/whole.h5 --output ${DIRECTORY}/${ranks}.h5)
    execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${DIRECTORY}/2.h5 ${DIRECTORY}/${ranks}.h5
      RESULT_VARIABLE differs)
    if(differs)
      message(FATAL_ERROR "${case}, read and written: the file of ${ranks} ranks is not that of two")
    endif()
  endforeach()
endforeach()

file(GLOB left LIST_DIRECTORIES false ${DIRECTORY}/*.partial* ${DIRECTORY}/*.lock)
if(left)
  message(FATAL_ERROR "left behind: ${left}")
endif()
