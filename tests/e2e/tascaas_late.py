#!/usr/bin/env python3
"""A client of TaScaaS, written from its published protocol: an infrastructure that registers, fetches
partitions and runs them, with a clock of its own that is much faster than that on the wall. It plays
a job whose deadline needs more partitions than it begins with, and checks what it is told.

    tascaas_late.py BASE SECRET JOB ITERATIONS

Prints one line: how many partitions there were, and what each has done.
"""
import json
import sys
import urllib.error
import urllib.request

SPEED = 100  # Iterations that each partition does in a second of its own.
STEP = 20


def ask(url, method="GET", body=None):
    request = urllib.request.Request(url, data=body, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def fail(*words):
    print("FAILED:", *words, file=sys.stderr)
    sys.exit(1)


class Partition:
    def __init__(self, base, infrastructure, config):
        if not all(isinstance(value, str) for value in config.values()):
            fail("not all values are strings:", config)
        self.base, self.infrastructure = base, infrastructure
        self.job, self.worker = config["ID"], config["worker"]
        if int(config["reportTime"]) != STEP:
            fail("reports are due every", config["reportTime"], "seconds")
        status, data = ask(config["data-url"])
        if status != 200 or not data:
            fail("no data:", status, data)
        self.time = self.done = self.reports = 0
        self.ended = False
        self.assigned, _ = self.say("start", f"worker={self.worker}&dt=0")

    def say(self, word, query):
        status, text = ask(f"{self.base}/lb/{self.job}/{word}?{query}")
        words = text.split()
        if status != 200 or words[0] != "0":
            fail(f"partition {self.worker}: {word}?{query} is answered {status} {text!r}")
        if word == "finish":
            return 0, 0
        if words[1] != "Assigned:" or words[3] != "ETA:":
            fail("no client can read:", repr(text))
        return int(words[2]), int(words[4])

    def work(self, left):
        """For a report time, or until its share is done. `left` of the job, at most."""
        self.done = min(self.done + SPEED * STEP, self.assigned)
        self.time += STEP
        query = f"worker={self.worker}&nIter={self.done}&dt={self.time}"
        if self.done >= self.assigned:
            self.say("finish", query)
            self.ended = True
            return
        self.assigned, _ = self.say("report", query)
        self.reports += 1
        # With less than half of what is balanced nothing moves any more.
        if self.assigned <= self.done and left > 10 * SPEED * STEP:
            fail(f"partition {self.worker} is told to stop after {self.reports} reports: {self.assigned}",
                 f"although it has done {self.done} and {left} are left")

    def upload(self):
        status, url = ask(f"{self.base}/results/upload/{self.job}/{self.worker}?wID={self.infrastructure}")
        if status != 200:
            fail("no URL for results:", status, url)
        status, text = ask(url, "PUT", str(self.done).encode())
        if status != 200:
            fail("results are not taken:", status, text)


def state_of(base, secret, job):
    request = urllib.request.Request(f"{base}/tenant/v1/jobs/{job}", headers={"Authorization": f"Bearer {secret}"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.loads(reply.read())["state"]


def main(base, secret, job, iterations):
    iterations = int(iterations)
    lab = f"{base}/some/stage"
    _, text = ask(f"{lab}/node/register?secret={secret}&slots=2&maxSlots=20")
    infrastructure = json.loads(text)["id"]
    partitions = []
    for _ in range(1000):
        _, text = ask(f"{lab}/node/{infrastructure}/jobs?slots=20")
        for config in json.loads(text).get("configs", []):
            if config["ID"] != job:
                fail("a partition of", config["ID"])
            partitions.append(Partition(lab, infrastructure, config))
        works = [one for one in partitions if not one.ended]
        if not works:
            break
        for one in works:
            one.work(iterations - sum(other.done for other in partitions))
    else:
        fail("the job does not end")
    # All have finished: without their results that counts for nothing.
    for one in partitions:
        if state_of(base, secret, job) != "running":
            fail("the job is", state_of(base, secret, job), "before all results are there")
        one.upload()
    if state_of(base, secret, job) != "done":
        fail("all results are there, and the job is", state_of(base, secret, job))
    done = [one.done for one in partitions]
    if sum(done) < iterations:
        fail("less done than asked:", done)
    print(len(done), *done)


if __name__ == "__main__":
    main(*sys.argv[1:])
