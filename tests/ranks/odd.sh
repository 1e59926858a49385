#!/bin/sh
# Runs a command on a rank. The rank ODD_RANK has ODD_ARGUMENTS behind it and ODD_VARIABLES in its environment, the
# others have EVEN_ARGUMENTS.
if [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = "$ODD_RANK" ]; then
  # shellcheck disable=SC2086
  exec env $ODD_VARIABLES "$@" $ODD_ARGUMENTS
fi
# shellcheck disable=SC2086
exec "$@" $EVEN_ARGUMENTS
