#!/usr/bin/env bash
#
# terminated.sh LAUNCHER... PROGRAM [ARGS]: starts ranks that never end, sends each of them SIGTERM twice, as launchers
# do when they are told to end, and expects the last line within two seconds (and what a loaded machine takes). The
# signals go to the ranks, since not every launcher hands them on.

set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
program=$(readlink -f "${@: -1}")
cd "$folder"
"${@:1:$#-1}" "$program" --size 1000 --variant distributed --samples 1 --min-time 600 --json r.json >out 2>err &
launcher=$!

ranks() {
  local process
  for process in /proc/[0-9]*; do
    if [[ $(readlink "$process/exe") == "$program" && $(readlink "$process/cwd") == "$folder" ]]; then
      echo "${process#/proc/}"
    fi
  done 2>/dev/null
}

for ((i = 0; i < 600; ++i)); do
  if grep -q "case: generated" out; then break; fi
  sleep 0.1
done
sleep 0.5
begin=$(date +%s%N)
mapfile -t pids < <(ranks)
[[ ${#pids[@]} -ge 2 ]] || { echo "no ranks"; cat out err; kill "$launcher"; exit 1; }
for i in 1 2; do
  kill -TERM "${pids[@]}" 2>/dev/null || true
  sleep 0.02
done
wait "$launcher" && code=0 || code=$?
milliseconds=$((($(date +%s%N) - begin) / 1000000))
cat out
[[ $code -ne 0 ]] || { echo "exit code 0"; exit 1; }
[[ $(tail -n 1 out) == "TESSERA rows=0 passed=0 failed=0 skipped=0 weak=0" ]] ||
  { echo "no last line"; cat err; exit 1; }
[[ $(grep -c "^TESSERA rows" out) == 1 ]] || { echo "more than one last line"; exit 1; }
((milliseconds < 4000)) || { echo "it took $milliseconds ms"; exit 1; }
