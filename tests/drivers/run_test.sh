#!/usr/bin/env bash
#
# What ./run promises: exit codes, one clear message, stdout that is the program's alone, and a second try after an
# interruption. Needs the build directory of `./run test` (what it compiles itself is one program, once more).
#
#   tests/drivers/run_test.sh        exit code 1 if something is not as promised

set -euo pipefail
checkout=$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")
# Elsewhere, and with a space in its name: nothing may depend on where one stands.
work=$(mktemp -d -t 'run test.XXXXXX')
trap 'rm -rf "$work" "$checkout/build/run test"' EXIT
cd "$work"

failures=0
fail() {
  printf 'FAILED: %s\n' "$*" >&2
  sed 's/^/    out: /' "$work/out" >&2
  sed 's/^/    err: /' "$work/err" >&2
  failures=$((failures + 1))
}

# expect CODE TEXT ARGS...: ./run ARGS ends with CODE, and says TEXT on stdout or stderr.
expect() {
  local code=0 wanted=$1 text=$2
  shift 2
  "$checkout/run" "$@" >out 2>err </dev/null || code=$?
  if ((code != wanted)); then fail "run $*: exit code $code, not $wanted"; fi
  grep -qF -- "$text" out err || fail "run $*: does not say '$text'"
}

# A person's mistakes: exit 2, one message, nothing built.
expect 0 'usage: ./run COMMAND' help
# shellcheck disable=SC2016  # the backquotes are the message's
expect 2 'did you mean `test`' tset
expect 2 'unknown mini-app' demo now
TESSERA_BUILD_DIR=$work/nothing expect 2 'there is no map in' demo map
expect 2 'unknown mini-app' test no_such_app
expect 2 'unknown mini-app' build dto
# shellcheck disable=SC2016
expect 2 'did you mean `null_view`' bugs nul_view
expect 2 'install takes one argument' install
TESSERA_APPS='conv2d dot' expect 2 'leaves out attention embedding histogram layernorm_linear_backward map' ranks
expect 2 'install takes one argument' install one two
expect 2 'docs takes no arguments' docs html
expect 2 'is in the checkout' install "$checkout"
expect 2 'is in the checkout' install "$checkout/common"
touch occupied
expect 2 'cannot be made or written' install occupied/below
if [[ ${TESSERA_DEPS:-} == debian && -d $("$checkout/cmake/debian/root" path mpi) ]]; then
  TESSERA_MPI=on expect 2 'starts only there' install elsewhere
  if [[ -e elsewhere ]]; then fail "an installation that is refused left something"; fi
fi
TESSERA_DEPS=conan expect 2 "TESSERA_DEPS is 'conan'" build
if ! nvidia-smi -L >/dev/null 2>&1 && ! command -v rocminfo >/dev/null; then expect 2 'no GPU was found' gpu; fi

# A program: its stdout alone, files where one stands, its own exit codes.
expect 0 'failed=0' dot --size 1000 --samples 1 --min-time 0 --json report.json
[[ $(tail -n 1 out) == 'TESSERA rows='* ]] || fail "the last line is another"
[[ -s report.json ]] || fail "no report where the command was given"
if grep -q 'building\|configuring\|dependencies:' out; then fail "stdout has lines of ./run"; fi
expect 0 'look_back' prefix_sum --list
expect 2 'sise' dot --sise 4
expect 0 'failures=0' bugs
[[ $(tail -n 1 out) == 'BUGS sought='* ]] || fail "the last line of bugs is another"
expect 0 '' shell true
if [[ -s out ]]; then fail "stdout of a shell's command has lines of ./run"; fi
# It runs where it was called, and CMake finds its build program for a new project.
mkdir 'a project'
echo 'project(p NONE)' >'a project/CMakeLists.txt'
cd 'a project'
expect 0 'have been written to' shell cmake -B build
cd ..
[[ -d 'a project/build' ]] || fail "./run shell does not start where it was called"

# An interruption while it configures or compiles: exit 130, and the same command goes on. The build directory is beside
# that of a demo, so that the compiler cache has what the demo compiled; but not while something is to be interrupted.
export TESSERA_BUILD_DIR="$checkout/build/run test" TESSERA_APPS=map TESSERA_DTYPES=float
rm -rf "$TESSERA_BUILD_DIR"
for seconds in 1 4; do
  CCACHE_DISABLE=1 setsid "$checkout/run" build map >out 2>err </dev/null &
  sleep "$seconds"
  code=0
  kill -TERM -- -$! 2>/dev/null || true  # the whole group, as a terminal does
  wait $! || code=$?
  ((code == 130)) || fail "interrupted after $seconds s: exit code $code, not 130"
  grep -q 'goes on from here' err || fail "interrupted after $seconds s: does not say how to go on"
done
expect 0 'programs are in' build map
expect 0 'failed=0' map --size 1000 --samples 1 --min-time 0

# The commands at the end of a demo run with what it built: elsewhere nothing is compiled for them, and variables that
# say where it was built are part of them.
expect 0 'failed=0' demo
grep '^  .*/run ' out >commands || true
if [[ $(wc -l <commands) != 3 ]]; then fail "a demo does not end with three commands"; fi
while read -r command; do
  command=${command/.\/run/$(printf %q "$checkout/run")}
  code=0
  env -u TESSERA_BUILD_DIR -u TESSERA_APPS -u TESSERA_DTYPES bash -c "${command/2^26/2^18}" \
    >out 2>err </dev/null || code=$?
  if ((code)) || grep -q 'building\|configuring\|compiling' err; then
    fail "of the demo: $command: exit code $code, or it compiles"
  fi
done <commands

# An installation: where one stands, with a space in its name. It starts there, elsewhere, and by its own name for
# itself; what was in the directory stays.
mkdir 'an install'
chmod 2711 'an install'
echo mine >'an install/file'
expect 2 'is in the build directory' install "$TESSERA_BUILD_DIR/below"
expect 0 'start it: ' install 'an install'
[[ $(stat -c %a 'an install') == 2711 && $(<'an install/file') == mine ]] ||
  fail "an installation changed what was there"
[[ $(stat -c %a 'an install/bin/tessera' 'an install/share/tessera/inputs/map/uneven.h5') == $'755\n644' ]] ||
  fail "an installation's files have other modes"
mv 'an install' moved
ln -s moved/bin/tessera link
started() { # TEXT CMD...
  local code=0
  env OMP_PROC_BIND=false "${@:2}" >out 2>err </dev/null || code=$?
  if ((code)) || ! grep -qF -- "$1" out; then fail "${*:2}: exit code $code, or does not say '$1'"; fi
}
started 'out[i] = a[i] + c' ./link list
started 'failed=0' moved/bin/tessera run map --inputs moved/share/tessera/inputs --samples 1 --min-time 0
started 'failed=0' moved/libexec/tessera/map --size 1000 --samples 1 --min-time 0
started 'done=1 before=0 failed=0' moved/bin/tessera study --preset sizes --apps map --sizes 2^10 --variants range \
  --options '--samples 3 --min-time 0 --roof 1e12,1e11' --repeats 1 --machine report.json --run

if ((failures)); then echo "run: $failures promises broken"; exit 1; fi
echo 'run: ok'
