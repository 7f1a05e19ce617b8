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

# The help breaks lines where they would be long.
presets() { "$program" train --help | tr -s ' \n' ' ' | sed -nE 's/.*Shape of the model \(([^;]*); default .*/\1/p' | tr -d ,; }

# A table of `preset`'s settings: key, value, range, help, separated by tabs. The program prints "key = value   (range)   help".
settings() { "$program" train --list-settings --preset "$1" | sed -E 's/^([^ ]+) = ([^ ]*)   \((.*)\)   (.*)$/\1\t\2\t\3\t\4/'; }

# Presets of a kind share the first part of their names: transformer-tiny, transformer-big.
families() { for name in $(presets); do printf '%s\n' "${name%%-*}"; done | uniq; }
presets_of() { presets | tr ' ' '\n' | grep "^$1-"; }

# A row for each key that the settings of `names` have: key, a value for each name, range, meaning. `wanted` selects the keys.
table() {
  local wanted=$1 columns=$2 names=$3
  for name in $names; do settings "$name" | sed "s/^/$name\t/"; done | awk -F '\t' -v names="$names" -v columns="$columns" -v wanted="$wanted" '
    BEGIN { training = "^(train|adam|validate|average)[.]" }
    { gsub(/\|/, "\\|") }
    ($2 ~ training) != (wanted == "training") { next }
    !($2 in help) { order[++n] = $2; help[$2] = $5 }
    length($4) > length(range[$2]) { range[$2] = $4 }
    { value[$1, $2] = $3 }
    END {
      m = split(names, preset, " "); split(columns, title, " ")
      printf "| key |"; for (p = 1; p <= m; ++p) printf " %s |", title[p]; print " range | meaning |"
      printf "|---|"; for (p = 1; p <= m; ++p) printf "---|"; print "---|---|"
      for (i = 1; i <= n; ++i) {
        k = order[i]
        printf "| `%s` |", k; for (p = 1; p <= m; ++p) printf " %s |", value[preset[p], k]; printf " %s | %s |\n", range[k], help[k]
      }
    }'
}

title_of() {
  case $1 in
    transformer) echo "Transformer (encoder-decoder)" ;;
    rnn) echo "Recurrent encoder-decoder" ;;
    lm) echo "Language model (decoder-only Transformer)" ;;
    *) echo "$1" ;;
  esac
}

options_page() {
  local family firsts=
  cat <<'TEXT'
# Options of a training run

The keys of `jumok train --set key=value`, written by `scripts/make-options-doc.sh`; `jumok train --list-settings --preset NAME` prints the same.
The first tables decide what the model is, the last how it is trained. All are stored in the model's [config.json](model-format.md). What the
terms mean: [concepts](README.md#concepts).
TEXT
  for family in $(families); do
    printf '\n## %s\n\n' "$(title_of "$family")"
    table model "$(presets_of "$family" | tr '\n' ' ')" "$(presets_of "$family" | tr '\n' ' ')"
    firsts+="$(presets_of "$family" | head -1) "
  done
  printf '\n## Training\n\nThe same for every preset of a kind. A language model is chosen by loss alone.\n\n'
  table training "$(families | tr '\n' ' ')" "$firsts"
}

command_line_page() {
  cat <<'TEXT'
# The command line

What `jumok --help` and `jumok SUBCOMMAND --help` print, written by `scripts/make-options-doc.sh`. After an option stands the kind of its value,
behind what it does its range and its default.

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

# The training options must be the same for every preset of a kind, or the last table would be wrong.
for family in $(families); do
  for name in $(presets_of "$family"); do settings "$name" | grep -E '^(train|adam|validate|average)\.' | sha256sum; done | sort -u | wc -l | grep -qx 1 ||
    { say "the $family presets differ in their training options: the page needs a column for each"; exit 1; }
done

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
