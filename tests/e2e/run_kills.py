"""Kills `dunlin run` at random instants, starts the same line again until it ends, and checks what a
user is left with: every task's output, whole, at least once; files of --results and lines of
--joblog exactly once; nothing twice that was not announced; no state left over.

    run_kills.py DUNLIN FOLDER --seed N --kills K [--modes a,b] [--signals A,B]

Knows nothing of Dunlin but its command line. Prints a table, and exits 1 if anything is missing.
"""
import argparse
import collections
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

TASKS = 120
LARGE_TASKS = 40
LARGE_BYTES = 300_000
DEADLINE_S = 60  # For one start.
STARTS_MAX = 6
PIPE_BYTES = 65536

MODES = {
    "plain": [],
    "keep": ["-k"],
    "tag": ["--tag"],
    "results": ["--results", "res"],
    "joblog": ["--joblog", "log"],
    "both": ["--results", "res", "--joblog", "log"],
    "large": [],
    "large-keep": ["-k"],
    "large-results": ["--results", "res"],
}
SIGNALS = ["KILL", "INT", "TERM", "HUP", "PIPE", "READER"]
NAMED = {"INT": 130, "TERM": 130, "HUP": 130, "KILL": -9, "PIPE": 141, "READER": 141}
TWICE = re.compile(r"the last (\d+) outputs? may appear twice")


def large_output(value):
    """What the shell line of a large task writes."""
    line = f"task {value} writes this line many times\n".encode()
    body = (line * (LARGE_BYTES // len(line) + 1))[:LARGE_BYTES]
    return f"begin {value}\n".encode() + body + f"\nend {value}\n".encode()


class Trial:
    def __init__(self, dunlin, folder, mode, what, rng):
        self.folder = folder
        self.mode, self.what, self.rng = mode, what, rng
        self.large = mode.startswith("large")
        self.values = [str(i) for i in range(1, (LARGE_TASKS if self.large else TASKS) + 1)]
        line = "echo {} >>started; sleep 0.0$(( {} % 3 )); echo {}; echo e{} >&2"
        if self.large:
            line = ("echo {} >>started; echo begin {}; yes task {} writes this line many times | "
                    f"head -c {LARGE_BYTES}; echo; echo end {{}}; echo e{{}} >&2")
        self.line = [dunlin, "run", "-j4", *MODES[mode], line, ":::", *self.values]
        self.shown = folder / "shown"
        self.said = folder / "said"
        self.environment = dict(os.environ, XDG_STATE_HOME=str(folder / "state"))
        self.unread_max = 0
        self.segments = []  # Where the output of each start begins.
        self.problems = []

    def starts(self):
        try:
            return (self.folder / "started").read_bytes().count(b"\n")
        except FileNotFoundError:
            return 0

    def spawn(self, out):
        self.segments.append(self.shown.stat().st_size if self.shown.exists() else 0)
        with open(self.said, "ab") as said:
            return subprocess.Popen(self.line, cwd=self.folder, stdout=out, stderr=said,
                                    stdin=subprocess.DEVNULL, env=self.environment)

    def start_and_kill(self):
        """Returns True if it ended by itself before it was hit."""
        target = self.starts() + self.rng.randrange(2, len(self.values))
        if self.what == "READER":
            return self.start_with_short_reader()
        with open(self.shown, "ab") as out:
            process = self.spawn(out)
        deadline = time.monotonic() + DEADLINE_S
        while process.poll() is None and self.starts() < target:
            if time.monotonic() > deadline:
                break
            time.sleep(0.001)
        time.sleep(self.rng.random() * 0.02)
        if process.poll() is None:
            process.send_signal(getattr(signal, "SIG" + self.what))
        return self.ended(process)

    def start_with_short_reader(self):
        """A reader that takes some bytes, says so, and goes away."""
        read, write = os.pipe()
        process = self.spawn(write)
        os.close(write)
        left = self.rng.randrange(1, 400_000 if self.large else 400)
        with open(self.shown, "ab") as out:
            while left > 0:
                piece = os.read(read, min(left, 65536))
                if not piece:
                    break
                out.write(piece)
                left -= len(piece)
            out.write(b"\n")  # It may have left in the middle of a line.
        os.close(read)
        # It had written all before the reader left: what was unread then is the reader's loss, as
        # with any program, and no more than a pipe holds.
        complete = self.ended(process)
        self.unread_max = PIPE_BYTES if complete else 0
        return complete

    def ended(self, process):
        try:
            code = process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self.problems.append("it did not end")
            return True
        if code == 0:
            return True
        if code != NAMED[self.what]:
            self.problems.append(f"exit code {code} after {self.what}")
        return False

    def run(self):
        for _ in range(self.rng.randrange(1, STARTS_MAX)):
            if self.start_and_kill():
                break
        else:
            with open(self.shown, "ab") as out:
                process = self.spawn(out)
            if process.wait(DEADLINE_S) != 0:
                self.problems.append(f"the last start ended with {process.returncode}")
        self.check()

    def check(self):
        shown = self.shown.read_bytes() if self.shown.exists() else b""
        said = self.said.read_text(errors="replace")
        announced = sum(int(number) for number in TWICE.findall(said))
        if "--results" in self.line:
            self.check_results()
        else:
            self.check_shown(shown, announced)
        if "--joblog" in self.line:
            self.check_joblog()
        runs = self.folder / "state/dunlin/runs"
        left = [entry.name for entry in runs.iterdir()] if runs.exists() else []
        if left:
            self.problems.append(f"left over: {left}")

    def check_shown(self, shown, announced):
        doubled = 0
        errors = self.said.read_bytes()
        for value in self.values:
            want = large_output(value) if self.large else f"{value}\n".encode()
            error = f"e{value}\n".encode()
            if self.mode == "tag":
                want, error = f"{value}\t".encode() + want, f"{value}\t".encode() + error
            if not self.large:
                want = b"\n" + want
            copies = (b"\n" + shown).count(want)
            if copies == 0 and self.unread_max >= len(want):
                self.unread_max -= len(want)
            elif copies == 0:
                self.problems.append(f"the output of {value} is missing")
            doubled += max(copies - 1, 0)
            if (b"\n" + errors).count(b"\n" + error) == 0:
                self.problems.append(f"the stderr of {value} is missing")
        if doubled > announced:
            self.problems.append(f"{doubled} outputs are there twice, {announced} were announced")
        if "-k" in self.line:
            self.check_order(shown)

    def check_order(self, shown):
        """With -k the outputs of each start are in order; what was cut off at its end does not count."""
        for begin, end in zip(self.segments, self.segments[1:] + [len(shown)]):
            lines = shown[begin:end].split(b"\n")[:-1]
            if self.what == "READER":
                lines = lines[:-1]
            numbers = [int(line.split()[-1]) for line in lines
                       if re.fullmatch(rb"begin \d+" if self.large else rb"\d+", line)]
            if numbers != sorted(set(numbers)):
                self.problems.append(f"not in order: {numbers[:20]}")

    def check_results(self):
        names = set()
        for path in (self.folder / "res").rglob("*"):
            if path.is_file():
                names.add(str(path.relative_to(self.folder / "res")))
        for number, value in enumerate(self.values, 1):
            want = {"stdout": large_output(value) if self.large else f"{value}\n".encode(),
                    "stderr": f"e{value}\n".encode(), "seq": str(number).encode()}
            for file, bytes_wanted in want.items():
                name = f"1/{value}/{file}"
                if name not in names:
                    self.problems.append(f"{name} is missing")
                    continue
                names.remove(name)
                if (self.folder / "res" / name).read_bytes() != bytes_wanted:
                    self.problems.append(f"{name} is wrong")
        if names:
            self.problems.append(f"files that nobody wanted: {sorted(names)[:5]}")

    def check_joblog(self):
        lines = (self.folder / "log").read_text().splitlines()
        if not lines or not lines[0].startswith("Seq\tHost\t"):
            self.problems.append("the joblog has no head")
        counts = collections.Counter()
        for line in lines[1:]:
            fields = line.split("\t")
            if len(fields) != 9 or fields[6:8] != ["0", "0"]:
                self.problems.append(f"a torn line of the joblog: {line[:60]!r}")
            counts[fields[0]] += 1
        for number in range(1, len(self.values) + 1):
            if counts[str(number)] != 1:
                self.problems.append(f"{counts[str(number)]} lines for {number} in the joblog")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dunlin")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--signals", default=",".join(SIGNALS))
    options = parser.parse_args()
    table = collections.Counter()
    failed = 0
    for number in range(options.kills):
        rng = random.Random(f"{options.seed}.{number}")
        mode = options.modes.split(",")[number % len(options.modes.split(","))]
        what = rng.choice(options.signals.split(","))
        # Files have no reader that could go away, and SIGPIPE is then a signal like any other.
        if what == "READER" and "results" in mode or what == "READER" and mode == "both":
            what = "KILL"
        folder = options.folder / f"trial-{number}"
        folder.mkdir(parents=True)
        trial = Trial(options.dunlin, folder, mode, what, rng)
        trial.run()
        table[f"{what:6} {mode}"] += 1
        if trial.problems:
            failed += 1
            print(f"trial {number} (seed {options.seed}, {what}, {mode}): "
                  f"{len(trial.problems)} problems, such as", *trial.problems[:6], sep="\n  ")
        else:
            shutil.rmtree(folder)
    for name, count in sorted(table.items()):
        print(f"{count:4} x {name}")
    print(f"{options.kills} trials, {failed} with problems, seed {options.seed}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
