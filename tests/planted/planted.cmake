# Copies of kernels with mistakes inside, and of the variants that use them. tests/planted/<name>.txt names a header,
# what changes in it, and the variants whose rows must then fail:
#
#   header kernels/scan.hpp         in common/include/tessera, or apps/<app>/<header or variant>
#   also kernels/x.hpp              a header that uses the first one: copied without changes
#   variant partition/look_back_reversed 3 4 right=reversed     mistakes 3 and 4, with this parameter
#   ----
#   text that is in the header once
#   --->
#   text that replaces it
#   <---
#
# Lines between replacements are comments. Two words after a variant are not parameters: `size=N` sets --size, and
# `on=hosts` or `on=gpus` selects rows.
#
# The copies are in the namespace tessera::planted. There `kernels::` and `ranks::` name a copy if there is one, and the
# original otherwise. So the text of a variant needs no change.
# Copies for variants on ranks have a directory of their own.
#
# It is an error if the text to replace is not in its header once. If you change a kernel, move its mistakes.

# tessera_planted_lines(text keyword result): what follows the keyword in lines that begin with it.
function(tessera_planted_lines text keyword result)
  string(REGEX MATCHALL "\n${keyword} [^\n]+" lines "\n${text}")
  list(TRANSFORM lines REPLACE "^\n${keyword} " "")
  set(${result} ${lines} PARENT_SCOPE)
endfunction()

# What of the file is before its first mistake.
function(tessera_planted_head name result)
  set(file ${CMAKE_CURRENT_SOURCE_DIR}/planted/${name}.txt)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(FIND "${text}" "\n----\n" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  tessera_planted_lines("${text}" variant lines)
  foreach(line IN LISTS lines)
    set(known "")
    if(line MATCHES "^([a-z_0-9]+)/([a-z_0-9]+) [0-9]")
      set(known ${PROJECT_SOURCE_DIR}/apps/${CMAKE_MATCH_1}/variants/${CMAKE_MATCH_2}.cpp)
    endif()
    if(NOT known OR NOT EXISTS ${known})
      message(FATAL_ERROR "tests/planted/${name}.txt: `variant ${line}` names no variant and its mistakes")
    endif()
  endforeach()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# The words behind `variant <app>/` of the level: variant, mistakes and parameters.
function(tessera_planted_variants head app level result)
  tessera_planted_lines("${head}" variant lines)
  get_property(ranks GLOBAL PROPERTY TESSERA_RANKS_${app})
  set(found "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^${app}/([a-z_0-9]+) ")
      set(variant ${CMAKE_MATCH_1})
      string(REGEX REPLACE "^${app}/" "" line "${line}")
      if((variant IN_LIST ranks AND level STREQUAL "ranks") OR (NOT variant IN_LIST ranks AND level STREQUAL "one"))
        list(APPEND found "${line}")
      endif()
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Copies a source into the app's directory: its text, in the namespace tessera::planted,
# includes the copies of `headers`.
function(tessera_write_planted app level source text headers)
  foreach(header IN LISTS headers)
    string(REPLACE "#include <tessera/${header}>" "#include \"planted/${app}_${level}/${header}\"" text "${text}")
  endforeach()
  foreach(header IN LISTS headers)  # headers of the app, which its sources include by their places
    if(header MATCHES "^apps/[a-z_0-9]+/(.*)$")
      string(REGEX REPLACE "#include \"(../)?${CMAKE_MATCH_1}\"" "#include \"planted/${app}_${level}/${header}\""
             text "${text}")
    endif()
  endforeach()
  string(REGEX REPLACE "#include \"(../)?([a-z_0-9]+[.]hpp)\"" "#include \"apps/${app}/\\2\"" text "${text}")
  string(REGEX MATCH "\nnamespace tessera::([a-z_0-9]+)(::detail)? {\n" line "${text}")
  set(inside ${CMAKE_MATCH_1})
  string(REPLACE "\nnamespace tessera::${inside}" "\nnamespace tessera::planted::${inside}" text "${text}")
  string(REPLACE "\n#pragma once\n" "" text "\n${text}")
  set(text "#pragma once
#include \"planted.hpp\"

namespace tessera::${inside}::detail {}
namespace tessera::planted::${inside} {
using namespace tessera::${inside};
namespace detail {
using namespace tessera::${inside}::detail;
}
}
${text}")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/planted/${app}_${level}/${source} CONTENT "${text}" @ONLY)
endfunction()

# The text without comments and blank lines: who rewrites a comment need not move mistakes.
function(tessera_without_comments text result)
  string(REGEX REPLACE "[ \t]*//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "\n([ \t]*\n)+" "\n" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# The text of planted/<name>.txt's header with the mistakes, without comments.
function(tessera_plant_mistakes name header text result)
  file(READ ${CMAKE_CURRENT_SOURCE_DIR}/planted/${name}.txt rest)
  tessera_without_comments("${text}" text)
  while(TRUE)
    string(FIND "${rest}" "\n----\n" begin)
    if(begin LESS 0)
      break()
    endif()
    math(EXPR begin "${begin} + 6")
    string(SUBSTRING "${rest}" ${begin} -1 rest)
    string(FIND "${rest}" "\n--->\n" middle)
    string(FIND "${rest}" "\n<---\n" end)
    string(SUBSTRING "${rest}" 0 ${middle} from)
    tessera_without_comments("${from}" from)
    math(EXPR middle "${middle} + 6")
    math(EXPR length "${end} - ${middle}")
    string(SUBSTRING "${rest}" ${middle} ${length} to)
    string(SUBSTRING "${rest}" ${end} -1 rest)
    string(FIND "${text}" "${from}" first)
    string(FIND "${text}" "${from}" last REVERSE)
    if(first LESS 0 OR NOT first EQUAL last)
      message(FATAL_ERROR "tests/planted/${name}.txt: this is not in ${header} just once; move the mistake along:\n"
                          "${from}")
    endif()
    string(REPLACE "${from}" "${to}" text "${text}")
  endwhile()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# tessera_plant(app level result): writes the copies for the app, and a test of each of its variants that are on several
# ranks (level `ranks`) or not (level `one`); the file with the tests, or nothing.
function(tessera_plant app level result)
  set(names "")
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/planted planted/*.txt)
  foreach(file IN LISTS files)
    string(REPLACE .txt "" name ${file})
    tessera_planted_head(${name} head)
    tessera_planted_variants("${head}" ${app} ${level} variants)
    if(variants)
      list(APPEND names ${name})
    endif()
  endforeach()
  set(headers "")
  foreach(name IN LISTS names)
    tessera_planted_head(${name} head)
    tessera_planted_lines("${head}" header header)
    tessera_planted_lines("${head}" also also)
    list(APPEND headers ${header} ${also})
  endforeach()
  set(includes "")
  set(tests "")
  set(number 0)
  foreach(name IN LISTS names)
    tessera_planted_head(${name} head)
    tessera_planted_lines("${head}" header header)
    tessera_planted_lines("${head}" also also)
    foreach(file IN LISTS header also)
      set(source ${PROJECT_SOURCE_DIR}/common/include/tessera/${file})
      if(file MATCHES "^apps/")
        set(source ${PROJECT_SOURCE_DIR}/${file})
      endif()
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
      file(READ ${source} text)
      if(file STREQUAL header)
        tessera_plant_mistakes(${name} ${source} "${text}" text)
      endif()
      tessera_write_planted(${app} ${level} ${file} "${text}" "${headers}")
    endforeach()
    tessera_planted_variants("${head}" ${app} ${level} variants)
    foreach(line IN LISTS variants)
      separate_arguments(words UNIX_COMMAND "${line}")
      list(POP_FRONT words variant)
      set(source apps/${app}/variants/${variant}.cpp)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${source})
      file(READ ${PROJECT_SOURCE_DIR}/${source} text)
      if(NOT includes MATCHES "${source}")
        if(NOT "${source}" IN_LIST headers)
          tessera_write_planted(${app} ${level} ${source} "${text}" "${headers}")
        endif()
        string(APPEND includes "#include \"planted/${app}_${level}/${source}\"\n")
      endif()
      set(mistakes "")
      set(parameters "")
      set(size 0)
      set(spaces all)
      foreach(word IN LISTS words)
        if(word MATCHES "^size=([0-9]+)$")
          set(size ${CMAKE_MATCH_1})
        elseif(word MATCHES "^on=(hosts|gpus)$")
          set(spaces ${CMAKE_MATCH_1})
        elseif(word MATCHES "^([a-z-]+)=(-?[0-9]+)$")
          list(APPEND parameters "{\"${CMAKE_MATCH_1}\", std::int64_t{${CMAKE_MATCH_2}}}")
        elseif(word MATCHES "^([a-z-]+)=(.+)$")
          list(APPEND parameters "{\"${CMAKE_MATCH_1}\", std::string(\"${CMAKE_MATCH_2}\")}")
        else()
          list(APPEND mistakes ${word})
        endif()
      endforeach()
      string(REPLACE ";" ", " mistakes "${mistakes}")
      string(REPLACE ";" ", " parameters "${parameters}")
      math(EXPR number "${number} + 1")
      string(APPEND tests "TEST_F(PlantedMistakes, ${app}_${variant}_${number}) {
  expect_planted_seen(${app}::app(), planted::${app}::${variant}(), {${mistakes}}, {${parameters}}, ${size},
                      Spaces::${spaces});
}\n")
    endforeach()
  endforeach()
  set(${result} "" PARENT_SCOPE)
  if(NOT tests STREQUAL "")
    set(file ${CMAKE_CURRENT_BINARY_DIR}/planted/${app}_on_${level}.cpp)
    set(rows planted_rows.hpp)
    if(level STREQUAL ranks)
      set(rows planted_ranks.hpp)
    endif()
    file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "// Written by tests/planted/planted.cmake.
#include \"${rows}\"
${includes}
namespace tessera::${app} {
App app();
}
namespace tessera::testing {
${tests}
}  // namespace tessera::testing
")
    set(${result} ${file} PARENT_SCOPE)
  endif()
endfunction()
