#!/usr/bin/env bash
# Prints the mini-apps that the tests here start, one per line: those whose names their scripts contain as a word.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"
for app in ../../apps/*/problem.hpp; do
  app=$(basename "$(dirname "$app")")
  if grep -qE "(^|[^A-Za-z_/-])$app([^A-Za-z_/-]|\$)" ./*.cmake; then echo "$app"; fi
done
