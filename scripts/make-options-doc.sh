#!/usr/bin/env bash
# Writes docs/options.md and docs/command-line.md from what the program says of itself.
#   scripts/make-options-doc.sh [PROGRAM]            (build/jumok)
#   scripts/make-options-doc.sh --check [PROGRAM]    changes nothing; fails when a page is not what the program says
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

check=false
if [ "${1:-}" = --check ]; then
  check=true
  shift
fi
program=${1:-$project/build/jumok}
[ -x "$program" ] || { say "there is no program $program"; exit 1; }

presets() { "$program" train --help | sed -nE 's/^ *--preset [A-Z]+:\{([^}]*)\}.*/\1/p' | tr , ' '; }

# A table of `preset`'s settings: key, value, range, help, separated by tabs. The program prints "key = value   (range)   help".
settings() { "$program" train --list-settings --preset "$1" | sed -E 's/^([^ ]+) = ([^ ]*)   \((.*)\)   (.*)$/\1\t\2\t\3\t\4/'; }

options_page() {
  local names first
  names=$(presets)
  first=${names%% *}
  cat <<'TEXT'
# Options of a training run

The keys of `jumok train --set key=value`, written by `scripts/make-options-doc.sh`; `jumok train --list-settings --preset NAME` prints the same.
The first table decides what the model is, the second how it is trained. Both are stored in the model's [config.json](model-format.md). What the
terms mean: [concepts](README.md#concepts).

## Model

TEXT
  {
    for name in $names; do settings "$name" | sed "s/^/$name\t/"; done
  } | awk -F '\t' -v names="$names" '
    { gsub(/\|/, "\\|") }
    !($2 in range) { order[++n] = $2; range[$2] = $4; help[$2] = $5 }
    { value[$1, $2] = $3 }
    END {
      m = split(names, preset, " ")
      printf "| key |"; for (p = 1; p <= m; ++p) printf " %s |", preset[p]; print " range | meaning |"
      printf "|---|"; for (p = 1; p <= m; ++p) printf "---|"; print "---|---|"
      for (i = 1; i <= n; ++i) {
        k = order[i]; if (k ~ /^(train|adam|validate|average)\./) continue
        printf "| `%s` |", k; for (p = 1; p <= m; ++p) printf " %s |", value[preset[p], k]; printf " %s | %s |\n", range[k], help[k]
      }
    }'
  cat <<'TEXT'

## Training

The same for every preset.

| key | default | range | meaning |
|---|---|---|---|
TEXT
  settings "$first" | sed 's/|/\\|/g' | awk -F '\t' '$1 ~ /^(train|adam|validate|average)\./ { printf "| `%s` | %s | %s | %s |\n", $1, $2, $3, $4 }'
}

command_line_page() {
  cat <<'TEXT'
# The command line

What `jumok --help` and `jumok SUBCOMMAND --help` print, written by `scripts/make-options-doc.sh`. After an option stand its type or its range, and
behind `=` its default.

TEXT
  help_section
}

# The help of a subcommand and of those below it: help_section bench, help_section bench train.
help_section() {
  local help name
  help=$("$program" "$@" --help | sed -e '/./,$!d')
  [ $# -eq 0 ] || printf '\n## jumok %s\n\n' "$*"
  printf '```text\n%s\n```\n' "$help"
  for name in $(sed -nE '/^Subcommands:/,/^$/s/^  ([a-z-]+) .*/\1/p' <<<"$help"); do help_section "$@" "$name"; done
}

# The training options must be the same for every preset, or the second table would be wrong.
for name in $(presets); do settings "$name" | grep -E '^(train|adam|validate|average)\.' | sha256sum; done | sort -u | wc -l | grep -qx 1 ||
  { say "presets differ in their training options: the page needs a column for each"; exit 1; }

status=0
for page in options command-line; do
  text=$("${page//-/_}_page")
  if ! $check; then
    printf '%s\n' "$text" >"$project/docs/$page.md"
  elif ! diff -u "$project/docs/$page.md" <(printf '%s\n' "$text"); then
    say "docs/$page.md is not what the program says; run: scripts/make-options-doc.sh PROGRAM"
    status=1
  fi
done
exit $status
