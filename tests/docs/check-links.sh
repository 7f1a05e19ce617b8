#!/usr/bin/env bash
# Every relative link of a page leads to a file (and, with #heading, to a heading of it), every path of the source tree named in a page exists, and
# every page of docs/ stands in the index, docs/README.md.
#   check-links.sh PROJECT
set -euo pipefail
cd "$1"
faults=0
fault() {
  printf '%s\n' "$*"
  faults=$((faults + 1))
}

# A heading as GitHub names it: lower case, without punctuation, spaces to hyphens.
anchors() { sed -nE 's/^#+ +//p' "$1" | tr '[:upper:]' '[:lower:]' | sed -E 's/[^[:alnum:] _-]//g; s/ /-/g'; }

check_link() {
  local page=$1 link=$2 path=${2%%#*} file
  file=$(dirname "$page")/$path
  [ -n "$path" ] || file=$page
  if [ ! -e "$file" ]; then
    fault "$page: $link leads nowhere"
  elif [ "$link" != "$path" ] && ! anchors "$file" | grep -qxF -- "${link#*#}"; then
    fault "$page: $link: $file has no such heading"
  fi
}

mapfile -t pages < <(find . -maxdepth 1 -name '*.md' && find docs -name '*.md')
for page in "${pages[@]}"; do
  while read -r link; do check_link "$page" "$link"; done < <(grep -oE '\]\([^)]+\)' "$page" | sed -E 's/^\]\(//; s/\)$//' | grep -vE '^[a-z]+:' || true)
  while read -r path; do
    [ -e "$path" ] || fault "$page: $path is named, but does not exist"
  done < <(grep -oE '`(src|include|apps|tests|scripts|docs)/[A-Za-z0-9_./-]+`' "$page" | tr -d '`' | grep -v NAME || true)
done
for page in $(find docs -name '*.md' ! -path docs/README.md); do
  grep -qF "(${page#docs/})" docs/README.md || fault "docs/README.md: $page is missing from the index"
done
[ "$faults" -eq 0 ]
