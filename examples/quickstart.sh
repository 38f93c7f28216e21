#!/usr/bin/env bash
# From a bare Debian 12 to answers: installs what the build needs, builds the release, runs 32 requests
# on the small model that lies in this repository, and shows the answers beside the expected ones.
# No daemon, no device, no download of weights. Safe to run again: what is done is not done twice.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly model=examples/models/nano
readonly deepinfer=build/release/bin/deepinfer
readonly folder=build/quickstart

step() { printf '\n== %s\n' "$*"; }

step "1 of 4: install what the build needs"
bash packaging/install-deps.sh

step "2 of 4: build the release (some minutes the first time)"
cmake --preset release --log-level=WARNING
cmake --build --preset release --target deepinfer

step "3 of 4: answer the $(wc -l <examples/extraction.jsonl) requests of examples/extraction.jsonl"
rm -rf "$folder"
mkdir -p "$folder"
run=("$deepinfer" batch examples/extraction.jsonl -o "$folder/answers.jsonl" --embedded --model "$model" --json)
echo "${run[*]}"
"${run[@]}" >"$folder/summary.json" || [ $? -eq 1 ]  # 1: some requests failed; the table says which

step "4 of 4: the answers beside the expected ones"
status=0
python3 examples/show_answers.py "$folder/answers.jsonl" examples/extraction.expected.jsonl "$folder/summary.json" ||
  status=$?

cat <<END

Answers, as OpenAI's batch API would write them: $folder/answers.jsonl
Try next:
  $deepinfer generate --embedded --model $model --prompt "Once upon a time" --max-tokens 60
  $deepinfer batch --help
  examples/embedded/README.md   the same engine inside a C++ program
  README.md                     where to read on
END
exit "$status"
