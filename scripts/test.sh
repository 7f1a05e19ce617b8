#!/usr/bin/env bash
# From nothing to tested: installs what is missing, builds, runs every test. Arguments go to ctest (scripts/test.sh -R search).
# Tests on real data are skipped unless JUMOK_DATA names the folder that holds it; what was skipped is printed.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$project/scripts/install-dependencies.sh" --tests
"$project/scripts/build.sh" --tests
say "testing${JUMOK_DATA:+ with the data in $JUMOK_DATA}"
run_tests "$project/build" "$@"
