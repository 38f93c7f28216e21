#!/usr/bin/env python3
"""Measures fastllm (ftllm on PyPI), the other engine that loads our checkpoints, as engine_bench.cpp measures ours.

Usage: peer_fastllm.py MODEL [--threads 1] [--prompt-length 300] [--new-tokens 64] [--repetitions 5] [--batch N ...]

Prints one line of JSON in the form of deepinfer-bench-engine. The same prompts, lengths, warm-up and definitions: decode
counts from the moment at which every request has its first token.
"""

import argparse
import ctypes
import json
import os
import statistics
import sys
import threading
import time


class Fastllm:
    """Requests by token ids through the library's C interface; its Python front end takes text only."""

    def __init__(self, folder: str, threads: int):
        from ftllm import llm

        llm.set_device_map("cpu")
        llm.set_cpu_threads(threads)
        self.library = llm.fastllm_lib
        self.model = llm.model(folder)

    def start(self, prompt: list[int], new_tokens: int) -> int:
        stop_count, stops = self.model.stop_token_ctypes([])
        greedy = (ctypes.c_bool(False), ctypes.c_float(1), ctypes.c_int(1), ctypes.c_float(1), ctypes.c_float(1))
        ids = (ctypes.c_int * len(prompt))(*prompt)
        return self.library.launch_response_llm_model(
            self.model.model, len(prompt), ids, ctypes.c_int(new_tokens), ctypes.c_int(0), *greedy,
            ctypes.c_bool(False), stop_count, stops,
        )  # fmt: skip

    def times_of(self, handle: int, times: list[float]) -> None:
        while self.library.fetch_response_llm_model(self.model.model, handle) > -1:
            times.append(time.perf_counter())


def measure(engine: Fastllm, args: argparse.Namespace, batch: int, serial: int) -> tuple[float, float, int]:
    """Prefill and decode rates of `batch` requests at once, in tokens a second, and the tokens of the shortest answer."""
    times: list[list[float]] = [[] for _ in range(batch)]
    begun = time.perf_counter()
    readers = []
    for i in range(batch):
        first = serial * batch + i
        prompt = [3 + (first if k == 0 else k) % 250 for k in range(args.prompt_length)]
        handle = engine.start(prompt, args.new_tokens)
        readers.append(threading.Thread(target=engine.times_of, args=(handle, times[i])))
        readers[-1].start()
    for reader in readers:
        reader.join()
    if not all(times):
        sys.exit("fastllm answered a request with no token")
    all_started = max(own[0] for own in times)
    ended = max(own[-1] for own in times)
    decoded = sum(moment > all_started for own in times for moment in own)
    shortest = min(len(own) for own in times)
    return batch * args.prompt_length / (all_started - begun), decoded / (ended - all_started), shortest


def summary(samples: list[float]) -> dict:
    return {
        "median": statistics.median(samples), "min": min(samples), "max": max(samples), "repetitions": len(samples)
    }  # fmt: skip


def run(args: argparse.Namespace) -> dict:
    from importlib.metadata import version

    engine = Fastllm(args.model, args.threads)
    decode, prefill, shortest = {}, {}, {}
    serial = 0
    for batch in args.batch:
        rates = []
        for _ in range(args.repetitions + 1):
            serial += 1
            rates.append(measure(engine, args, batch, serial))
        prefill[str(batch)] = summary([rate[0] for rate in rates[1:]])  # the first run is the warm-up
        decode[str(batch)] = summary([rate[1] for rate in rates[1:]])
        shortest[str(batch)] = min(rate[2] for rate in rates)  # it may end an answer before new_tokens
    parameters = {"threads": args.threads, "prompt_length": args.prompt_length, "new_tokens": args.new_tokens}
    return {
        "bench": "engine", "engine": "fastllm", "commit": version("ftllm"),
        "model": os.path.basename(os.path.normpath(args.model)), "parameters": parameters,
        "decode_tokens_per_second": decode, "prefill_tokens_per_second": prefill, "shortest_answer": shortest,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--prompt-length", type=int, default=300)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    args = parser.parse_args()

    sys.stdout.flush()
    standard_output = os.dup(1)
    os.dup2(2, 1)  # the library prints its progress to descriptor 1
    report = run(args)
    os.write(standard_output, (json.dumps(report) + "\n").encode())
    os._exit(0)  # its threads do not end


if __name__ == "__main__":
    main()
