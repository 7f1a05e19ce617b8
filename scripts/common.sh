# Sourced by the other scripts: where the project is, how many processors to use, how to run something without a flood of output.
set -euo pipefail
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=${JUMOK_JOBS:-$(nproc)}

say() { printf '== %s\n' "$*"; }

# quietly LOG COMMAND...: its output goes to the file LOG; only when it fails the end of that is shown.
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" >"$log" 2>&1; then
    say "failed: $*"
    if grep -qE 'error:|Error' "$log"; then grep -E -A 12 'error:|Error' "$log" | head -n 60 || true; else tail -n 30 "$log"; fi
    say "the whole output is in $log"
    return 1
  fi
}

# watch_build LOG: what ninja has done, every second, where a terminal looks on; its caller ends it.
watch_build() {
  local log=$1 start=$SECONDS done total
  [ -t 1 ] || return 0
  while sleep 1; do
    IFS='[/]' read -r _ done total _ < <(grep -oE '^\[[0-9]+/[0-9]+\]' "$log" | tail -n 1) || continue
    [ "${done:-0}" -gt 0 ] && printf '\r   %d of %d steps, %d s left  ' "$done" "$total" $(((SECONDS - start) * (total - done) / done))
  done
}

# configure_and_build FOLDER CMAKE-OPTION... -- TARGET...: reuses what is there. JUMOK_UNITY: from nothing it takes half the time.
configure_and_build() {
  local folder=$1 options=() start=$SECONDS
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift || true
  say "building in ${folder#"$project"/} with $jobs jobs"
  quietly "$folder/configure.log" cmake -S "$project" -B "$folder" -G Ninja -DJUMOK_UNITY=ON "${options[@]}"
  : >"$folder/build.log"
  watch_build "$folder/build.log" 2>/dev/null &
  local watcher=$! status=0
  quietly "$folder/build.log" cmake --build "$folder" -j "$jobs" --target "$@" || status=1
  kill "$watcher" 2>/dev/null || true
  wait "$watcher" 2>/dev/null || true
  [ -t 1 ] && printf '\r%40s\r' ''
  [ $status -eq 0 ] || return 1
  grep -E 'warning:' "$folder/build.log" | sort -u | head -n 20 || true
  say "built in $((SECONDS - start)) s"
}

# run_tests FOLDER CTEST-OPTION...: ctest, what was skipped and why, and ctest's own summary last.
run_tests() {
  local folder=$1 status=0 log="$1/tests.log"
  shift
  ctest --test-dir "$folder" --output-on-failure --timeout 900 -j "$jobs" "$@" >"$log" 2>&1 || status=$?
  show_skipped "$folder/Testing/Temporary/LastTest.log"
  if [ $status -ne 0 ]; then
    # Of a failed program, what failed and not the cases that passed.
    sed '/% tests passed/,$d' "$log" | grep -vE '^(\[ +OK \]|\[ RUN  |\[-----)' | head -n 300 || true
    say "the whole output is in $log"
  fi
  tail -n +"$(($(grep -nE '% tests passed|No tests were found' "$log" | tail -n 1 | cut -d: -f1 || echo 1)))" "$log"
  return $status
}

# GoogleTest prints "file:line: Skipped", the reason, an empty line and then "[  SKIPPED ] Suite.Name (0 ms)".
show_skipped() {
  [ -e "$1" ] || return 0
  awk '/: Skipped$/ { getline reason } /^\[  SKIPPED \] .*ms\)$/ { if (!seen[$4]++) { count[reason]++; names[reason] = names[reason] " " $4 } }
       END { for (r in count) printf "skipped %d: %s\n  %s\n", count[r], r, substr(names[r], 2, 400) }' "$1"
}
