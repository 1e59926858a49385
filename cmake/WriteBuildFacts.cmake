# Writes TARGET from TEMPLATE with the current git commit of SOURCE. Runs as a script in every build.
set(GIT_COMMIT "unknown")
find_program(git git)
if(git)
  execute_process(COMMAND ${git} -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
                  OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND described)
    set(GIT_COMMIT ${described})
  endif()
endif()
string(STRIP "${FLAGS}" FLAGS)
configure_file(${TEMPLATE} ${TARGET} @ONLY)  # leaves the file alone when nothing changed
