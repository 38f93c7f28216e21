#!/usr/bin/env bash
# From a bare Debian 12 to answers: installs what the build needs, builds the release, runs 32 requests on
# the small model that lies in this repository, once inside the command and once through the daemon, and
# shows the answers beside the expected ones. No device, no download of weights. Safe to run again: what is
# done is not done twice.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly model=examples/models/nano
readonly deepinfer=build/release/bin/deepinfer
readonly deepinferd=build/release/bin/deepinferd
readonly folder=build/quickstart
readonly socket=$folder/deepinferd.sock

step() { printf '\n== %s\n' "$*"; }

# Runs a batch; that some requests failed (exit code 1) is for the table to say. Its own output may go to a
# file, the command is for the reader.
batch() {
  echo "$*" >&2
  "$@" || [ $? -eq 1 ]
}

step "1 of 6: install what the build needs"
bash packaging/install-deps.sh

step "2 of 6: build the release (some minutes the first time)"
cmake --preset release --log-level=WARNING
cmake --build --preset release --target deepinfer deepinferd

step "3 of 6: answer the $(wc -l <examples/extraction.jsonl) requests of examples/extraction.jsonl inside the command"
rm -rf "$folder"
mkdir -p "$folder"
batch "$deepinfer" batch examples/extraction.jsonl -o "$folder/answers.jsonl" --embedded --model "$model" --json \
  >"$folder/summary.json"

step "4 of 6: the answers beside the expected ones"
status=0
python3 examples/show_answers.py "$folder/answers.jsonl" examples/extraction.expected.jsonl "$folder/summary.json" ||
  status=$?

step "5 of 6: the same file through the daemon"
echo "$deepinferd --model $model --socket $socket &"
"$deepinferd" --model "$model" --socket "$socket" 2>"$folder/deepinferd.log" &
daemon=$!
trap 'kill -9 "$daemon" 2>/dev/null || true' EXIT
for _ in $(seq 200); do
  if "$deepinfer" status --socket "$socket" >/dev/null 2>&1; then break; fi
  if ! kill -0 "$daemon" 2>/dev/null; then break; fi
  sleep 0.05
done
if ! "$deepinfer" status --socket "$socket"; then
  cat "$folder/deepinferd.log" >&2
  exit 3
fi
batch "$deepinfer" batch examples/extraction.jsonl -o "$folder/daemon-answers.jsonl" --socket "$socket"
"$deepinfer" jobs --socket "$socket"
echo "$deepinfer drain --wait --socket $socket"
"$deepinfer" drain --wait --socket "$socket"
kill -TERM "$daemon"
wait "$daemon"
trap - EXIT

step "6 of 6: both outputs, ids and times aside"
python3 examples/compare_answers.py "$folder/answers.jsonl" "$folder/daemon-answers.jsonl" || status=$?

cat <<END

Answers, as OpenAI's batch API would write them: $folder/answers.jsonl
The daemon's log: $folder/deepinferd.log
Try next:
  $deepinfer generate --embedded --model $model --prompt "Once upon a time" --max-tokens 60
  $deepinferd --model $model &        and then the same commands without --embedded
  $deepinfer batch --help
  examples/embedded/README.md   the engine inside a C++ program
  examples/submit/README.md     a C++ program that works with the daemon
  README.md                     where to read on
END
exit "$status"
