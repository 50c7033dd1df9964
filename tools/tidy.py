#!/usr/bin/env python3
"""Checks what neither the compiler nor clang-tidy can see: the shape of the code base itself.

Prints `path:line: breach` for each and exits 1 if there was any. Run as the test `tidy`.
"""
import pathlib
import re
import sys

COLUMNS_MAX = 100
FILE_LINES_MAX = 800

# Pattern, what to use instead, and the paths under src/ that may use it all the same.
BANNED = [
    (r"_clock::now", "Env::clock", ["base/env_posix"]),
    (r"\bs?rand\(|std::random_device|std::mt19937", "Env::random", ["base/env_posix"]),
    (r"sleep_for|sleep_until|\bu?sleep\(", "a deadline given to the loop", []),
    (r"std::(jthread|thread|mutex|atomic|condition_variable)", "one owner for each state",
     ["base/env_posix", "base/log", "bench/",
      "engine/file_store", "base/lane", "backends/async_store", "backends/pg_async_store", "postgres/link", "cloud/http", "cloud/sqs_hints", "net/outages", "mixed/hint_sender", "mixed/mixed_store", "hub/test_hub", "hub/test_rest", "rest/", "retention/sweep_thread", "sdk/link", "sdk/receive", "sdk/worker",
      "worker/channel", "worker/orphans", "worker/process", "worker/slot", "worker/turns", "worker/usage"]),
    (r"\bthrow\b", "Result<T>", []),
    (r"\bcatch \(", "Result<T>", ["backends/", "base/json", "base/memory", "client/", "hub/main",
                             "rest/service", "worker/attempt", "worker/slots"]),
    (r"std::cout|std::cerr|\bprintf\(", "base/log.h or client/output.h", ["client/output"]),
    (r"\bnew [A-Z]|\bdelete \w", "std::make_unique", ["postgres/"]),  # SQL.
    (r"std::shared_ptr", "one owner", ["aws/expression.h", "backends/open", "backends/mixed", "mixed/mixed_store", "engine/file_store", "sdk/",
      "worker/slots.h", "worker/plan.h"]),
    (r"\bquote\(([\w.]*\b)?(url|at|part)_?\)", "quote_url(), which hides passwords", ["rest/call"]),
    (r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))", "TODO(#issue)", []),
]

breaches = 0


def report(path, line, breach):
    global breaches
    breaches += 1
    print(f"{path}:{line}: {breach}")


def read_layers(path):
    """Returns {folder: folders it may include}. A folder may name only folders declared above it."""
    layers = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        folder, colon, names = line.split("#")[0].partition(":")
        if not colon:
            continue
        for name in names.split():
            if name not in layers:
                report(path, number, f"'{name}' is not declared above '{folder}'")
        layers[folder] = {folder, *names.split()}
    return layers


def check_header(path, lines):
    if not lines[0].startswith("// "):
        report(path, 1, "a header starts by saying what it is for")
    if "#pragma once" not in lines:
        report(path, 1, "no #pragma once")


def check_line(path, number, line, name, layers):
    if len(line) > COLUMNS_MAX:
        report(path, number, f"more than {COLUMNS_MAX} columns")
    folder = name.split("/")[0]
    included = re.match(r'#include "(\w+)/', line)
    if included and included[1] not in layers.get(folder, ()):
        report(path, number, f"{folder}/ may not include {included[1]}/ (tools/layers.txt)")
    for pattern, instead, homes in BANNED:
        if re.search(pattern, line) and not name.startswith(tuple(homes)):
            report(path, number, f"{pattern} is banned here, use {instead}")


def check_public_header(path):
    """A header of the SDK stands on the standard library and on its like alone."""
    lines = path.read_text().splitlines()
    check_header(path, lines)
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX:
            report(path, number, f"more than {COLUMNS_MAX} columns")
        if line.startswith("#include") and not re.match(r"#include <(dunlin/\w+\.h|\w+)>", line):
            report(path, number, "a header of the SDK includes only <dunlin/...> and <...> of C++")


def check_file(path, name, layers):
    lines = path.read_text().splitlines()
    if len(lines) > FILE_LINES_MAX:
        report(path, len(lines), f"more than {FILE_LINES_MAX} lines: split it by subject")
    if path.suffix == ".h":
        check_header(path, lines)
    if name.endswith("_test.cc") or "/contract" in name or name == "main.cc":
        return
    for number, line in enumerate(lines, 1):
        check_line(path, number, line, name, layers)


def main(root):
    layers = read_layers(root / "tools/layers.txt")
    guide = root / "docs/ARCHITECTURE.md"
    source = root / "src"
    for path in sorted(source.rglob("*")):
        if path.suffix in (".h", ".cc"):
            check_file(path, str(path.relative_to(source)), layers)
    for path in sorted((root / "include/dunlin").glob("*")):
        check_public_header(path)
    for folder in sorted(p.name for p in source.iterdir() if p.is_dir()):
        if folder not in layers:
            report(source / folder, 1, "not in tools/layers.txt")
        if f"`src/{folder}/`" not in guide.read_text():
            report(guide, 1, f"the map does not mention src/{folder}/")
    print(f"tidy: {breaches} breaches")
    return breaches > 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
