#!/usr/bin/env python3
"""Makes extraction.jsonl and extraction.expected.jsonl from the held-out items of models/nano.

Usage: make_extraction.py [--check]    --check changes nothing and fails when a file would change

Taken are the first items of each kind of record in turn, in the order of the held-out file: those that ask without
thinking, at the usual effort, and bring no response format. Lines alternate between the short form and OpenAI's, three
to one, as a batch file may.
"""

import itertools
import json
import pathlib
import sys

EXAMPLES = pathlib.Path(__file__).resolve().parent
HELDOUT = EXAMPLES / "models/nano/heldout/extraction.jsonl"
COUNT = 32


def chosen_items() -> list[dict]:
    by_record: dict[tuple, list[dict]] = {}
    for line in HELDOUT.read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        if item["thinking"] or "response_format" in item or item["reasoning_effort"] != 75:
            continue
        by_record.setdefault(tuple(json.loads(item["expected"])), []).append(item)
    turns = itertools.zip_longest(*by_record.values())
    return [item for turn in turns for item in turn if item is not None][:COUNT]


def request(item: dict, number: int) -> dict:
    sampling = {"temperature": 0, "max_tokens": 128, "thinking": False}
    if number % 4 < 3:
        return {"custom_id": item["id"], "messages": item["messages"], "sampling_params": sampling}
    body = {"model": "nano", "messages": item["messages"], **sampling}
    return {"custom_id": item["id"], "method": "POST", "url": "/v1/chat/completions", "body": body}


def main() -> int:
    items = chosen_items()
    rows = {
        "extraction.jsonl": [request(item, number) for number, item in enumerate(items)],
        "extraction.expected.jsonl": [{"custom_id": item["id"], "expected": item["expected"]} for item in items],
    }
    stale = 0
    for name, objects in rows.items():
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in objects)
        file = EXAMPLES / name
        if "--check" not in sys.argv:
            file.write_text(text, encoding="utf-8")
        elif not file.is_file() or file.read_text(encoding="utf-8") != text:
            print(f"{name}: differs from what make_extraction.py makes")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
