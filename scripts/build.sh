#!/usr/bin/env bash
# Builds the program (build/jumok) and the library, optimised. With --tests the tests too. Needs scripts/install-dependencies.sh once.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case "${1:-}" in
  "") configure_and_build "$project/build" -DCMAKE_BUILD_TYPE=Release -DJUMOK_BUILD_TESTS=OFF -- jumok_archive_jumok jumok_cli ;;
  --tests) configure_and_build "$project/build" -DCMAKE_BUILD_TYPE=Release -DJUMOK_BUILD_TESTS=ON -- all ;;
  *) echo "usage: $0 [--tests]" >&2; exit 2 ;;
esac
say "$("$project/build/jumok" --version): $project/build/jumok"
