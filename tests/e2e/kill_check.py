#!/usr/bin/env python3
"""Judges what kill_load did: its record against what the store holds in the end.

kill_check.py DUNLIN RECORD KILLS, with DUNLIN_AT and DUNLIN_TOKEN_FILE naming the store. Shares no
code with the engine: it reads the record's lines and asks the store through `dunlin store`. Prints
`BROKEN: ...` for each broken promise and exits 1 if there was any.
"""
import collections
import hashlib
import json
import subprocess
import sys

ROUNDING_MS = 2  # Both clocks are cut to whole milliseconds.

broken = 0


def breach(text):
    global broken
    broken += 1
    if broken <= 20:
        print("BROKEN:", text)


def store(*arguments):
    return subprocess.run([DUNLIN, "store", *arguments], check=True, stdout=subprocess.PIPE).stdout


def store_lines(*arguments):
    return [json.loads(line) for line in store(*arguments, "--json").splitlines()]


def rows(table):
    return {row["key"]: row["value"] for row in store_lines("scan", table)}


def drain(queue):
    """All that is still queued, also what dead consumers held."""
    left = {}
    while True:
        for one in store_lines("pull", queue, "--max", "10000", "--hold", "10m", "--wait", "1s"):
            if one["id"] in left:
                breach(f"message {one['id']} was drained twice under one lease")
            left[one["id"]] = one
        depth = store_lines("depth", queue)[0]
        if depth["ready"] == 0 and depth["leased"] == len(left):
            return left


class Delivery:
    def __init__(self, token, attempt, asked, hold, arrived):
        self.token, self.attempt, self.arrived = token, attempt, arrived
        self.valid_until = asked + hold


class Record:
    def __init__(self, path):
        self.kills = 0
        self.pushes = {}      # batch -> [size, outcome]
        self.deliveries = collections.defaultdict(list)  # id -> Delivery
        self.by_token = {}    # (id, token) -> Delivery
        self.finishes = {}    # (id, mine) -> [token, outcome]
        self.finished_at = {}  # id -> line of its acknowledgement
        self.steps = {}       # mine -> [counter, next, outcome]
        self.blobs = {}       # name -> [size, sha256, outcome]
        for line_number, line in enumerate(open(path), 1):
            now, _, event, *arguments = line.split()
            getattr(self, event)(line_number, int(now), *arguments)

    def killed(self, line, now, number):
        self.kills = int(number)

    def push_try(self, line, now, batch, size):
        self.pushes[batch] = [int(size), "try"]

    def push_ok(self, line, now, batch, size):
        self.pushes[batch][1] = "ok"

    def push_dropped(self, line, now, batch, size):
        self.pushes[batch][1] = "dropped"

    def push_bad(self, line, now, batch, size):
        breach(f"push {batch} was refused although nobody else makes its row")

    def pulled(self, line, now, id, token, attempt, asked, hold):
        one = Delivery(int(token), int(attempt), int(asked), int(hold), now)
        if (id, one.token) in self.by_token:
            breach(f"message {id} was handed out twice with token {token}")
        self.by_token[id, one.token] = one
        self.deliveries[id].append(one)

    def renewed(self, line, now, id, token, asked, hold):
        one = self.by_token[id, int(token)]
        one.valid_until = max(one.valid_until, int(asked) + int(hold))

    def gave_back(self, line, now, id, token):
        self.by_token[id, int(token)].valid_until = 0

    def finish_try(self, line, now, id, token, mine):
        self.finishes[id, mine] = [int(token), "try"]

    def finish_ok(self, line, now, id, token, mine):
        self.finishes[id, mine][1] = "ok"
        if id in self.finished_at:
            breach(f"message {id} was finished twice")
        self.finished_at[id] = line

    def finish_dropped(self, line, now, id, token, mine):
        self.finishes[id, mine][1] = "dropped"

    def finish_lost(self, line, now, id, token, mine):
        self.finishes[id, mine][1] = "lost"

    def count_try(self, line, now, counter, mine, next):
        self.steps[mine] = [counter, int(next), "try"]

    def count_ok(self, line, now, counter, mine, next):
        self.steps[mine][2] = "ok"

    def count_dropped(self, line, now, counter, mine, next):
        self.steps[mine][2] = "dropped"

    def count_lost(self, line, now, counter, mine, next):
        self.steps[mine][2] = "lost"

    def blob_try(self, line, now, name, size, digest):
        self.blobs[name] = [int(size), digest, "try"]

    def blob_ok(self, line, now, name, size, digest):
        self.blobs[name][2] = "ok"

    def erase_try(self, line, now, name):
        self.blobs[name][2] = "erase_try"

    def erase_ok(self, line, now, name):
        self.blobs[name][2] = "erased"


def check_pushes(record, pushed, done, left):
    """Acknowledged is there; a batch is there whole or not at all; each message once."""
    known = set()
    for batch, (size, outcome) in record.pushes.items():
        ids = [f"{batch}.{i}" for i in range(size)]
        known.update(ids)
        if outcome == "ok" and batch not in pushed:
            breach(f"push {batch} was acknowledged and its row is lost")
        for id in ids:
            places = (id in done) + (id in left)
            if batch in pushed and places == 0:
                breach(f"message {id} is lost (its push: {outcome})")
            if batch not in pushed and (places or id in record.deliveries):
                breach(f"message {id} exists although its push does not")
            if places > 1:
                breach(f"message {id} is finished and queued")
    for id in set(left) | set(done) | set(record.deliveries):
        if id not in known:
            breach(f"nobody pushed message {id}")


def check_deliveries(record, left):
    """Attempts and tokens grow, and nobody got what another one held."""
    for id, deliveries in record.deliveries.items():
        deliveries.sort(key=lambda one: one.token)
        for one, other in zip(deliveries, deliveries[1:]):
            if other.attempt <= one.attempt:
                breach(f"message {id}: attempt {other.attempt} after {one.attempt}")
            if other.arrived + ROUNDING_MS < one.valid_until:
                breach(f"message {id}: token {other.token} was given {other.arrived} while "
                       f"{one.token} was valid until {one.valid_until}")
        if id in left and left[id]["attempt"] <= deliveries[-1].attempt:
            breach(f"message {id}: drained with attempt {left[id]['attempt']} again")


def check_finishes(record, done):
    """An acknowledged finish is final: the last holder's, and nothing is handed out after it."""
    for (id, mine), (token, outcome) in record.finishes.items():
        applied = done.get(id) == mine
        if applied != (outcome == "ok") and outcome != "dropped":
            breach(f"finish {mine} of {id} ended as {outcome}, but the store says "
                   f"{done.get(id, 'not finished')}")
        if applied and record.deliveries[id][-1].token != token:
            breach(f"message {id} was finished with token {token} and handed out with "
                   f"{record.deliveries[id][-1].token}")
    for id, mine in done.items():
        if (id, mine) not in record.finishes:
            breach(f"nobody finished {id} as {mine}")


def check_counters(record, counters, steps):
    """A counter is the number of steps that were applied: each number once, none missing."""
    numbers = collections.defaultdict(list)
    for mine, (counter, next, outcome) in record.steps.items():
        applied = mine in steps
        if applied != (outcome == "ok") and outcome != "dropped":
            breach(f"step {mine} of {counter} ended as {outcome}, but is "
                   f"{'there' if applied else 'not there'}")
        if applied:
            numbers[counter].append(next)
    for counter, value in counters.items():
        if sorted(numbers[counter]) != list(range(1, int(value) + 1)):
            breach(f"{counter} is {value} after {len(numbers[counter])} steps")
    if set(numbers) - set(counters):
        breach(f"counters are lost: {set(numbers) - set(counters)}")


def check_blobs(record):
    there = {blob["name"]: blob["size"] for blob in store_lines("blob", "list")}
    for name, (size, digest, outcome) in record.blobs.items():
        if outcome == "ok" and name not in there:
            breach(f"blob {name} was acknowledged and is lost")
        if outcome == "erased" and name in there:
            breach(f"blob {name} was erased and is there")
        if name in there:
            found = hashlib.sha256(store("blob", "get", name)).hexdigest()
            if there[name] != size or found != digest:
                breach(f"blob {name} has other bytes")
    if set(there) - set(record.blobs):
        breach(f"nobody put these blobs: {set(there) - set(record.blobs)}")


def main(record_path, kills_wanted):
    record = Record(record_path)
    left = drain("work")
    pushed, done = rows("pushed"), rows("done")
    check_pushes(record, pushed, done, left)
    check_deliveries(record, left)
    check_finishes(record, done)
    check_counters(record, rows("counters"), rows("steps"))
    check_blobs(record)

    messages = sum(size for size, outcome in record.pushes.values() if outcome == "ok")
    deliveries = sum(len(each) for each in record.deliveries.values())
    redeliveries = deliveries - len(record.deliveries)
    if record.kills != kills_wanted or min(messages, redeliveries, len(record.steps)) == 0:
        breach("the load did nothing worth judging")
    print(f"{record.kills} kills, {messages} messages acknowledged, {len(done)} finished, "
          f"{len(left)} still queued, {deliveries} deliveries, {redeliveries} redeliveries, "
          f"{len(record.steps)} counter steps, {len(record.blobs)} blobs: {broken} broken promises")
    return broken > 0


if __name__ == "__main__":
    DUNLIN = sys.argv[1]
    sys.exit(main(sys.argv[2], int(sys.argv[3])))
