#!/usr/bin/env bash
# Builds and checks everything, as CI does: from a fresh clone, on a fresh Debian 12, with no device.
#
#   bash tests/run.sh                all stages; under 30 minutes on two cores
#   bash tests/run.sh --quick        dev build, lint and unit tests
#   bash tests/run.sh --only STAGE   one stage; may be given several times
#   bash tests/run.sh --list         the stages
#
# A stage that fails does not stop the later ones, except where they need it. The last line counts the
# tests of all stages together. Exit code 0 when every stage passed, 1 when one failed, 2 on wrong usage.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly all_stages=(
  deps build-dev lint test-dev build-release test-release build-asan test-asan build-tsan test-tsan fuzz tidy cuda
)
readonly quick_stages=(deps build-dev lint test-unit)

# Compilations are shared between the presets and between clones; both need paths out of the key.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
: >"$scratch/passed" >"$scratch/failed"

# run_tests FOLDER [CTEST ARGUMENT]...  Runs the tests and adds up what ctest counted.
run_tests() {
  local folder=$1 status=0 counts
  shift
  ctest --test-dir "$folder" --output-on-failure --no-tests=error -j "$(nproc)" "$@" |
    tee "$scratch/ctest" || status=$?
  counts=$(sed -nE 's/^[0-9]+% tests passed, ([0-9]+) tests failed out of ([0-9]+)$/\1 \2/p' "$scratch/ctest")
  if [ -n "$counts" ]; then
    echo $((${counts#* } - ${counts% *})) >>"$scratch/passed"
    echo "${counts% *}" >>"$scratch/failed"
  fi
  return "$status"
}

build() {
  cmake --preset "$1"
  cmake --build --preset "$@"
}

stage_deps() { bash packaging/install-deps.sh --with-checks --with-cuda >"$scratch/nvcc"; }

stage_build_dev() { build dev; }
stage_lint() { run_tests build/dev -L lint; }
stage_test_unit() { run_tests build/dev -L unit -LE lint; }
stage_test_dev() { run_tests build/dev -L 'unit|golden' -LE lint; }

# The unit tests run in dev and asan; here only what runs the programs.
stage_build_release() {
  build release --target deepinfer deepinfer-model deepinfer_tests_e2e deepinfer_tests_slow
}
stage_test_release() { run_tests build/release -L 'e2e|slow'; }

stage_build_asan() { build asan; }
stage_test_asan() { run_tests build/asan -L 'unit|golden' -LE lint; }

# Code that several threads or processes run through.
readonly concurrent=(ipc client_sdk daemon)
stage_build_tsan() { build tsan --target $(printf '%s_test ' "${concurrent[@]}"); }
stage_test_tsan() {
  local folder
  for folder in "${concurrent[@]}"; do
    run_tests "build/tsan/tests/$folder" -L unit
  done
}

# What the daemon and its clients read of each other, and the configuration, each for a while with clang's
# fuzzer, side by side. What one finds stays in the build folder as FINDING-..., the corpora stay for the
# next run.
stage_fuzz() {
  local programs=(descriptor datagram answer slot toml) folder=build/fuzz/corpora name index status=0
  local running=()
  build fuzz --target fuzz_message_seeds $(printf 'fuzz_%s_entry ' "${programs[@]}")
  build/fuzz/tests/fuzz/fuzz_message_seeds "$folder/seeds"
  for name in "${programs[@]}"; do
    mkdir -p "$folder/$name" "$folder/seeds/$name"
    "build/fuzz/tests/fuzz/fuzz_${name}_entry" -max_total_time="${FUZZ_SECONDS:-20}" \
      -max_len=16384 -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$folder/FINDING-$name-" \
      "$folder/$name" "$folder/seeds/$name" >"$scratch/fuzz-$name" 2>&1 &
    running+=($!)
  done
  for index in "${!programs[@]}"; do
    name=${programs[$index]}
    if wait "${running[$index]}"; then
      echo "fuzz_${name}_entry: $(grep DONE "$scratch/fuzz-$name")"
    else
      status=1
      tail -n 60 "$scratch/fuzz-$name"
    fi
  done
  return "$status"
}

# The newest changes first, and no longer than the whole run may bear; what passed is remembered, so the
# next run goes on from there. tidy-all leaves nothing.
stage_tidy() { python3 tests/lint/tidy.py build/dev --minutes "${TIDY_MINUTES:-4}"; }
stage_tidy_all() { python3 tests/lint/tidy.py build/dev; }

# There is no device here: the kernels compile, and the library holds code for the architecture.
stage_cuda() {
  [ -s "$scratch/nvcc" ] || stage_deps
  CUDACXX=$(cat "$scratch/nvcc") cmake --preset cuda
  cmake --build --preset cuda
  local images
  images=$(strings -a build/cuda/kernels/libdeepinfer_kernels_cuda.a | grep -c -e '-arch sm_90a' || true)
  echo "device code for sm_90a: $images objects"
  [ "$images" -gt 0 ]
}

clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# Runs one stage in a shell of its own, so that its first failing command ends it. Never called in a
# condition: bash would then go on after a failing command.
run_stage() {
  local stage=$1 begun=$SECONDS outcome=passed code
  echo
  echo "==> $stage"
  set +e
  (
    set -e
    "stage_${stage//-/_}"
  )
  code=$?
  set -e
  if [ "$code" -ne 0 ]; then
    outcome=FAILED
    failed_stages+=("$stage")
  fi
  table+=("$(printf '%-14s %-7s %6s' "$stage" "$outcome" "$(clock $((SECONDS - begun)))")")
  echo "==> $stage: $outcome after $(clock $((SECONDS - begun)))"
}

stages=()
while [ $# -gt 0 ]; do
  case $1 in
    --quick) stages=("${quick_stages[@]}") ;;
    --only)
      stages+=("${2:-}")
      shift
      ;;
    --list)
      printf '%s\n' "${all_stages[@]}" test-unit tidy-all
      exit 0
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      echo "run.sh: error: unknown argument $1 (command line): see --help" >&2
      exit 2
      ;;
  esac
  shift || break
done
if [ "${#stages[@]}" -eq 0 ]; then stages=("${all_stages[@]}"); fi
for stage in "${stages[@]}"; do
  if ! declare -F "stage_${stage//-/_}" >/dev/null; then
    echo "run.sh: error: no stage '$stage' (--only): --list prints them" >&2
    exit 2
  fi
done

table=()
failed_stages=()
for stage in "${stages[@]}"; do
  case $stage in
    test-*) needs=build-${stage#test-} ;;
    lint | tidy*) needs=build-dev ;;
    *) needs= ;;
  esac
  needs=${needs/build-unit/build-dev}
  if [[ -n $needs && " ${failed_stages[*]} " == *" $needs "* ]]; then
    table+=("$(printf '%-14s %-7s' "$stage" "not run")")
    failed_stages+=("$stage")
    continue
  fi
  run_stage "$stage"
  if [ "${failed_stages[*]}" = deps ]; then break; fi
done

sum() { awk '{ total += $1 } END { print total + 0 }' "$1"; }
passed=$(sum "$scratch/passed")
failed=$(sum "$scratch/failed")
echo
echo "Stages (minutes:seconds)"
printf '  %s\n' "${table[@]}" "$(printf '%-14s %-7s %6s' together "" "$(clock $SECONDS)")"
if [ "${#failed_stages[@]}" -gt 0 ]; then echo "Failed: ${failed_stages[*]}"; fi
if [ $((passed + failed)) -gt 0 ]; then
  # In ctest's own words, over all its runs above.
  echo "$((100 * passed / (passed + failed)))% tests passed, $failed tests failed out of $((passed + failed))"
fi
[ "${#failed_stages[@]}" -eq 0 ]
