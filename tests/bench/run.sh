#!/usr/bin/env bash
# Runs a benchmark in the release build: prints its reports as lines of JSON and tables with the goals.
#
#   bash tests/bench/run.sh cpu MODEL_FOLDER... [-- ARGUMENT...]    the CPU engine beside fastllm, one thread
#                                                                   each; arguments for both programs
#   bash tests/bench/run.sh ipc [ARGUMENT...]     shared memory beside sockets, and the daemon beside the
#                                                 engine in one's own process; arguments for deepinfer-bench-ipc
#
# The first `cpu` run installs the peer from PyPI into a folder of the user's cache. Exit codes: 0 measured,
# 2 wrong usage or no peer; else that of the program that failed.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)

readonly peer_version=1.9.0
# What it imports on this path; its full list brings CUDA libraries that a CPU run does not load.
readonly peer_imports=(
  numpy pillow jsonschema pyreadline3 transformers tiktoken httpx pydantic fastapi shortuuid uvicorn
  openai partial-json-parser jinja2
)

usage() {
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2
  exit 2
}

# build TARGET...
build() {
  cmake --preset release -S "$root" >&2
  cmake --build "$root/build/release" --target "$@" >&2
  commit=$(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)
}

run_cpu() {
  local models=() peer model
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    models+=("$1")
    shift
  done
  if [ "${1:-}" = -- ]; then shift; fi

  peer=${XDG_CACHE_HOME:-$HOME/.cache}/deepinfer/peer-fastllm-$peer_version
  if [ ! -e "$peer/complete" ]; then
    echo "bench: installing ftllm $peer_version into $peer" >&2
    rm -rf "$peer"
    /usr/bin/python3 -m venv "$peer"
    "$peer/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "ftllm==$peer_version" >&2
    "$peer/bin/python" -m pip install --quiet --disable-pip-version-check "${peer_imports[@]}" >&2 || exit 2
    touch "$peer/complete"
  fi

  build deepinfer-bench-engine
  lines=$(mktemp)  # not local: the trap outlives this function
  trap 'rm -f "$lines"' EXIT
  for model in "${models[@]}"; do
    echo "bench: $model" >&2
    "$root/build/release/tests/bench/deepinfer-bench-engine" "$model" --commit "$commit" "$@" | tee -a "$lines"
    "$peer/bin/python" "$root/tests/bench/peer_fastllm.py" "$model" "$@" 2>/dev/null | tee -a "$lines"
  done
  print_ratios "$lines"
}

# print_ratios FILE  The table of the reports in pairs, ours first.
print_ratios() {
  python3 - "$1" <<'END'
import json
import sys

reports = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
print(f"\n{'model':<12} {'quantity':<18} {'deepinfer':>10} {'fastllm':>10} {'ratio':>7}   tokens/s, median (min .. max)")
for ours, theirs in zip(reports[::2], reports[1::2]):
    for quantity in ("decode", "prefill"):
        key = f"{quantity}_tokens_per_second"
        for batch, own in ours[key].items():
            other = theirs[key][batch]
            spread = " / ".join(f"{arm['min']:.0f} .. {arm['max']:.0f}" for arm in (own, other))
            print(
                f"{ours['model']:<12} {quantity + ', batch ' + batch:<18} {own['median']:>10.1f} "
                f"{other['median']:>10.1f} {own['median'] / other['median']:>7.2f}   ({spread})"
            )
END
}

run_ipc() {
  build deepinfer-bench-ipc deepinferd deepinfer_cli_program
  "$root/build/release/bin/deepinfer-bench-ipc" --commit "$commit" "$@"
  /usr/bin/python3 "$root/tests/bench/daemon_bench.py" --commit "$commit"
}

case ${1:-} in
  cpu)
    shift
    [ $# -gt 0 ] || usage
    run_cpu "$@"
    ;;
  ipc)
    shift
    run_ipc "$@"
    ;;
  *) usage ;;
esac
