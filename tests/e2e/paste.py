"""Pastes what a document says into a shell, as a reader would, and compares what comes with what is shown.

    paste.py FOLDER USER DOCUMENT   in FOLDER, which has the reader's own files; USER is the name shown

A console block is indented and has lines that begin with `$ `; what follows such a line is what it
prints. A block in ```sh fences has commands alone. The comment `<!-- not pasted: REASON -->` in front
of a block leaves it out. Numbers, ids, sizes and times are not compared, `...` stands for anything,
`lab1` for the machine's name, and a document may leave out lines.

A command must end with 0. One with & in the end is waited for until it says something.
"""

import os
import re
import select
import subprocess
import sys
import time

PATIENCE_S = 60  # Of any command; what never happens.
PORTS = ["7070", "7071", "7072", "9324"]

SHELL = r"""
while IFS= read -r -d '' -u 9 command; do
  eval "$command" </dev/null
  code=$?
  printf '\n@@%s\n' "$code"
done 2>&1
"""


def blocks(text):
    """(line, 'console' or 'sh', lines, reason) of each; the reason not to paste it, or None."""
    reason, fence, lines, found = None, None, [], []
    rows = text.split("\n")
    number = 0
    while number < len(rows):
        row = rows[number]
        mark = re.fullmatch(r"<!-- not pasted: (.+) -->", row)
        start = number
        if mark:
            reason = mark[1]
        elif row.startswith("```"):
            number += 1
            lines = []
            while not rows[number].startswith("```"):
                lines.append(rows[number])
                number += 1
            if row == "```sh":
                found.append((start + 1, "sh", lines, reason))
            reason = None
        elif row.startswith("    ") and (start == 0 or not rows[start - 1].strip() or mark):
            lines = []
            while number < len(rows) and (rows[number].startswith("    ") or not rows[number].strip()):
                lines.append(rows[number][4:])
                number += 1
            number -= 1
            while lines and not lines[-1].strip():
                lines.pop()
            if any(line.startswith("$ ") for line in lines):
                found.append((start + 1, "console", lines, reason))
            elif not reason:
                found.append((start + 1, "unknown", lines, None))
            reason = None
        elif row.strip():
            reason = None
        number += 1
    return found


def commands(kind, lines):
    """(command, what it prints) of each in the block."""
    found = []
    for line in lines:
        if kind == "sh":
            if found and found[-1][0].endswith("\\"):
                found[-1] = (found[-1][0] + "\n" + line, [])
            elif re.match(r"\s|do\b|done\b", line) and found:
                found[-1] = (found[-1][0] + "\n" + line, [])
            elif line.strip():
                found.append((line, []))
        elif line.startswith("$ "):
            found.append((line[2:], []))
        elif found and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1] = (found[-1][0] + "\n" + line, [])
        elif found:
            found[-1][1].append(line)
    return found


def kind_of(line):
    """The line without what differs from run to run."""
    line = re.sub(r"\bjust now\b", "0 ago", line)
    line = re.sub(r"\b[0-9a-f]{8}-[0-9a-f.]+(-[0-9a-f]+)*", "0", line)  # Also one cut with dots.
    line = re.sub(r"\b(?=[0-9a-z]*[0-9])[0-9a-z]{13}\b|\b(?=[0-9a-f]*[0-9])[0-9a-f]{16,}\b", "0", line)
    line = re.sub(r"[0-9]+([.,:-][0-9]+)*", "0", line)
    line = re.sub(r"\b0( ?(us|ms|s|m|h|d|B|KiB|MiB|GiB)0?)+\b", "0", line)
    line = re.sub(r"\b(task|job|message|lease|segment|batche?|record|row|blob|table|queue)s\b", r"\1", line)
    return " ".join(line.split())


def like(shown, came):
    """Whether a line is what is shown; a cell of a table may be cut short by `...`."""
    parts = [re.escape(kind_of(part)).replace("lab0", r"\S+") for part in shown.split("...")]
    return re.fullmatch(r"\s*" + r".*".join(parts) + r"\s*", kind_of(came)) is not None


def missing(shown, came):
    """The first of the shown lines that did not come, in order; None if all did."""
    rest = iter(came)
    for line in shown:
        if not line.strip() or line.strip() == "...":
            continue
        if not any(like(line, one) for one in rest):
            return line
    return None


class Shell:
    def __init__(self, folder, environment):
        commands_out, self.commands = os.pipe()
        self.output, output_in = os.pipe()
        os.dup2(commands_out, 9)
        os.set_inheritable(9, True)
        self.bash = subprocess.Popen(["bash", "-c", SHELL], cwd=folder, env=environment, pass_fds=[9],
                                     stdin=subprocess.DEVNULL, stdout=output_in, stderr=output_in)
        os.close(commands_out)
        os.close(output_in)
        os.close(9)
        self.bytes = b""
        self.home = environment["HOME"]

    def read(self, until):
        """More of the output; until a regular expression is found in it. What came, or None."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := until.search(self.bytes)):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.output], [], [], left)[0]:
                return None
            more = os.read(self.output, 1 << 16)
            if not more:
                return None
            self.bytes += more
        came, self.bytes = self.bytes[:found.end()], self.bytes[found.end():]
        return came.decode(errors="replace"), found

    def run(self, command, shown):
        """(exit code, lines), or the code None if it did not end in time."""
        os.write(self.commands, command.encode() + b"\0")
        ended = self.read(re.compile(rb"\n?@@([0-9]+)\n"))
        if ended is None:
            return None, self.bytes.decode(errors="replace").split("\n")
        came = re.sub(r"\n?@@[0-9]+\n$", "", ended[0])
        # It goes on while the next command is read: a reader waits until it has said what is shown.
        while is_background(command) and (not came.strip() or missing(shown, self.plain(came))):
            spoken = self.read(re.compile(rb"\n"))
            if spoken is None:
                break
            came += spoken[0]
        return int(ended[1][1]), self.plain(came)

    def plain(self, came):
        return came.replace(self.home, "/home/me").split("\n")

    def end(self):
        os.close(self.commands)
        self.bash.wait()


def is_background(command):
    return re.search(r"&\s*(#.*)?$", command) is not None


def main():
    folder, user, document = sys.argv[1:]
    with open(document, encoding="utf-8") as file:
        text = file.read()
    ports = dict(zip(PORTS, os.environ["PASTE_PORTS"].split()))
    for port, free in ports.items():
        text = text.replace(":" + port, ":" + free)
    shell = Shell(folder, {**os.environ, "DUNLIN_LISTEN": f"127.0.0.1:{ports['7070']}", "USER": user})
    wrong, pasted = [], 0
    name = os.path.basename(document)
    for line, kind, lines, reason in blocks(text):
        if reason:
            print(f"{name}:{line}: not pasted: {reason}")
            continue
        if kind == "unknown":
            wrong.append(f"{name}:{line}: neither commands nor marked as not pasted: {lines[0]}")
            continue
        for command, shown in commands(kind, lines):
            code, came = shell.run(command, shown)
            pasted += 1
            lacks = missing(shown, came)
            if code != 0 or lacks is not None:
                why = f"ended with {code}" if code != 0 else f"did not print: {lacks}"
                wrong.append(f"{name}:{line}: {command}\n  {why}\n  " + "\n  ".join(came[-25:]))
            if code is None:
                break
        if wrong and wrong[-1].find("ended with None") >= 0:
            break
    shell.end()
    print(f"{name}: pasted {pasted} commands")
    for one in wrong:
        print("WRONG " + one)
    sys.exit(1 if wrong else 0)


main()
