#!/usr/bin/env bash
# The tests once more with the address and undefined-behaviour sanitizers, in a build folder of its own (build-sanitize). Arguments go to ctest.
# Left out are tests that run no code of the library: the rules and the installation.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$project/scripts/install-dependencies.sh" --tests
configure_and_build "$project/build-sanitize" -DCMAKE_BUILD_TYPE=Debug -DJUMOK_BUILD_TESTS=ON -DJUMOK_SANITIZE=ON -- all
say "testing with sanitizers"
export UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
run_tests "$project/build-sanitize" -LE unsanitized "$@"
