#!/usr/bin/env bash
# Kills a set-up at one moment after another, and checks that the next call picks it up. By hand, not by ctest: it
# downloads and builds Kokkos many times. Usage: tests/bootstrap/interrupted.sh [SECONDS...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[[ $# -gt 0 ]] || set -- 0.3 0.6 1 1.5 2 3 4 5 6 8 10 13 16 18

RIDGELINE_CACHE=$(mktemp -d)
export RIDGELINE_CACHE
source_copy=$(mktemp -d)
trap 'rm -rf "$RIDGELINE_CACHE" "$source_copy"' EXIT
# A copy of its own, so that no build folder of the user's is configured for a Kokkos that then goes away.
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$source_copy"

bootstrap() { "$source_copy/bootstrap" build openmp; }

for seconds in "$@"; do
  for whom in group shell; do
    rm -rf "${RIDGELINE_CACHE:?}"/* "$source_copy/build"
    setsid "$source_copy/bootstrap" build openmp >"$RIDGELINE_CACHE.log" 2>&1 &
    pid=$!
    sleep "$seconds"
    # All of it at once, or the script alone, whose children then go on for a while.
    if [[ $whom == group ]]; then kill -KILL -- -$pid || true; else kill -KILL $pid || true; fi
    wait $pid 2>/dev/null || true
    last=$(grep bootstrap: "$RIDGELINE_CACHE.log" | tail -n 1 || true)
    if bootstrap >"$RIDGELINE_CACHE.log" 2>&1; then
      echo "picked up: killed $whom after $seconds s ($last)"
    else
      cat "$RIDGELINE_CACHE.log"
      echo "NOT picked up: killed $whom after $seconds s ($last)"
      exit 1
    fi
  done
done
rm -f "$RIDGELINE_CACHE.log"
