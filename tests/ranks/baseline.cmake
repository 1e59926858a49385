# --baseline: rows on ranks have the efficiency against the row of one rank that is theirs.
# cmake -D LAUNCHER=... -D NUMPROC_FLAG=... -D TESSERA=... -D DIRECTORY=... -P baseline.cmake

file(REMOVE_RECURSE ${DIRECTORY})
file(MAKE_DIRECTORY ${DIRECTORY})

# run(ranks code ...): what the run printed, in `output`.
function(run ranks expected)
  execute_process(
    COMMAND ${LAUNCHER} ${NUMPROC_FLAG} ${ranks} ${TESSERA} run ${ARGN} --samples 1 --min-time 0 --roof 1e12,1e11
    OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE code)
  if(NOT code EQUAL expected)
    message(FATAL_ERROR "${ARGN} on ${ranks} ranks ended with ${code}:\n${output}${errors}")
  endif()
  set(output "${output}${errors}" PARENT_SCOPE)
endfunction()
function(expect_word text)
  string(FIND "${output}" "${text}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "no `${text}` in:\n${output}")
  endif()
endfunction()

# get(result file path...): a value of a report; NOTFOUND if it has none.
function(get result file)
  file(READ ${DIRECTORY}/${file} document)
  string(JSON value ERROR_VARIABLE problem GET "${document}" ${ARGN})
  set(${result} "${value}" PARENT_SCOPE)
endfunction()
function(expect file value)
  get(found ${file} ${ARGN})
  if(NOT found STREQUAL value)
    message(FATAL_ERROR "${file}: ${ARGN} is `${found}`, not `${value}`")
  endif()
endfunction()

run(1 0 dot --size 1024,3072 --variant distributed --json ${DIRECTORY}/one.json)
get(small one.json rows 0 seconds)
get(large one.json rows 1 seconds)

run(3 0 dot --size 3072 --variant distributed --baseline ${DIRECTORY}/one.json --json ${DIRECTORY}/strong.json)
expect_word("strong scaling, one rank takes")
expect(strong.json strong rows 0 ranks scaling kind)
expect(strong.json distributed rows 0 ranks scaling baseline_variant)
expect(strong.json 3072 rows 0 ranks scaling baseline_size)
expect(strong.json "${large}" rows 0 ranks scaling baseline_seconds)

run(3 0 dot --size-per-rank 1024 --variant distributed --baseline ${DIRECTORY}/one.json --json ${DIRECTORY}/weak.json)
expect_word("weak scaling, one rank takes")
expect(weak.json weak rows 0 ranks scaling kind)
expect(weak.json 1024 rows 0 ranks scaling baseline_size)
expect(weak.json "${small}" rows 0 ranks scaling baseline_seconds)

# Without the variant on one rank: the fastest of the others.
run(1 0 dot --size 3072 --variant range_reduce --json ${DIRECTORY}/other.json)
run(3 0 dot --size 3072 --variant distributed --baseline ${DIRECTORY}/other.json --json ${DIRECTORY}/strong.json)
expect(strong.json range_reduce rows 0 ranks scaling baseline_variant)

# One size has a row, the other has none: said, and no figure. None has: a mistake, as is a report of several ranks.
run(3 0 dot --size 3072,5000 --variant distributed --baseline ${DIRECTORY}/one.json --json ${DIRECTORY}/strong.json)
expect_word("no efficiency of dot in float, size 5000")
expect(strong.json 3072 rows 0 ranks scaling baseline_size)
get(none strong.json rows 1 ranks scaling)
if(none)
  message(FATAL_ERROR "an efficiency of 5000 elements: ${none}")
endif()

run(3 2 dot --size-per-rank 3072000 --variant distributed --baseline ${DIRECTORY}/one.json)
expect_word("it has no matching row: dot in float, size 3072000 on")
run(2 2 dot --size 3072 --variant distributed --baseline ${DIRECTORY}/strong.json)
expect_word("its run was on 3 ranks")
run(3 2 dot --size 3072 --variant distributed --baseline ${DIRECTORY}/one.json --json ${DIRECTORY}/one.json)
expect_word("conflicting options --baseline and --json")
