#!/bin/sh
# signal.sh SIGNAL RANK DIRECTORY COMMAND...: runs the command on a rank, which writes its report to
# DIRECTORY/report.json. When the first row is in it, the rank RANK gets the signal, and no other. The exit code of each
# rank is written to DIRECTORY/code-RANK.
signal=$1 of=$2 directory=$3
shift 3
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
trap : TERM  # what the launcher sends to all when one has ended
"$@" --json "$directory/report.json" &
program=$!
if [ "$rank" = "$of" ]; then
  waited=0
  while [ ! -s "$directory/report.json" ] && [ $waited -lt 600 ]; do
    sleep 0.1
    waited=$((waited + 1))
  done
  kill "-$signal" $program
fi
wait $program
echo $? >"$directory/code-$rank"
