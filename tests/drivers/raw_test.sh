#!/bin/bash
# random --raw: the bytes of the published vectors, sizes, and a reader that stops early. raw_test.sh PROGRAM
set -euo pipefail
program=$1
fail() { echo "raw_test: $*" >&2; exit 1; }
hex() { od -An -v -tx1 | tr -d ' \n'; }

# Philox4x32-10 of counter 0 and key 0 (Random123): 6627e8d5 e169c58d bc57ac4c 9b00dbd8, lowest byte first.
[[ $("$program" --raw --seed 0 --size 4 | hex) == d5e827668dc569e14cac57bcd8db009b ]] || fail "other bits than published"
# Threefry4x64-20 of counter 0 and key 0: 09218ebde6c85537 55941f5266d86105 4bd25e16282434dc ee29ec846bd2e40b; lower
# halves.
[[ $("$program" --raw --seed 0 --size 4 --generator threefry | hex) == 3755c8e60561d866dc3424280be4d26b ]] ||
  fail "other bits of threefry than published"
# Any part of the stream, across the pieces in which it is written.
whole=$("$program" --raw --size 100003 | hex)
[[ ${#whole} == $((100003 * 8)) ]] || fail "--size 100003 wrote ${#whole} digits"
[[ $("$program" --raw --size 7 --offset 99990 | hex) == "${whole:$((99990 * 8)):56}" ]] || fail "--offset is ignored"
[[ $("$program" --raw --size 0 | wc -c) == 0 ]] || fail "--size 0 wrote something"
# Endless, until the reader stops: quietly, with exit code 0.
set +e
errors=$({ "$program" --raw | head -c 1000000 | cksum; echo "${PIPESTATUS[0]} ${PIPESTATUS[2]}"; } 2>&1)
set -e
[[ $(tail -n 1 <<<"$errors") == "0 0" && $(wc -l <<<"$errors") == 2 ]] || fail "a closed pipe: $errors"
[[ $("$program" --raw | head -c 40000 | hex) == "${whole:0:80000}" ]] || fail "endless is another stream"
# What it does not write is a mistake of the user.
for wrong in "--distribution normal" "--json r.json" "--size 1,2" "--variant per_element"; do
  set +e
  # shellcheck disable=SC2086
  message=$("$program" --raw $wrong 2>&1 >/dev/null)
  code=$?
  set -e
  [[ $code == 2 && $(wc -l <<<"$message") == 1 ]] || fail "--raw $wrong: exit code $code, $message"
done
# A full disk.
if [[ -w /dev/full ]]; then
  set +e
  message=$("$program" --raw 2>&1 >/dev/full)
  code=$?
  set -e
  [[ $code == 1 && $(wc -l <<<"$message") == 1 ]] || fail "a full disk: exit code $code, $message"
fi
echo "raw_test: all right"
