#!/usr/bin/env bash
#
# What tests/sanitize.sh makes of a sanitizer that finds something, that crashes, or both; with a stand-in for it.
#
#   sanitize_test.sh        exit code 1 if something is not as promised

set -euo pipefail
script=$(dirname "$(dirname "$(readlink -f "$0")")")/sanitize.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ulimit -c 0

# A mini-app of two variants.
cat >"$work/program" <<'END'
#!/usr/bin/env bash
if [[ $* == *--list* ]]; then printf 'app  x\nvariant  one  team\nvariant  two  team\n'; exit; fi
if [[ ${ROWS:-} == fail ]]; then echo 'TESSERA rows=2 passed=1 failed=1 skipped=0 weak=0'; exit 1; fi
echo 'TESSERA rows=2 passed=2 failed=0 skipped=0 weak=0'
END

# The stand-in: WHOLE and TWO say what becomes of a run of all variants and of the variant `two`.
cat >"$work/sanitizer" <<'END'
#!/usr/bin/env bash
echo "$*" >>"${0%/*}/calls"
fate=${WHOLE:-clean}
case $* in *'--variant one') fate=clean ;; *'--variant two') fate=${TWO:-clean} ;; esac
while [[ $1 == --* ]]; do shift 2; done  # each option has a value
echo '========= COMPUTE-SANITIZER'
code=0
"$@" || code=$?
if [[ $fate == *finds* ]]; then echo '========= Invalid __global__ read of size 4 bytes'; code=9; fi
if [[ $fate == *crashes* ]]; then kill -SEGV $$; fi
if ((code)); then echo '========= ERROR SUMMARY: 1 error'; else echo '========= ERROR SUMMARY: 0 errors'; fi
exit "$code"
END
chmod +x "$work/program" "$work/sanitizer"

failures=0
# expect CODE CALLS VARIABLES... : the exit code, and how often the sanitizer ran.
expect() {
  local code=0 calls
  rm -f "$work/calls"
  env "${@:3}" "$script" "$work/sanitizer" "${tool:-memcheck}" "$work/program" --size 5 >"$work/out" 2>&1 || code=$?
  calls=$(wc -l <"$work/calls")
  if ((code != $1 || calls != $2)); then
    echo "FAILED: ${*:3}: exit code $code after $calls runs, not $1 after $2"
    sed 's/^/    /' "$work/out"
    failures=$((failures + 1))
  fi
}

expect 0 1 WHOLE=clean
expect 9 1 WHOLE=finds
expect 1 1 ROWS=fail
# A crash after all rows: each variant by itself.
expect 0 3 WHOLE=crashes TWO=clean
expect 9 3 WHOLE=crashes TWO=finds
expect 139 3 WHOLE=crashes TWO=crashes
# A crash that is no end of a clean run is not repeated.
expect 139 1 WHOLE='finds and crashes' TWO=clean
expect 139 1 WHOLE=crashes ROWS=fail
tool=initcheck expect 0 1 WHOLE=clean
grep -q -- '--check-api-memory-access no' "$work/calls" || { echo 'FAILED: initcheck checks copies'; failures=1; }

if ((failures)); then exit 1; fi
echo 'sanitize: ok'
