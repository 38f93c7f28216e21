#!/usr/bin/env python3
"""Says whether two outputs of `deepinfer batch` hold the same records, ids, times and order aside.

    compare_answers.py ANSWERS.jsonl OTHER.jsonl

Exit codes: 0 the same, 1 different (each difference is named), 2 a file cannot be read.
"""

import json
import sys


def records(path):
    """The records of a file by custom_id, without what differs from run to run."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            response = record.get("response")
            if response:
                response.pop("request_id", None)
                response["body"].pop("id", None)
                response["body"].pop("created", None)
            found[record["custom_id"]] = record
    return found


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        left, right = (records(path) for path in sys.argv[1:])
    except (OSError, ValueError) as error:
        print(f"compare_answers: error: {error}", file=sys.stderr)
        return 2
    different = [name for name in sorted(left.keys() | right.keys(), key=str) if left.get(name) != right.get(name)]
    for name in different:
        print(f"{name}: {sys.argv[1]} says {left.get(name)}, {sys.argv[2]} says {right.get(name)}")
    print(f"{len(left)} and {len(right)} records, {len(left.keys() & right.keys()) - len(different)} the same")
    return 1 if different or not left else 0


if __name__ == "__main__":
    sys.exit(main())
