# Copies of kernels with mistakes inside: tests/planted/<name>.txt says which lines of which header become which others. The copy is
# <build>/tests/planted/<name>.hpp, in the namespace tessera::planted. A text that is no longer in the header is an error: who
# changes a kernel moves its mistakes.
#
#   header kernels/scan.hpp
#   ---- what is there
#   ---> what comes in its place
#   ----                         (and so on; lines in between are comments)

function(tessera_plant name)
  set(spec ${CMAKE_CURRENT_SOURCE_DIR}/planted/${name}.txt)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${spec})
  file(READ ${spec} rest)
  string(REGEX MATCH "^header ([^\n]+)\n" line "${rest}")
  set(header ${PROJECT_SOURCE_DIR}/common/include/tessera/${CMAKE_MATCH_1})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(READ ${header} text)
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
    math(EXPR middle "${middle} + 6")
    math(EXPR length "${end} - ${middle}")
    string(SUBSTRING "${rest}" ${middle} ${length} to)
    string(SUBSTRING "${rest}" ${end} -1 rest)
    string(FIND "${text}" "${from}" first)
    string(FIND "${text}" "${from}" last REVERSE)
    if(first LESS 0 OR NOT first EQUAL last)
      message(FATAL_ERROR "tests/planted/${name}.txt: this is not in ${header} just once; move the mistake along:\n${from}")
    endif()
    string(REPLACE "${from}" "${to}" text "${text}")
  endwhile()
  string(REPLACE "namespace tessera::kernels {" [[namespace tessera::kernels::detail {}
namespace tessera::planted {
using namespace tessera::kernels;
namespace detail {
using namespace tessera::kernels::detail;
}]] text "${text}")
  string(REPLACE "#include <Kokkos_Core.hpp>" "#include <Kokkos_Core.hpp>\n#include \"planted.hpp\"" text "${text}")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/planted/${name}.hpp CONTENT "${text}" @ONLY)
endfunction()
