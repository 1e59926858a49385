#!/usr/bin/env bash
#
# Runs the programs of this folder, each with one planted mistake, under the tools that find it, and once corrected.
#
#   find.sh DIR [PROGRAM...]    DIR is the folder `bugs` of a build directory. With PROGRAM the tools' output is shown
#
# Exit code: 0 each tool found its mistake and had nothing to say of the corrected program; 1 otherwise; 2 a mistake in
# the call. Programs whose mistake only a GPU shows are named; they do not count.

set -euo pipefail
ulimit -c 0

usage() { sed -n '3,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[[ $# -ge 1 && -r $1/tools ]] || usage
directory=$1
shift

# program | tool | what the tool prints of the wrong form, as an extended regular expression. After `?` the tool may
# miss the mistake: some drivers let a GPU read memory of the host, and not every barrier that a thread skips is seen.
# Tools of hosts are `result` (the program compares its result), `address`, `bounds`, `threads`, `filled` (fresh memory
# holds NaN) and `valgrind`; those of a GPU are the four of compute-sanitizer.
table='
null_view       | address   | AddressSanitizer: SEGV|null pointer of type
null_view       | bounds    | View ERROR: out of bounds access|View bounds error
null_view       | memcheck  | Invalid __global__ read
host_pointer    | memcheck  | ?Invalid __global__ read
short_window    | result    | ^wrong: element
lone_barrier    | threads   | ^team stuck: .* wait at barrier
lone_barrier    | synccheck | ?Barrier error detected
missing_barrier | threads   | ThreadSanitizer: data race
missing_barrier | racecheck | Race reported between
past_the_end    | address   | heap-buffer-overflow
past_the_end    | bounds    | View ERROR: out of bounds access|View bounds error
past_the_end    | memcheck  | Invalid __global__ read
uninitialised   | filled    | ^wrong: element .*nan
uninitialised   | valgrind  | ninitialised value
uninitialised   | initcheck | Uninitialized __global__ memory read
'

programs=$(awk 'NF && !seen[$1]++ { print $1 }' <<<"$table")
chosen=("$@")
for program in "${chosen[@]}"; do
  grep -qxF -- "$program" <<<"$programs" || {
    echo "find.sh: unknown program \`$program\` (there are $(paste -sd' ' <<<"$programs"))" >&2
    exit 2
  }
done
if ((${#chosen[@]} == 0)); then mapfile -t chosen <<<"$programs"; fi

tools=" $(sed -n 's/^tools //p' "$directory/tools") "
sanitizer=$(sed -n 's/^compute-sanitizer //p' "$directory/tools")
if [[ $tools == *' result '* && ! $sanitizer ]] && command -v valgrind >/dev/null; then tools+='valgrind '; fi
logs=$directory/logs
mkdir -p "$logs"

# Runs one form of a program under a tool. Sets `log` and `code`.
run_form() { # PROGRAM TOOL FORM SECONDS
  local command=() arguments=()
  export OMP_NUM_THREADS=4 OMP_PROC_BIND=false OMP_WAIT_POLICY=passive
  unset ASAN_OPTIONS
  case $2 in
    result) command=("$directory/result/$1") ;;
    filled)
      export ASAN_OPTIONS=max_malloc_fill_size=1000000000:malloc_fill_byte=255
      command=("$directory/address/$1")
      ;;
    valgrind)
      export OMP_NUM_THREADS=1
      command=(valgrind --quiet --error-exitcode=9 "$directory/result/$1")
      ;;
    threads)
      export OMP_NUM_THREADS=1
      command=("$directory/threads/$1")
      ;;
    memcheck | racecheck | synccheck | initcheck)
      command=("$sanitizer" --tool "$2" --error-exitcode 9 "$directory/result/$1")
      ;;
    *) command=("$directory/$2/$1") ;;
  esac
  if [[ $3 == fixed ]]; then arguments=(--fixed); fi
  log=$logs/$1.$2.$3 code=0
  # In a subshell, whose stderr has bash's own word about a signal.
  (timeout -k 5 "$4" "${command[@]}" "${arguments[@]}" >"$log" 2>&1; exit $?) 2>/dev/null || code=$?
}

# What a reader sees who uses no tool.
without_a_tool() { # PROGRAM
  local patience=5
  if [[ $sanitizer ]]; then patience=20; fi  # a GPU takes seconds to start
  run_form "$1" result wrong "$patience"
  case $code in
    0 | 1) grep -m 1 '^right\|^wrong' "$log" || echo "ends with $code" ;;
    124 | 137) echo "hangs" ;;
    1[2-9][0-9]) echo "crashes (signal $((code - 128)))" ;;
    *) echo "ends with $code" ;;
  esac
}

show() { # LOG
  if ((named)); then grep -v 'OpenMP::initialize WARNING\|^ *\(Detected\|Requested\|In general\|For \)' "$1" |
    sed -n '1,40s/^/      | /p' | cut -c1-168; fi  # reads all of it: `head` would end grep by a signal
}

named=$# found=0 sought=0 failures=0 only_gpu=()
for program in "${chosen[@]}"; do
  printf '%-16s without a tool: %s\n' "$program" "$(without_a_tool "$program")"
  used=0
  while IFS='|' read -r name tool pattern; do
    name=${name// /} tool=${tool// /} pattern=${pattern# }
    if [[ $name != "$program" || $tools != *" $tool "* ]]; then continue; fi
    used=$((used + 1)) sought=$((sought + 1)) may_miss=''
    if [[ $pattern == '?'* ]]; then may_miss=on pattern=${pattern#?}; fi
    run_form "$program" "$tool" wrong 60
    if grep -q 'FATAL: ThreadSanitizer' "$log"; then
      printf '  %-10s does not run here: %s\n' "$tool" "$(grep -m 1 'FATAL: ThreadSanitizer' "$log")"
      sought=$((sought - 1))
      continue
    fi
    if ((code != 0)) && grep -qE -- "$pattern" "$log"; then
      found=$((found + 1))
      printf '  %-10s found: %s\n' "$tool" \
        "$(grep -m 1 -E -- "$pattern" "$log" | sed 's/^=*[0-9]*=* *//' | cut -c1-100)"
    elif [[ $may_miss ]]; then
      sought=$((sought - 1))
      printf '  %-10s not found, as this tool may miss it (exit code %d)\n' "$tool" "$code"
    else
      failures=$((failures + 1))
      printf '  %-10s NOT FOUND (exit code %d), see %s\n' "$tool" "$code" "$log"
    fi
    show "$log"
    run_form "$program" "$tool" fixed 60
    if ((code != 0)) || ! grep -q '^right' "$log" || grep -qE -- "$pattern" "$log"; then
      failures=$((failures + 1))
      printf '  %-10s IS NOT CLEAN when fixed (exit code %d), see %s\n' "$tool" "$code" "$log"
    fi
  done <<<"$table"
  if ((used == 0)); then
    missing=$(awk -v program="$program" '$1 == program { print $3 }' <<<"$table" | paste -sd' ')
    if [[ $missing == memcheck ]]; then
      printf '  needs a GPU: %s\n' "$missing"
      only_gpu+=("$program")
    else
      printf '  not sought, as this build has none of: %s\n' "$missing"
    fi
  fi
done
printf 'BUGS sought=%d found=%d failures=%d needs_gpu=%s\n' "$sought" "$found" "$failures" \
  "$(IFS=,; echo "${only_gpu[*]:-none}")"
exit $((failures > 0))
