#!/usr/bin/env python3
"""Checks what neither the compiler nor clang-tidy can see: the shape of the code base itself.

Prints `path:line: breach` for each and exits 1 if there was any. Run as the test `tidy`.
"""
import collections
import fnmatch
import itertools
import pathlib
import re
import sys

COLUMNS_MAX = 100
FILE_LINES_MAX = 800
FOLDER_FILES_MAX = 20  # Without tests. A larger one has a reason in tools/layers.txt.

# Names of these folders are everybody's. The others have the namespace of their name, or this one.
SHARED_NAMES = {"base", "url", "store", "wire", "model", "testing"}
NAMESPACES = {"aws_protocol": "aws", "doors/aws": "aws", "doors/rest": "rest", "stores/amqp": "amqp",
              "stores/aws": "cloud", "stores/engine": "engine", "stores/mixed": "mixed",
              "stores/postgres": "postgres"}
INNER_NAMESPACES = {"dunlin::log", "dunlin::contract"}

# Pattern, what to use instead, and the paths under src/ that may use it all the same.
BANNED = [
    (r"_clock::now", "Env::clock", ["base/env_posix"]),
    (r"\bs?rand\(|std::random_device|std::mt19937", "Env::random", ["base/env_posix"]),
    (r"sleep_for|sleep_until|\bu?sleep\(", "a deadline given to the loop", []),
    (r"std::(jthread|thread|mutex|atomic|condition_variable)", "one owner for each state",
     ["base/env_posix", "base/lane", "base/log", "bench/", "doors/rest/", "net/outages",
      "retention/sweep_thread", "sdk/link", "sdk/receive", "sdk/worker", "stores/async_store",
      "stores/aws/http", "stores/aws/sqs_hints", "stores/engine/file_store",
      "stores/mixed/hint_sender", "stores/mixed/mixed_store", "stores/pg_async_store",
      "stores/postgres/link", "testing/", "worker/process/", "worker/slots/"]),
    (r"\bthrow\b", "Result<T>", []),
    (r"\bcatch \(", "Result<T>",
     ["base/memory", "doors/rest/server/service", "worker/slots/attempt", "worker/slots/slots"]),
    (r"std::cout|std::cerr|\bprintf\(", "base/log.h or cli/output.h", ["cli/output"]),
    (r"\bnew [A-Z]|\bdelete \w", "std::make_unique", ["stores/postgres/"]),  # SQL.
    (r"std::shared_ptr", "one owner",
     ["doors/aws/dynamo/expression.h", "sdk/", "stores/engine/file_store", "stores/local_engines",
      "stores/mixed/mixed_store", "stores/mixed_engine", "worker/mind/job_view.h",
      "worker/slots/slots.h"]),
    (r"\bquote\(([\w.]*\b)?(url|at|part)_?\)", "quote_url(), which hides passwords",
     ["doors/rest/server/call"]),
    (r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))", "TODO(#issue)", []),
]

# Names that were replaced because nobody but their author knew them, and what they are called now.
RETIRED = {"CallStore": "RequestStore", "Caller": "HubClientMind", "Climb": "Propagation",
           "Desk": "AsyncStore", "Doors": "StoreAccess", "Hub": "HubMind", "Plan": "JobView",
           "Taker": "PartitionAttempt", "Turns": "LedgerClient", "climb": "propagate",
           "shut": "revoke", "take_turn": "next_iterations"}
RETIRED_NAME = re.compile(rf"(?:(?:class|struct) ({'|'.join(RETIRED)})\b)|\b({'|'.join(RETIRED)})\(")

# What an opening says about threads, if it says anything.
THREADS = re.compile(r"\b(threads?|[Pp]ure)\b")
CASE = re.compile(r"case ((?:\w+::)*\w+)")

breaches = 0


def report(path, line, breach):
    global breaches
    breaches += 1
    print(f"{path}:{line}: {breach}")


def read_layers(path):
    """Returns {folder: folders it may include}, where "FOLDER tests" is what its tests may include
    besides, and the folders with a reason to be large. A folder may name only folders declared above
    it."""
    layers = {}
    reasons = set()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        rule, _, reason = line.partition("#")
        folder, colon, names = rule.partition(":")
        if not colon:
            continue
        if reason.strip():
            reasons.add(folder)
        allowed = {folder}
        for name in names.split():
            found = fnmatch.filter(layers, name)
            if not found:
                report(path, number, f"'{name}' is not declared above '{folder}'")
            allowed |= {*found}
        layers[folder] = allowed
    for folder in [name for name in layers if not name.endswith(" tests")]:
        layers.setdefault(f"{folder} tests", set())
        layers[f"{folder} tests"] |= {*layers[folder], "testing", "sim"}
    return layers, reasons


def check_header(path, lines):
    if not lines[0].startswith("// "):
        report(path, 1, "a header starts by saying what it is for")
    if "#pragma once" not in lines:
        report(path, 1, "no #pragma once")


def folder_of(name, layers):
    """The innermost folder of a file that has a layer of its own."""
    folder = name.rpartition("/")[0]
    while folder and folder not in layers:
        folder = folder.rpartition("/")[0]
    return folder


def is_bare(path, lines):
    """Whether a file does not open with what its reader must know first: in a header, from which
    threads it may be used; in a source without a header of its name, what it is for."""
    if path.suffix == ".h":
        opening = itertools.takewhile(lambda line: line.startswith("//"), lines)
        return not THREADS.search(" ".join(opening))
    has_header = path.with_suffix(".h").exists() or path.name.endswith("_test.cc")
    return not has_header and not lines[0].startswith("// ")


def check_opening(path, lines):
    if is_bare(path, lines):
        report(path, 1, "the opening says nothing of threads (`Pure.`, `One thread.`, ...)"
               if path.suffix == ".h" else "a source without a header starts by saying what it is for")


def is_enumerator(label, enums):
    """Whether a case's label names a value of an enum class of ours, or of an enum of a proto."""
    scope = label.split("::")[:-1]
    return bool(scope) and (scope[-1] in enums or not {"model", "wire"}.isdisjoint(scope))


def check_switches(path, lines, enums):
    """A switch over an enum names each value, so that a new one does not compile until somebody has
    thought of it. As clang-format leaves them, cases stand two columns right of their switch."""
    switches = []  # Those around the line: column, whether it is over an enum, line of its default.
    for number, line in enumerate(lines, 1):
        column = len(line) - len(line.lstrip())
        while line and switches and column <= switches[-1][0]:
            switches.pop()
        if line.lstrip().startswith("switch ("):
            switches.append([column, False, 0])
        elif switches and column == switches[-1][0] + 2:
            case = CASE.match(line.lstrip())
            if case and is_enumerator(case[1], enums):
                switches[-1][1] = True
            if line.lstrip().startswith("default:"):
                switches[-1][2] = number
            if switches[-1][1] and switches[-1][2]:
                report(path, switches[-1][2], "no default: in a switch over an enum, name all values")
                switches[-1][2] = 0


def namespace_of(name):
    """Of a file below src/: folders inside a folder share its namespace."""
    top = name.partition("/")[0]
    if top in SHARED_NAMES:
        return "dunlin"
    for folder, namespace in NAMESPACES.items():
        if name.startswith(folder + "/"):
            return f"dunlin::{namespace}"
    return f"dunlin::{top}"


def check_namespaces(path, name, lines):
    """A file opens the namespace of its folder. Others it opens only to declare their classes."""
    for number, line in enumerate(lines, 1):
        opened = re.match(r"namespace (\w[\w:]*) \{", line)
        if not opened or opened[1] == namespace_of(name) or opened[1] in INNER_NAMESPACES:
            continue
        inside = itertools.takewhile(lambda text: not text.startswith("}"), lines[number:])
        if not all(re.fullmatch(r"(class|struct) \w+;|", text) for text in inside):
            report(path, number, f"the namespace here is {namespace_of(name)}")


def check_include(path, number, line, who, layers, used):
    included = re.match(r'#include "([\w/]+)/\w', line)
    if not included:
        return
    used.add((who, included[1]))
    if included[1] not in layers.get(who, ()):
        report(path, number, f"{who} may not include {included[1]}/ (tools/layers.txt)")


def check_line(path, number, line, name, layers, used):
    if len(line) > COLUMNS_MAX:
        report(path, number, f"more than {COLUMNS_MAX} columns")
    check_include(path, number, line, folder_of(name, layers), layers, used)
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


def check_file(path, name, layers, used):
    lines = path.read_text().splitlines()
    if len(lines) > FILE_LINES_MAX:
        report(path, len(lines), f"more than {FILE_LINES_MAX} lines: split it by subject")
    if path.suffix == ".h":
        check_header(path, lines)
    if name == "main.cc":
        return
    check_namespaces(path, name, lines)
    if name.endswith("_test.cc") or "/contract" in name:
        for number, line in enumerate(lines, 1):
            check_include(path, number, line, f"{folder_of(name, layers)} tests", layers, used)
        return
    for number, line in enumerate(lines, 1):
        check_line(path, number, line, name, layers, used)


def check_allowances(path, layers, used):
    """An allowance that no file needs is a door left open for the next one."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        folder, colon, names = line.split("#")[0].partition(":")
        for name in names.split() if colon else []:
            if not any(who == folder and fnmatch.fnmatch(of, name) for who, of in used):
                report(path, number, f"{folder}/ includes nothing of {name}/: remove it here")


def check_map(guide, layers):
    """The map has the folders in the order of the layers, so a reader meets nothing unexplained."""
    order = list(layers)
    last = -1
    for number, line in enumerate(guide.read_text().splitlines(), 1):
        row = re.match(r"\| `src/([\w/]+)/`", line)
        if not row or row[1] not in order:
            continue
        if order.index(row[1]) < last:
            report(guide, number, f"src/{row[1]}/ stands lower in the map than in tools/layers.txt")
        last = max(last, order.index(row[1]))


def check_words(path, lines):
    """No declaration or call has a retired name."""
    for number, line in enumerate(lines, 1):
        found = RETIRED_NAME.search(line.split("//")[0])
        if found:
            name = found[1] or found[2]
            report(path, number, f"'{name}' is called {RETIRED[name]} here")


def check_glossary(guide):
    """One row for a word, and one word for an idea: none stands in two rows."""
    rows = {}
    text = guide.read_text().partition("## Words\n")[2].partition("\n## ")[0]
    for row in re.findall(r"^\| ([^|]+) \| [^|]", text, re.M):
        for word in re.split(r", ", row):
            if word in rows:
                report(guide, 1, f"the glossary has '{word}' twice")
            rows[word] = True
    if not rows:
        report(guide, 1, "there is no glossary under '## Words'")


def check_all(root):
    """What holds for src/ and sim/ alike, for tests too."""
    texts = {path: path.read_text().splitlines() for folder in ("src", "sim")
             for path in sorted((root / folder).rglob("*")) if path.suffix in (".h", ".cc")}
    declared = re.compile(r"\s*enum class (\w+)")
    enums = {found[1] for lines in texts.values() for found in map(declared.match, lines) if found}
    for path, lines in texts.items():
        check_opening(path, lines)
        check_switches(path, lines, enums)
        check_words(path, lines)


def check_sizes(source, reasons):
    """No folder has many files without a reason."""
    counts = collections.Counter(
        str(path.parent.relative_to(source)) for path in source.rglob("*")
        if path.suffix in (".h", ".cc") and not re.search(r"_test\.cc$|^test_", path.name))
    for folder, files in sorted(counts.items()):
        large = files > FOLDER_FILES_MAX
        if large and folder not in reasons:
            report(source / folder, 1, f"{files} files: split it by subject, or write the reason "
                   "behind its line in tools/layers.txt")


def main(root):
    layers, reasons = read_layers(root / "tools/layers.txt")
    guide = root / "docs/ARCHITECTURE.md"
    source = root / "src"
    used = set()  # (folder, folder that it includes)
    for path in sorted(source.rglob("*")):
        if path.suffix in (".h", ".cc"):
            check_file(path, str(path.relative_to(source)), layers, used)
    check_all(root)
    check_sizes(source, reasons)
    for path in sorted((root / "include/dunlin").glob("*")):
        check_public_header(path)
    for folder in sorted(str(p.relative_to(source)) for p in source.rglob("*") if p.is_dir()):
        has_files = any(p.is_file() for p in (source / folder).iterdir())
        if folder not in layers and not has_files:
            continue
        if folder not in layers:
            report(source / folder, 1, "not in tools/layers.txt")
        if f"`src/{folder}/`" not in guide.read_text():
            report(guide, 1, f"the map does not mention src/{folder}/")
    check_allowances(root / "tools/layers.txt", layers, used)
    check_map(guide, layers)
    check_glossary(guide)
    print(f"tidy: {breaches} breaches")
    return breaches > 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
