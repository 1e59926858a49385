#!/usr/bin/env bash
#
# Runs a mini-app under a tool of compute-sanitizer, for gpu.cmake.
#
#   sanitize.sh SANITIZER TOOL PROGRAM ARGS...
#
# The sanitizer itself can crash: under memcheck it ended with a segmentation fault after all rows of a large mini-app
# had passed. Then each variant is run in a process of its own, which checks the same kernels with less in each. A
# finding is never repeated: it fails the test, and so does a second crash.
#
# Exit code: 0 nothing was found; otherwise that of the sanitizer (9: a finding).

set -euo pipefail
if [[ $# -lt 3 ]]; then sed -n '3,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2; fi
sanitizer=$1 tool=$2 program=$3
arguments=("${@:4}")
output=$(mktemp)
trap 'rm -f "$output"' EXIT

options=(--tool "$tool" --error-exitcode 9 --print-limit 20)
# What kernels read is checked. Copies are not: Kokkos copies whole Views, with elements that no kernel has written.
if [[ $tool == initcheck ]]; then options+=(--check-api-memory-access no); fi

# Sets `code`. The output is shown and kept.
sanitized() { # ARGS...
  code=0
  { "$sanitizer" "${options[@]}" "$program" "${arguments[@]}" "$@" 2>&1; } | tee "$output" || code=$?
}

# Whether the tool printed more than its name and a summary of nothing.
has_findings() { grep '^=========' "$output" | grep -qv 'COMPUTE-SANITIZER\|SUMMARY: 0 '; }

sanitized
if ((code <= 128)) || has_findings || ! grep -q '^TESSERA rows=.* failed=0 ' "$output"; then exit "$code"; fi

echo "sanitize.sh: $tool ended by signal $((code - 128)) after all rows; once more, each variant by itself"
mapfile -t variants < <("$program" --list | awk '$1 == "variant" { print $2 }')
if ((${#variants[@]} == 0)); then exit 1; fi
for variant in "${variants[@]}"; do
  echo "sanitize.sh: $tool of $variant"
  sanitized --variant "$variant"
  if ((code)); then exit "$code"; fi
done
