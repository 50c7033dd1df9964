"""Kills workers and their hub under load, then checks what is left. Uses the program alone.

    kill_tasks.py kill DUNLIN FOLDER URL SEED WORKER_KILLS HUB_KILLS
    kill_tasks.py check DUNLIN FOLDER

SERVER=... is the command of a server that takes the place of the hub; QUEUE_SERVER=... that of a
second one, which is killed QUEUE_KILLS=... times. PATIENCE=... says how many seconds a job may take.
"""
import collections
import json
import os
import random
import subprocess
import sys
import time

WORKERS = 4
HOLD = "2s"
PATIENCE = os.environ.get("PATIENCE", "120")


def children_of(pid):
    try:
        return open(f"/proc/{pid}/task/{pid}/children").read().split()
    except OSError:
        return []


class Fleet:
    """A hub and workers, each started again when it is not there."""

    def __init__(self, dunlin, folder, url):
        self.dunlin, self.folder, self.url = dunlin, folder, url
        self.processes = {}

    def start(self, name):
        if name == "hub" and "SERVER" in os.environ:
            command = os.environ["SERVER"].split()
        elif name == "queue":
            command = os.environ["QUEUE_SERVER"].split()
        elif name == "hub":
            command = [self.dunlin, "hub", "--data", f"{self.folder}/hub", "--listen",
                       self.url.split("//")[1]]
        else:
            command = [self.dunlin, "worker", "--allow-root", "--name", name, "--slots", "2", "--hold", HOLD,
                       "--folder", f"{self.folder}/{name}.folder"]
        with open(f"{self.folder}/{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=log,
                env=dict(os.environ, DUNLIN_AT=self.url,
                         DUNLIN_TOKEN_FILE=f"{self.folder}/hub/token"))

    def kill(self, name):
        """Whether it was there to be killed."""
        process = self.processes[name]
        there = process.poll() is None
        children = children_of(process.pid) if name == "hub" else []
        process.kill()
        code = process.wait()
        while any(os.path.exists(f"/proc/{child}") for child in children):  # They notice it.
            time.sleep(0.01)
        if not there and (name in ("hub", "queue") or code != 3):  # 3: the hub was away when it began.
            sys.exit(f"{name} had ended by itself with {code}: see its log")
        return there


def kill(dunlin, folder, url, seed, worker_kills, hub_kills):
    chance = random.Random(int(seed))
    names = [f"w{number}" for number in range(1, WORKERS + 1)]
    servers = ["hub"] + (["queue"] if "QUEUE_SERVER" in os.environ else [])
    victims = ["hub"] * int(hub_kills) + ["worker"] * int(worker_kills)
    victims += ["queue"] * int(os.environ.get("QUEUE_KILLS", 0))
    chance.shuffle(victims)
    fleet = Fleet(dunlin, folder, url)
    for name in [*servers, *names]:
        fleet.start(name)
    counts = collections.Counter()
    instants = open(f"{folder}/kills", "w")
    for victim in victims:
        while True:
            time.sleep(chance.expovariate(1) * 0.45)
            name = chance.choice(names) if victim == "worker" else victim
            there = fleet.kill(name)
            fleet.start(name)
            if there:
                break
        counts[victim] += 1
        print(int(time.time() * 1e6), file=instants)
    for name in [*names, *servers]:
        fleet.kill(name)
    print("killed", ", ".join(f"{kind} {count} times" for kind, count in sorted(counts.items())), flush=True)


def lines_of(dunlin, *arguments):
    text = subprocess.run([dunlin, *arguments, "--json"], check=True, stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in text.splitlines()]


def read_starts(path):
    """{task: attempts in the order of their lines}."""
    starts = collections.defaultdict(list)
    for line in open(path):
        task, attempt = map(int, line.split())
        starts[task].append(attempt)
    return starts


def state_wanted(name, result):
    """What a task of this job may end as. Workers that are killed are not its fault, unless it may
    start only once; three in a row with the same task are bad luck that many kills make likely."""
    if name == "bad":
        return {"failed", "lost"}
    if name == "flaky" and result["task"] % 7 == 0:
        return {"ok", "lost", "failed"}  # Attempts are used up by lost workers, too.
    return {"ok", "lost"}


def check_job(dunlin, folder, name):
    errors = []
    subprocess.run([dunlin, "wait", name, "--timeout", PATIENCE + "s"], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    status = lines_of(dunlin, "status", name)[0]
    if status["state"] not in ("done", "failed"):
        return [f"{name} is {status['state']}: {status}"], status, 0
    results = lines_of(dunlin, "results", name)
    if [result["task"] for result in results] != list(range(status["tasks"])):
        errors.append(f"{name}: {len(results)} outcomes for {status['tasks']} tasks")
    ok = sum(result["state"] == "ok" for result in results)
    if (status["ok"], status["failed"], status["waiting"]) != (ok, len(results) - ok, 0):
        errors.append(f"{name}: status says {status}, results have {ok} ok")
    offset = 1 if name == "large" else 0
    starts = read_starts(f"{folder}/tasks/{name}")
    for result in results:
        errors += check_task(name, result, starts.pop(result["task"] + offset, []))
    if starts:
        errors.append(f"{name}: started tasks that it does not have: {list(starts)[:5]}")
    lost = sum(result["state"] == "lost" for result in results)
    return errors, status, lost


def check_task(name, result, attempts):
    where = f"{name} task {result['task']} ({result['state']}, attempt {result['attempt']})"
    errors = []
    if len(set(attempts)) != len(attempts):
        errors.append(f"{where}: an attempt was used twice: {attempts}")
    if result["state"] not in state_wanted(name, result):
        errors.append(f"{where}: {result.get('why')}")
    if result["state"] != "lost" and result["attempt"] not in attempts:
        errors.append(f"{where}: that attempt never started: {attempts}")
    if name == "once" and len(attempts) > 1:
        errors.append(f"{where}: started {len(attempts)} times")
    if name == "output" and result["state"] == "ok" and result.get("stdout_size") != 100000:
        errors.append(f"{where}: its output is not whole: {result}")
    return errors


def busy_kills(dunlin, folder):
    """The share of the kills that came while a task was still to be done."""
    results = lines_of(dunlin, "results", "plain") + lines_of(dunlin, "results", "slow")
    last = max(result["committed_us"] for result in results)
    instants = [int(line) for line in open(f"{folder}/kills")]
    return sum(instant < last for instant in instants) / max(1, len(instants))


def check(dunlin, folder):
    errors = []
    for name in ["plain", "slow", "flaky", "bad", "once", "output", "large"]:
        found, status, lost = check_job(dunlin, folder, name)
        errors += found
        print(f"{name}: {status['ok']} ok, {status['failed']} failed, {lost} of them lost", flush=True)
    after = lines_of(dunlin, "status", "last")[0]["state"]
    before = {lines_of(dunlin, "status", name)[0]["state"] for name in ["plain", "large"]}
    if before == {"done"}:
        errors += check_job(dunlin, folder, "last")[0]
    elif after != "skipped":
        errors.append(f"last is {after}, but not all that it comes after went well")
    if os.path.exists(f"{folder}/kills"):
        share = busy_kills(dunlin, folder)
        print(f"{share:.0%} of the kills came while there was work", flush=True)
        if share < 0.5:
            errors.append("there was too little work for so many kills: give more TASKS")
    for error in errors[:20]:
        print(error, file=sys.stderr)
    sys.exit(len(errors) > 0)


if __name__ == "__main__":
    {"kill": kill, "check": check}[sys.argv[1]](*sys.argv[2:])
