# Installs a built Tessera, builds the consumer project beside this script against it, runs it, and sees wrong variants
# fail to compile with Tessera's own messages.
#
#   cmake -D BUILD_DIR=<build tree of Tessera> -P tests/install/run.cmake
#
# Everything goes to BUILD_DIR/install_test. Compiler, flags, build type and prefix paths are those of the build tree.

cmake_minimum_required(VERSION 3.22)

if(NOT BUILD_DIR OR NOT EXISTS ${BUILD_DIR}/CMakeCache.txt)
  message(FATAL_ERROR "BUILD_DIR is '${BUILD_DIR}' (no build tree); say cmake -D BUILD_DIR=... -P run.cmake")
endif()
get_filename_component(BUILD_DIR ${BUILD_DIR} ABSOLUTE)
set(work ${BUILD_DIR}/install_test)
set(consumer ${CMAKE_CURRENT_LIST_DIR})

load_cache(${BUILD_DIR} READ_WITH_PREFIX BUILD_ CMAKE_GENERATOR CMAKE_MAKE_PROGRAM CMAKE_CXX_COMPILER CMAKE_C_COMPILER
           CMAKE_CXX_COMPILER_LAUNCHER CMAKE_BUILD_TYPE CMAKE_CXX_FLAGS CMAKE_PREFIX_PATH)

# run(name command...): stops with the output if the command fails; leaves the output in `output`.
function(run name)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${name} failed (${code}): ${command}\n${output}")
  endif()
  message(STATUS "${name}: ok")
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect text)
  string(FIND "${output}" "${text}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "expected '${text}' in\n${output}")
  endif()
endfunction()

# --- Install, and move the tree: nothing in it may name the prefix that it was installed to ---------------------------
file(REMOVE_RECURSE ${work})
run("install" ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${work}/installed)
file(RENAME ${work}/installed ${work}/moved)
# Nothing else goes to bin: zip, dot and others are names of other people's programs.
file(GLOB programs RELATIVE ${work}/moved/bin ${work}/moved/bin/*)
if(NOT programs STREQUAL "tessera;tessera-plot")
  message(FATAL_ERROR "bin holds '${programs}', and should hold tessera and tessera-plot")
endif()
run("installed program" ${work}/moved/bin/tessera list)
file(GLOB apps RELATIVE ${work}/moved/libexec/tessera ${work}/moved/libexec/tessera/*)
file(GLOB inputs LIST_DIRECTORIES ON RELATIVE ${work}/moved/share/tessera/inputs ${work}/moved/share/tessera/inputs/*)
if(NOT apps OR NOT apps STREQUAL inputs)
  message(FATAL_ERROR "programs in libexec/tessera (${apps}) and inputs in share/tessera/inputs (${inputs}) are not of "
                      "the same mini-apps")
endif()
list(GET apps 0 app)
run("a mini-app's own program" ${work}/moved/libexec/tessera/${app} --list)
set(ENV{OMP_PROC_BIND} false)
set(ENV{OMP_WAIT_POLICY} passive)  # other tests run beside this one
run("installed inputs" ${work}/moved/bin/tessera run ${app} --inputs ${work}/moved/share/tessera/inputs --dtype all
    --samples 1 --min-time 0)
expect(" failed=0 ")

# --- The consumer -----------------------------------------------------------------------------------------------------
set(options "")
foreach(name CMAKE_MAKE_PROGRAM CMAKE_CXX_COMPILER CMAKE_C_COMPILER CMAKE_CXX_COMPILER_LAUNCHER CMAKE_BUILD_TYPE
        CMAKE_CXX_FLAGS)
  if(BUILD_${name})
    list(APPEND options -D "${name}=${BUILD_${name}}")
  endif()
endforeach()
set(prefixes ${work}/moved ${BUILD_CMAKE_PREFIX_PATH})
list(JOIN prefixes "\\;" prefixes)
run("configure the consumer" ${CMAKE_COMMAND} -S ${consumer} -B ${work}/consumer -G ${BUILD_CMAKE_GENERATOR} ${options}
    -D "CMAKE_PREFIX_PATH=${prefixes}")
run("build the consumer" ${CMAKE_COMMAND} --build ${work}/consumer)

run("collectives in an own kernel" ${work}/consumer/own_kernel)
expect("own_kernel: ok")
file(GLOB kernels ${consumer}/kernels/*.cpp)
foreach(file IN LISTS kernels)
  get_filename_component(name ${file} NAME_WE)
  run("kernel ${name} on an own View" ${work}/consumer/kernel_${name})
  expect("kernel: ok")
endforeach()
file(GLOB pages ${work}/consumer/page_*.cpp)
foreach(page IN LISTS pages)
  get_filename_component(name ${page} NAME_WE)
  run("the program of a page, ${name}" ${work}/consumer/${name})
endforeach()
# Its losses are those of PyTorch, up to roundings: a lost gradient differs by 0.01 and more (docs/walkthroughs).
set(example ${consumer}/../../docs/walkthroughs/character_model)
if(EXISTS ${example})
  run("a character model" ${work}/consumer/character_model/character_model --steps 20 --d-model 16 --heads 2
      --sequence 32 --batch 4 --dtype double --expect ${example}/pytorch_losses.txt --within 1e-10
      ${consumer}/../../LICENSE)
  # Steps so long that probabilities underflow.
  run("a character model that diverges" ${work}/consumer/character_model/character_model --steps 4 --d-model 16
      --heads 2 --sequence 32 --batch 4 --learning-rate 100 ${consumer}/../../LICENSE)
  if(NOT output MATCHES "    3 [0-9.]+\n" OR output MATCHES "inf|nan")
    message(FATAL_ERROR "a loss is not finite:\n${output}")
  endif()
  execute_process(COMMAND truncate --size 2G ${work}/long.txt)  # takes no space
  execute_process(COMMAND ${work}/consumer/character_model/character_model ${work}/long.txt RESULT_VARIABLE code
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  file(REMOVE ${work}/long.txt)
  if(NOT code EQUAL 2)
    message(FATAL_ERROR "a text of 2 GiB was not refused (${code}):\n${output}")
  endif()
  expect("the text has 2 GiB or more")
endif()
run("a mini-app of one's own" ${work}/consumer/scale --size 1,1000,2^16 --dtype all --samples 10 --min-time 0
    --json ${work}/scale.json)
expect(" failed=0 skipped=0")
if(output MATCHES "TESSERA rows=0 ")
  message(FATAL_ERROR "no row ran:\n${output}")
endif()
file(READ ${work}/scale.json report)
string(JSON schema GET "${report}" schema)
message(STATUS "its report: ${schema}")
find_program(python python3)
if(python)
  run("tessera-plot" ${python} ${work}/moved/bin/tessera-plot --help)
  execute_process(COMMAND ${python} -c "import matplotlib" RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
  if(code EQUAL 0)
    run("pictures of its report" ${python} ${work}/moved/bin/tessera-plot ${work}/scale.json -o ${work}/pictures)
  endif()
endif()

# --- What must not compile --------------------------------------------------------------------------------------------
execute_process(COMMAND ${CMAKE_COMMAND} --build ${work}/consumer --target wrong_variants RESULT_VARIABLE code
                OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(code EQUAL 0)
  message(FATAL_ERROR "variants with wrong signatures compiled")
endif()
expect("Tessera: a variant needs `static constexpr VariantInfo info{.name = ..., ...}`")
expect("Tessera: the variant's Plan needs a constructor Plan(Exec const&, InputOn<...> const&)")
expect("Tessera: the variant's Plan needs void operator()(Exec const&, InputOn<...> const&, OutputOn<...> const&)")
expect("Tessera: the variant's function needs void run(Exec const&, views of the input, views of the output)")
expect("Tessera: a variant needs either a class template Plan<Exec, T> or, if it has no state, a static function")
expect("Tessera: a Problem with `rows_apart` or `reach` also needs input_split and output_split")
expect("Apart")
expect("Reaching")
expect("Empty")  # both are named: neither has another mistake
expect("Twofold")
message(STATUS "wrong variants and Problems do not compile, with the right messages: ok")

execute_process(COMMAND ${CMAKE_COMMAND} --build ${work}/consumer --target wrong_views RESULT_VARIABLE code
                OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(code EQUAL 0)
  message(FATAL_ERROR "Views that a kernel cannot read or write compiled")
endif()
expect("Tessera: this kernel reads matrices row by row: give it Views of Kokkos::LayoutRight")
if(NOT output MATCHES "no match for call to|no matching function for call to")  # with results in const elements
  message(FATAL_ERROR "results in a View of const elements compiled:\n${output}")
endif()
message(STATUS "wrong Views do not compile: ok")
