#!/usr/bin/env python3
"""What does the daemon cost beside the engine in one's own process? Measures the real programs, in turns.

Usage: daemon_bench.py [--programs build/release/bin] [--model examples/models/nano] [--commit NAME] [--pairs 5]
                       [--starts 5] [--idle-seconds 20] [--requests 2000] [--json]

Ready time, memory and processor time at rest, the wall time of a batch of one-token requests and the rate of a longer one,
each through deepinferd and with --embedded. Prints one line of JSON, then a table unless --json.
Exit codes: 0 measured, 1 a program failed, 2 wrong usage.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEGABYTE = 1e6
MEMORY_ALLOWANCE = 100 * MEGABYTE  # beside checkpoint and caches
LONGEST_START = 60.0  # seconds until the bench gives up
LONGEST_STOP = 60.0


class Failed(Exception):
    """A program did not do what is measured."""


def environment(**more: str) -> dict[str, str]:
    """Nothing of the caller's settings."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    return kept | more


class Daemon(contextlib.AbstractContextManager):
    """deepinferd with a notify socket of ours; `ready_seconds` is the time from exec to READY=1."""

    def __init__(self, args: argparse.Namespace, folder: pathlib.Path):
        self.path = folder / "d.sock"
        self.log = folder / "daemon.log"
        notify_path = folder / "notify"
        notify_path.unlink(missing_ok=True)
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind(str(notify_path))
        notify.settimeout(0.2)
        words = [str(args.programs / "deepinferd"), "--model", str(args.model), "--socket", str(self.path)]
        with self.log.open("wb") as log, notify:
            begun = time.monotonic()
            self.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(NOTIFY_SOCKET=str(notify_path))
            )
            try:
                self.ready_seconds = self.wait_ready(notify, begun)
            except BaseException:
                self.process.kill()
                self.process.wait()
                raise

    def wait_ready(self, notify: socket.socket, begun: float) -> float:
        while time.monotonic() - begun < LONGEST_START:
            try:
                message = notify.recv(65536)
            except TimeoutError:
                message = b""
            if b"READY=1" in message.split(b"\n"):
                return time.monotonic() - begun
            if self.process.poll() is not None:
                raise Failed(f"deepinferd ended with {self.process.returncode} before it was ready: {self.log_text()}")
        raise Failed(f"deepinferd was not ready after {LONGEST_START:.0f} s: {self.log_text()}")

    def log_text(self) -> str:
        return self.log.read_text(errors="replace").strip()[-600:]

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(LONGEST_STOP)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failed("deepinferd did not stop on SIGTERM") from None
        if code != 0:
            raise Failed(f"deepinferd ended with {code}: {self.log_text()}")

    def memory(self) -> dict[str, int]:
        """Bytes. rss counts shared pages in full, pss by share; private pages are nobody else's."""
        fields = {}
        for line in pathlib.Path(f"/proc/{self.process.pid}/smaps_rollup").read_text().splitlines()[1:]:
            name, value = line.split(":")
            fields[name] = int(value.split()[0]) * 1024
        return {
            "rss": fields["Rss"],
            "pss": fields["Pss"],
            "private": fields["Private_Clean"] + fields["Private_Dirty"],
            "shared": fields["Shared_Clean"] + fields["Shared_Dirty"],
            "anonymous": fields["Anonymous"],
        }

    def processor_seconds(self) -> float:
        """Time on a processor of all threads so far, as the scheduler counts it (nanoseconds)."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def summary(samples: list[float]) -> dict:
    return {
        "median": statistics.median(samples), "min": min(samples), "max": max(samples), "repetitions": len(samples)
    }  # fmt: skip


def write_input(path: pathlib.Path, requests: int, tokens: int) -> None:
    """Short prompts, no two alike, and answers of a fixed length: what is left is the way of each request."""
    params = {"max_tokens": tokens, "temperature": 0, "ignore_eos": True}
    with path.open("w", encoding="utf-8") as file:
        for i in range(requests):
            line = {"custom_id": f"r{i}", "prompt": f"Order {i}: {i % 13} chairs for", "sampling_params": params}
            file.write(json.dumps(line) + "\n")


def answers_in(path: pathlib.Path) -> dict[str, object]:
    """What must not depend on the way: choices by custom_id."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {record["custom_id"]: record["response"]["body"]["choices"] for record in records}


class Batch:
    """`deepinfer batch` of one input, through the daemon or embedded."""

    def __init__(self, args: argparse.Namespace, daemon: Daemon, source: pathlib.Path, requests: int):
        self.program = str(args.programs / "deepinfer")
        self.source = source
        self.requests = requests
        self.ways = {
            "daemon": ["--socket", str(daemon.path)],
            "embedded": ["--embedded", "--model", str(args.model)],
        }
        self.answers: dict[str, object] = {}

    def run(self, way: str) -> dict:
        """Wall seconds of the whole command, and its own summary."""
        target = self.source.with_suffix(f".{way}.jsonl")
        for left in (target, target.with_suffix(".errors.jsonl")):
            left.unlink(missing_ok=True)
        words = [self.program, "batch", str(self.source), "-o", str(target), "--progress", "none", "--json"]
        begun = time.monotonic()
        done = subprocess.run(words + self.ways[way], capture_output=True, text=True, env=environment())
        seconds = time.monotonic() - begun
        if done.returncode != 0:
            raise Failed(f"deepinfer batch ({way}) ended with {done.returncode}: {done.stderr.strip()[-600:]}")
        answers = answers_in(target)
        if len(answers) != self.requests or self.answers.setdefault("any", answers) != answers:
            raise Failed(f"the answers of deepinfer batch ({way}) are not those of the runs before it")
        report = json.loads(done.stdout)
        tokens = report["usage"]["completion_tokens"]
        return {"seconds": seconds, "tokens_per_second": tokens / report["seconds"]}

    def pairs(self, count: int) -> list[dict[str, dict]]:
        """Both ways in turns, the first one changing. The first pair warms up and is not counted."""
        measured = []
        for i in range(count + 1):
            order = ["daemon", "embedded"] if i % 2 == 0 else ["embedded", "daemon"]
            measured.append({way: self.run(way) for way in order})
        return measured[1:]


def compare(batch: Batch, count: int, field: str) -> dict:
    pairs = batch.pairs(count)
    return {
        "daemon": summary([pair["daemon"][field] for pair in pairs]),
        "embedded": summary([pair["embedded"][field] for pair in pairs]),
        "ratio": summary([pair["daemon"][field] / pair["embedded"][field] for pair in pairs]),
    }


def idle_share(daemon: Daemon, seconds: float) -> float:
    """Of one processor, in the given time without a client."""
    time.sleep(1)  # what the start left to do
    before, begun = daemon.processor_seconds(), time.monotonic()
    time.sleep(seconds)
    return (daemon.processor_seconds() - before) / (time.monotonic() - begun)


def checkpoint_bytes(model: pathlib.Path) -> int:
    return sum(path.stat().st_size for path in model.glob("model-*.safetensors"))


def measure(args: argparse.Namespace, folder: pathlib.Path) -> dict:
    starts = []
    for _ in range(args.starts):
        with Daemon(args, folder) as daemon:
            starts.append(daemon.ready_seconds)
    short, long = folder / "short.jsonl", folder / "long.jsonl"
    write_input(short, args.requests, tokens=1)
    write_input(long, 64, tokens=96)
    with Daemon(args, folder) as daemon:
        share = idle_share(daemon, args.idle_seconds)
        at_start = daemon.memory()
        wall = compare(Batch(args, daemon, short, args.requests), args.pairs, "seconds")
        rate = compare(Batch(args, daemon, long, 64), args.pairs, "tokens_per_second")
        time.sleep(1)
        after_work = daemon.memory()
    return {
        "ready_seconds": summary(starts),
        "memory_at_start": at_start,
        "memory_after_work": after_work,
        "checkpoint_bytes": checkpoint_bytes(args.model),
        "idle_share_of_a_core": share,
        "one_token_batch_seconds": wall,
        "long_batch_tokens_per_second": rate,
    }


def goals_of(results: dict) -> list[dict]:
    """Each with what was measured. Memory is held against less than is allowed: caches count as nothing."""
    allowed = results["checkpoint_bytes"] + MEMORY_ALLOWANCE
    rows = [
        ("ready after exec, s", 1.0, results["ready_seconds"]["median"]),
        ("resident at start / (checkpoint + 100 MB)", 1.3, results["memory_at_start"]["rss"] / allowed),
        ("resident after work / (checkpoint + 100 MB)", 1.3, results["memory_after_work"]["rss"] / allowed),
        ("idle, % of a core", 0.2, 100 * results["idle_share_of_a_core"]),
        ("one-token batch, daemon / embedded", 1.05, results["one_token_batch_seconds"]["ratio"]["median"]),
    ]
    return [
        {"what": what, "at_most": bound, "measured": value, "verdict": "met" if value <= bound else "missed"}
        for what, bound, value in rows
    ]


def machine() -> dict:
    names = [line for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    cpu = names[0].split(":", 1)[1].strip() if names else "unknown"
    return {"cpu": cpu, "processors": os.cpu_count(), "kernel": os.uname().release}


def spread(values: dict, digits: int) -> str:
    return f"{values['median']:.{digits}f} ({values['min']:.{digits}f} .. {values['max']:.{digits}f})"


def print_table(report: dict) -> None:
    results = report["results"]
    print(f"\n{'goal':<46} {'at most':>8} {'measured':>9}")
    for goal in report["goals"]:
        print(f"{goal['what']:<46} {goal['at_most']:>8.2f} {goal['measured']:>9.3f}   {goal['verdict']}")
    print(f"\n{'quantity':<46} median (least .. most)")
    print(f"{'ready after exec, s':<46} {spread(results['ready_seconds'], 3)}")
    for name, digits in (("one_token_batch_seconds", 2), ("long_batch_tokens_per_second", 0)):
        for way in ("daemon", "embedded"):
            print(f"{name.replace('_', ' ') + ', ' + way:<46} {spread(results[name][way], digits)}")
        print(f"{'  daemon / embedded':<46} {spread(results[name]['ratio'], 3)}")
    for moment in ("memory_at_start", "memory_after_work"):
        parts = ", ".join(f"{name} {size / MEGABYTE:.1f}" for name, size in results[moment].items())
        print(f"{moment.replace('_', ' ') + ', MB':<46} {parts}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / "examples/models/nano")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--idle-seconds", type=float, default=20)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    for program in ("deepinferd", "deepinfer"):
        if not os.access(args.programs / program, os.X_OK):
            parser.error(f"no {program} in {args.programs}: build it, or name its folder with --programs")
    if not args.model.is_dir() or args.pairs < 1 or args.starts < 1 or args.requests < 1:
        parser.error("--model names a checkpoint folder; the counts are 1 and more")
    return args


def main() -> int:
    args = parse()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="deepinfer-bench-"))
    try:
        results = measure(args, folder)
    except Failed as failure:
        print(f"daemon_bench: error: {failure}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder)
    parameters = {name: getattr(args, name) for name in ("pairs", "starts", "idle_seconds", "requests")}
    report = {
        "bench": "daemon", "commit": args.commit, "machine": machine(), "model": args.model.name,
        "parameters": parameters, "results": results, "goals": goals_of(results),
    }  # fmt: skip
    print(json.dumps(report))
    if not args.json:
        print_table(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
