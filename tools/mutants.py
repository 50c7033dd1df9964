#!/usr/bin/env python3
"""Plants the one-line bugs of tools/mutants/*.json, and looks whether the simulations find them.

A mutant is {name, file, old, new, filter, seeds}: in `file`, `old` (which occurs once) becomes
`new`; then `sim_test --gtest_filter=filter` must fail within so many seeds. A crash, or a run that
does not end, counts as found. Everything happens in a copy of the tree, build/mutants; yours is not
touched. Exits with 0 only if every mutant was caught.
"""
import argparse
import fcntl
import filecmp
import fnmatch
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPY = ROOT / "build/mutants"
BUILD = COPY / "build/release"
SEEDS_AT_ONCE = 50  # A run that crashes or hangs does not say with which seed it did.
RUN_SECONDS_MAX = 300  # Of so many seeds, which take some seconds.
JOBS = "2"


class Trouble(Exception):
    """The list does not fit the code, or the code is not sound: nothing can be said of mutants."""


def call(command, seconds=None, **environment):
    """Returns (exit code, output); None instead of the code after so many seconds."""
    process = subprocess.Popen(command, cwd=COPY, env={**os.environ, **environment}, text=True,
                               errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)
    try:
        output = process.communicate(timeout=seconds)[0]
        return process.returncode, output
    except subprocess.TimeoutExpired:
        return None, ""
    finally:  # Also when we are interrupted: with all that it has started.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def read_mutants(patterns):
    mutants = []
    for path in sorted((ROOT / "tools/mutants").glob("*.json")):
        mutants += json.loads(path.read_text())
    names = [mutant["name"] for mutant in mutants]
    for name in names:
        if names.count(name) > 1:
            raise Trouble(f"two mutants have the name {name}")
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise Trouble(f"no mutant has the name {pattern}")
    chosen = [mutant for mutant in mutants
              if not patterns or any(fnmatch.fnmatch(mutant["name"], one) for one in patterns)]
    stale = []
    for mutant in chosen:
        count = (ROOT / mutant["file"]).read_text().count(mutant["old"])
        if count != 1:
            stale.append(f"{mutant['name']}: its text occurs {count} times in {mutant['file']}")
    if stale:
        raise Trouble("the list must follow the code.\n" + "\n".join(stale))
    return chosen


def copy_tree():
    """Files that are equal are left alone, so a copy that was kept is built again quickly."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout
    wanted = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    COPY.mkdir(parents=True, exist_ok=True)
    for path in list(COPY.rglob("*")):
        name = str(path.relative_to(COPY))
        if path.is_file() and not name.startswith("build/") and name not in wanted:
            path.unlink()
    for name in wanted:
        place = COPY / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists() or not filecmp.cmp(ROOT / name, place, shallow=False):
            shutil.copyfile(ROOT / name, place)
            shutil.copymode(ROOT / name, place)


def build():
    """Returns what the compiler complains about; nothing if it does not."""
    steps = [["cmake", "--build", "--preset", "release", "--target", "sim_test", "-j", JOBS]]
    if not (BUILD / "build.ninja").exists():
        steps.insert(0, ["cmake", "--preset", "release"])
    for step in steps:
        # As scripts/lib.sh has it; the copy stands for the tree.
        code, output = call(["bash", "-c", 'source scripts/lib.sh && exec "$@"', "-", *step])
        if code != 0:
            return output
    return ""


def run_seeds(filters, first, count, seconds=RUN_SECONDS_MAX):
    """Returns (what happened, the seed if it is known); nothing happened if all is well."""
    code, output = call([str(BUILD / "sim_test"), "--gtest_brief=1", f"--gtest_filter={filters}"],
                        seconds, SEEDS=str(count), SEED_FROM=str(first))
    if code == 0:
        return "", None
    seed = re.search(r"SEED=(\d+)", output)
    if code == 1:
        return "fails", int(seed[1]) if seed else None
    return "hangs" if code is None else "crashes", None


def first_failure(filters, seeds):
    """Returns (what happened, seed); nothing if all seeds pass."""
    for first in range(0, seeds, SEEDS_AT_ONCE):
        count = min(SEEDS_AT_ONCE, seeds - first)
        what, seed = run_seeds(filters, first, count)
        if what and seed is None:
            for seed in range(first, first + count):
                if run_seeds(filters, seed, 1, RUN_SECONDS_MAX / SEEDS_AT_ONCE * 10)[0]:
                    break
        if what:
            return what, seed
    return "", None


def check_sound(mutants, seeds):
    complaint = build()
    if complaint:
        raise Trouble("the tree does not compile:\n" + complaint)
    for filters in sorted({mutant["filter"] for mutant in mutants}):
        most = max(seeds or one["seeds"] for one in mutants if one["filter"] == filters)
        begun = time.monotonic()
        what, seed = first_failure(filters, most)
        if what:
            raise Trouble(f"without a mutant {filters} {what} with seed {seed}")
        print(f"{filters}: {most} seeds pass, {time.monotonic() - begun:.0f} s", flush=True)


def try_mutant(mutant, seeds):
    """Returns what became of it, as a line of the table."""
    path = COPY / mutant["file"]
    sound = path.read_text()
    path.write_text(sound.replace(mutant["old"], mutant["new"]))
    begun = time.monotonic()
    try:
        complaint = build()
        if complaint:
            raise Trouble(f"{mutant['name']} does not compile:\n{complaint}")
        what, seed = first_failure(mutant["filter"], seeds or mutant["seeds"])
    finally:
        path.write_text(sound)
    result = f"caught [{seed}]" if what else "SURVIVES"
    extra = f" {what}" if what not in ("", "fails") else ""
    return f"{mutant['name']:50} {result}{extra}, {time.monotonic() - begun:.0f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="of mutants, or patterns such as 'e*'; else all")
    parser.add_argument("--seeds", type=int, help="instead of the number that each mutant has")
    parser.add_argument("--list", action="store_true", help="show the mutants, and do nothing")
    parser.add_argument("--keep", action="store_true", help="leave the copy for the next time")
    options = parser.parse_args()
    mutants = read_mutants(options.names)
    if options.list:
        for one in mutants:
            print(f"{one['name']:50} {one['file']}, {one['seeds']} seeds of {one['filter']}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    COPY.parent.mkdir(exist_ok=True)
    lock = open(COPY.parent / "mutants.lock", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    lines = []
    try:
        copy_tree()
        check_sound(mutants, options.seeds)
        for one in mutants:
            lines.append(try_mutant(one, options.seeds))
            print(lines[-1], flush=True)
    finally:
        if not options.keep:
            shutil.rmtree(COPY, ignore_errors=True)
    survivors = [line for line in lines if "SURVIVES" in line]
    print("\n" + "\n".join(sorted(lines, key=lambda line: "SURVIVES" in line)))
    print(f"{len(lines) - len(survivors)} of {len(lines)} mutants were caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Trouble as trouble:
        sys.exit(f"mutants.py: {trouble}")
    except KeyboardInterrupt:
        sys.exit(130)
