#!/usr/bin/env bash
# From a bare Debian 12 to a translator, on real text: scripts/demo.sh [LANGUAGE [MINUTES]]
# LANGUAGE: ko (default), de, es, fr or it, from English. MINUTES of training: 8 unless given, less where the rest took long.
# Everything goes below demo/; a second run uses what is there, more MINUTES go on with the training. docs/demo.md tells more.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
export LC_ALL=C.UTF-8

usage="usage: $0 [ko|de|es|fr|it [MINUTES]], minutes of training from 1 to 9999"
language=${1:-ko}
case "$language" in
  ko) name=Korean ;; de) name=German ;; es) name=Spanish ;; fr) name=French ;; it) name=Italian ;;
  -h | --help) echo "$usage"; exit 0 ;;
  *) echo "$usage" >&2; exit 2 ;;
esac
if [ $# -gt 2 ] || ! [[ ${2:-8} =~ ^[1-9][0-9]{0,3}$ ]]; then
  echo "$usage" >&2
  exit 2
fi

demo="$project/demo"
packages="$demo/packages" unpacked="$demo/unpacked" here="$demo/$language"
corpus="$here/corpus" model="$here/model"
jumok="$project/build/jumok"
catalogues=(blender-data inkscape gimp-data krita-l10n evolution-common libvirt-l10n vlc-l10n "libreoffice-l10n-$language"
  libreoffice-help-en-us "libreoffice-help-$language")

stop() {
  echo "demo: $*" >&2
  exit 1
}

# How long it will take, from what is already there.
announce() {
  local minutes=0 todo=()
  [ -x "$jumok" ] || { minutes=$((minutes + 4)); todo+=("install and build"); }
  [ -e "$corpus/report.json" ] || { minutes=$((minutes + 1)); todo+=("download Debian packages (at most 93 MB)" "make a corpus of them"); }
  if ! trained; then
    minutes=$((minutes + ${wanted:-8}))
    todo+=("train")
  fi
  todo+=(translate score)
  local list
  list=$(printf ', %s' "${todo[@]}")
  say "English to $name: ${list:2}"
  if [ $minutes -gt 0 ]; then list="about $((minutes + 1)) min"; else list="a minute at most"; fi
  say "takes $list on 2 cores; everything goes below ${demo#"$PWD"/}"
}

# apt as root, or nothing where there is no way to be root.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else return 1; fi
}

refresh_lists() {
  say "reading the package lists"
  as_root apt-get -q update >"$here/apt.log" 2>&1
}

# One package file into $packages, whole or not at all. As root, apt would rather download as the user _apt, who may not write here.
fetch() {
  local sandbox=()
  [ "$(id -u)" -ne 0 ] || sandbox=(-o APT::Sandbox::User=root)
  rm -rf "$packages/new"
  mkdir -p "$packages/new"
  (cd "$packages/new" && apt-get -q "${sandbox[@]}" download "$1") >"$here/apt.log" 2>&1 && mv "$packages/new/"*.deb "$packages/"
}

is_known() { apt-cache show --no-all-versions "$1" >/dev/null 2>&1; }

get_packages() {
  local package missing=() refreshed=
  for package in "${catalogues[@]}"; do
    compgen -G "$packages/${package}_*.deb" >/dev/null || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  is_known "${missing[0]}" || { refreshed=yes; refresh_lists || stop "cannot read the package lists; is there a network? ($here/apt.log)"; }
  say "downloading ${#missing[@]} packages: ${missing[*]}"
  for package in "${missing[@]}"; do
    is_known "$package" || { say "$package is not in this release: left out"; continue; }
    fetch "$package" && continue
    # Lists that are older than the archive name files that are gone.
    [ -n "$refreshed" ] || { refreshed=yes; refresh_lists || true; }
    fetch "$package" || stop "cannot download $package; is there a network? ($here/apt.log)"
  done
  rm -rf "$packages/new"
}

unpack() {
  local file mark
  mkdir -p "$unpacked"
  for file in "$packages"/*.deb; do
    mark="$unpacked/.$(basename "$file")"
    [ ! -e "$mark" ] || continue
    dpkg -x "$file" "$unpacked" || stop "cannot unpack $file; delete it and run again"
    touch "$mark"
  done
}

make_corpus() {
  [ ! -e "$corpus/report.json" ] || return 0
  get_packages
  unpack
  say "making the corpus"
  rm -rf "$corpus.new"
  "$jumok" corpus --from en --to "$language" --catalogues "$unpacked" --libreoffice-help "$unpacked" --output "$corpus.new" >"$here/corpus.log"
  mv "$corpus.new" "$corpus"
  tail -n 1 "$here/corpus.log"
}

# Trained for at least as long as wanted.
trained() { [ -e "$here/trained-minutes" ] && [ "$(cat "$here/trained-minutes")" -ge "${wanted:-1}" ]; }

train() {
  trained && return 0
  local left=$((14 - (SECONDS + 59) / 60)) interrupted= options=()
  # Without a wish: 8 minutes, less where installing and building took so long that the whole would take more than 15.
  local minutes=${wanted:-$((left > 8 ? 8 : left < 3 ? 3 : left))}
  if [ -e "$model/checkpoint/state.safetensors" ]; then
    options=(--resume)
  else
    options=(--overwrite --source "$corpus/train.en" --target "$corpus/train.$language" --valid-source "$corpus/dev.en"
      --valid-target "$corpus/dev.$language" --preset transformer-tiny --vocabulary 4000 --set encoder.layers=3 --set decoder.layers=3
      --set feed-forward.width=512 --set train.rate=0.003 --set train.warm-up=600 --set train.batch-tokens=1200 --set train.lanes=4
      --set validate.every=700 --set average.every=60 --set train.patience=0)
  fi
  say "training for $minutes min (Ctrl-C stops and keeps what is learnt)"
  trap 'interrupted=yes' INT
  "$jumok" train --model "$model" --max-time "$minutes" "${options[@]}" || [ -n "$interrupted" ] || stop "training failed"
  trap - INT
  if [ -n "$interrupted" ]; then  # with exit status 130: what is learnt is saved
    rm -f "$here/trained-minutes"
    say "stopped; the same command goes on"
    exit 130
  fi
  echo "$minutes" >"$here/trained-minutes"
}

# score FILE: BLEU on characters (words would need a segmenter that Korean has no standard for) and chrF.
score() {
  "$jumok" evaluate --json --tokenize char --reference "$corpus/test.$language" <"$1" 2>/dev/null |
    sed -E 's/.*"bleu": \{"score": ([^,]+).*"chrf2": \{"score": ([^,]+).*/\1 \2/'
}

translate_test() {
  say "translating $(wc -l <"$corpus/test.en") lines that were held back"
  "$jumok" translate --model "$model" --beam 4 <"$corpus/test.en" >"$here/test.jumok"
  "$jumok" lab lookup --source "$corpus/train.en" --target "$corpus/train.$language" <"$corpus/test.en" >"$here/test.lookup"
  printf '%s\n' 'Could not open the file.' 'Click the button to save the file.' 'Select the cells that you want to merge.' >"$here/plain.en"
  # From there, so that the page is called after the language and not after a long path.
  (cd "$demo" && "$jumok" translate --model "$language/model" --beam 4 --attention-html "$language/attention.html") \
    <"$here/plain.en" >"$here/plain.jumok"
}

# Six held-back lines of at most 90 characters, drawn with a fixed seed, whatever became of them.
show_samples() {
  echo
  echo "Held-back lines, drawn at random:"
  paste "$corpus/test.en" "$corpus/test.$language" "$here/test.jumok" | awk -F '\t' 'length($1) <= 90' |
    shuf -n 6 --random-source=<(yes jumok) |
    awk -F '\t' '{ printf "\n  English    %s\n  reference  %s\n  jumok      %s\n", $1, $2, $3 }'
  echo
  echo "Plain sentences of the field:"
  paste "$here/plain.en" "$here/plain.jumok" | awk -F '\t' '{ printf "\n  English    %s\n  jumok      %s\n", $1, $2 }'
}

show_scores() {
  local jumok_scores lookup_scores
  jumok_scores=$(score "$here/test.jumok")
  lookup_scores=$(score "$here/test.lookup")
  echo
  printf '  %-44s %12s %6s\n' "$(wc -l <"$corpus/test.en") held-back lines" 'BLEU (char)' chrF
  # shellcheck disable=SC2086
  printf '  %-44s %12.1f %6.1f\n' "jumok" $jumok_scores "lookup (translation of most similar sentence)" $lookup_scores
}

show_pages() {
  echo
  echo "To look at in a browser:"
  echo "  what each word attended to  $here/attention.html"
  echo "  how the training went       $model/training.html"
  echo "To translate on:"
  echo "  echo 'Save the file.' | $(printf '%q' "$jumok") translate --model $(printf '%q' "$model")"
  echo "More training makes it better; this goes on where it ended:"
  echo "  $(printf '%q' "$0") $language $(($(cat "$here/trained-minutes") * 3))"
  echo
}

wanted=${2:-}
mkdir -p "$here"
announce
"$project/scripts/install-dependencies.sh" || stop "cannot install what the build needs (see above)"
configure_and_build "$project/build" -DCMAKE_BUILD_TYPE=Release -DJUMOK_BUILD_TESTS=OFF -- jumok_cli
make_corpus
train
translate_test
show_samples
show_scores
show_pages
say "done in $((SECONDS / 60)) min $((SECONDS % 60)) s"
