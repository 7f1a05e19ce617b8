#!/usr/bin/env bash
# Installs the Debian (or Ubuntu) packages that building jumok needs, only those that are missing. With --tests also what the tests need.
# Runs apt-get as root, or through sudo.
set -euo pipefail

packages=(
  g++ cmake ninja-build
  libdnnl-dev               # matrix products
  libhwy-dev                # SIMD kernels
  libsentencepiece-dev      # subwords
  libutf8proc-dev           # Unicode
  libcli11-dev              # command line
  nlohmann-json3-dev libfmt-dev zlib1g-dev
)
case "${1:-}" in
  "") ;;
  --tests) packages+=(libgtest-dev) ;;
  *) echo "usage: $0 [--tests]" >&2; exit 2 ;;
esac

command -v apt-get >/dev/null || { echo "$0: needs apt-get (Debian, Ubuntu); elsewhere install the equivalents of: ${packages[*]}" >&2; exit 1; }
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "== all ${#packages[@]} packages are there"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "$0: installing ${missing[*]} needs root or sudo" >&2; exit 1; }
  as_root=(sudo)
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" >"$log" 2>&1; }
refresh() {
  echo "== reading the package lists"
  apt update || { tail -n 20 "$log" >&2; exit 1; }
}

echo "== installing ${missing[*]}"
# The lists are read only where they are absent, or too old for the archive to still hold what they name.
compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null || refresh
if ! apt install --no-install-recommends "${missing[@]}"; then
  refresh
  apt install --no-install-recommends "${missing[@]}" || { tail -n 20 "$log" >&2; exit 1; }
fi
echo "== installed"
