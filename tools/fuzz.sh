#!/bin/sh
# Runs the fuzz targets of build/fuzz: tools/fuzz.sh [TARGET] [SECONDS]. Called by `./dev fuzz`,
# which builds them.
#
# `compare [COUNT [SEED [FIRST]]]` compares COUNT random messages (default: 10000000) with the
# reference parser instead. The first comment of tests/unit/test_codec_compare.c has the details.
#
# New inputs are stored in build/fuzz/corpus/TARGET, so that the corpus of the repository grows only
# on purpose, and findings in build/fuzz/findings. The exit code is 1 after the first finding.
set -eu

if [ "${1:-}" = compare ]; then
    shift
    ./dev build release
    exec build/release/tests/unit/test_codec_compare "${@:-10000000}"
fi

target=
seconds=60
for argument in "$@"; do
    case $argument in
    *[!0-9]*) target=${argument#fuzz_} ;;
    *) seconds=$argument ;;
    esac
done

found=
for program in build/fuzz/tests/fuzz/fuzz_*; do
    [ -x "$program" ] || continue
    name=${program##*/fuzz_}
    if [ -n "$target" ] && [ "$name" != "$target" ]; then continue; fi
    found=yes
    mkdir -p "build/fuzz/corpus/$name" build/fuzz/findings
    set -- "-max_total_time=$seconds" -print_final_stats=1 \
        "-artifact_prefix=build/fuzz/findings/$name-"
    if [ -f "tests/fuzz/$name.dict" ]; then set -- "$@" "-dict=tests/fuzz/$name.dict"; fi
    set -- "$@" "build/fuzz/corpus/$name"
    if [ -d "tests/fuzz/corpus/$name" ]; then set -- "$@" "tests/fuzz/corpus/$name"; fi
    echo "Fuzzing $name for $seconds s"
    "$program" "$@" || {
        echo "Finding in $name: see build/fuzz/findings" >&2
        exit 1
    }
done
if [ -z "$found" ]; then
    echo "There is no fuzz target '${target:-of any name}'. There are:" >&2
    for program in build/fuzz/tests/fuzz/fuzz_*; do echo "    ${program##*/fuzz_}" >&2; done
    exit 2
fi
