#!/usr/bin/env python3
"""Shows the answers of a batch beside the expected ones.

Usage: show_answers.py OUTPUT.jsonl EXPECTED.jsonl [SUMMARY.json]

OUTPUT is what `deepinfer batch` wrote, SUMMARY what its --json printed; EXPECTED has {"custom_id", "expected"} a line.
Exits with 1 when an answer differs or is missing.
"""

import json
import shutil
import sys
import textwrap


def rows(path: str) -> list[dict]:
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def answer_of(record: dict) -> str:
    return record["response"]["body"]["choices"][0]["message"]["content"]


def print_speed(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        summary = json.load(file)
    print(
        f"{summary['seconds']:.1f} seconds; prompts {summary['prefill_tokens_per_second']:.0f} tokens/s, "
        f"answers {summary['decode_tokens_per_second']:.0f} tokens/s."
    )


def main() -> int:
    if len(sys.argv) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    answers = {record["custom_id"]: answer_of(record) for record in rows(sys.argv[1])}
    expected = rows(sys.argv[2])

    width = max(60, min(shutil.get_terminal_size((120, 24)).columns, 160))
    names = max(len(row["custom_id"]) for row in expected)
    right = 0
    for row in expected:
        answer = answers.get(row["custom_id"], "(no answer)")
        is_right = answer == row["expected"]
        right += is_right
        print(f"{row['custom_id']:<{names}}  {'ok     ' if is_right else 'DIFFERS'}  ", end="")
        room = width - names - 11
        print(textwrap.shorten(answer, room, placeholder="...") if is_right else answer)
        if not is_right:
            print(f"{'':<{names}}  expected {row['expected']}")
    print(f"\n{right} of {len(expected)} answers are as expected.")
    if len(sys.argv) == 4:
        print_speed(sys.argv[3])
    return 0 if right == len(expected) else 1


if __name__ == "__main__":
    sys.exit(main())
