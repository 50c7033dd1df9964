#!/usr/bin/env python3
"""Asks a running REST service what its documents about /tenant/v1 and about TaScaaS's own routes allow,
and much that they do not, from a seed. Any 5xx, any cut connection, any error in another form than the
document says and any reply that lacks what its schema requires is a failure.

    tenant_openapi.py BASE SECRET [SEED [COUNT]]
"""
import http.client
import json
import random
import sys
import urllib.parse

from rest_requests import NUMBERS, ODD, Document


class Failure(Exception):
    pass


class Asker:
    """Requests of one document."""

    def __init__(self, base, prefix, secret, things, pick):
        url = urllib.parse.urlparse(base)
        self.connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
        self.prefix, self.secret, self.things, self.pick = prefix, secret, things, pick
        self.document = Document(json.loads(self.ask("GET", "/openapi.json")[2]))
        self.went_well, self.asked = set(), 0

    def ask(self, method, path, body=None, secret=True):
        headers = {"Authorization": f"Bearer {self.secret}"} if secret else {}
        try:
            self.connection.request(method, self.prefix + path, body, headers)
            reply = self.connection.getresponse()
            return reply.status, reply.getheader("content-type", ""), reply.read()
        except (OSError, http.client.HTTPException) as error:
            raise Failure(f"the connection was cut ({error!r}): {method} {path[:200]}") from error

    def value(self, parameter, right):
        name, schema = parameter["name"], parameter["schema"]
        if not right:
            return self.pick.choice([*[odd for odd in ODD if odd], *NUMBERS])
        if name in self.things:
            return self.pick.choice(self.things[name])
        if schema["type"] == "boolean":
            return self.pick.choice(["true", "false"])
        if schema["type"] == "integer":
            least, most = schema["minimum"], min(schema["maximum"], 1000)
            return self.pick.randint(least, max(least, most))
        return "x"

    def request(self, operation, right):
        method, path, details = operation
        query = []
        for parameter in details["parameters"]:
            if parameter["required"] is False and self.pick.random() < 0.5:
                continue
            value = str(self.value(parameter, right or self.pick.random() < 0.5))
            quoted = urllib.parse.quote(value, safe="/" if "x-takes-slashes" in parameter else "")
            if parameter["in"] == "path":
                path = path.replace("{%s}" % parameter["name"], quoted)
            else:
                query.append(f"{parameter['name']}={quoted}")
        if query:
            path += "?" + "&".join(query)
        body = None
        if "requestBody" in details:
            body = self.pick.choice([b"", b"some", b'{"iterations":9,"time":0,"inputFile":"a"}'])
        self.judge(operation, path, *self.ask(method, path, body))

    def judge(self, operation, path, status, kind, data):
        self.asked += 1
        method, pattern, details = operation
        shown = f"{method} {path[:200]}: {status} {kind} {data[:300]!r}"
        if status >= 500:
            raise Failure(shown)
        expected = details["responses"].get(str(status))
        if status >= 400:
            plain = "Line" in details["responses"]["default"]["$ref"]
            # Unknown paths are answered as AWS's gateway does; a range may be in vain everywhere.
            fine = ("text/plain", "application/json") if plain else ("application/problem+json", "text/plain")
            if not kind.startswith(fine):
                raise Failure(f"an error in another form: {shown}")
            return
        if expected is None:
            raise Failure(f"this is not in the document: {shown}")
        for media, content in expected.get("content", {}).items():
            if kind != media:
                raise Failure(f"not as {media}: {shown}")
            if media == "application/json" and (wrong := self.document.check(content["schema"], json.loads(data))):
                raise Failure(f"{wrong}: {shown}")
        self.went_well.add((method, pattern))

    def run(self, count, skip=()):
        for operation in self.document.operations:
            if operation[2]["security"] and self.ask(operation[0], operation[1], secret=False)[0] != 401:
                raise Failure(f"{operation[:2]} needs no secret")
            if operation[:2] in skip:
                continue
            for _ in range(100):
                self.request(operation, True)
                if operation[:2] in self.went_well:
                    break
            else:
                raise Failure(f"never went well: {operation[:2]}")
        for _ in range(count):
            self.request(self.pick.choice(self.document.operations), self.pick.random() < 0.3)


def main(base, secret, seed="1", count="1000"):
    pick = random.Random(int(seed))
    try:
        own = Asker(base, "/tenant/v1", secret, {"key": ["input/a", "input/b.config", "output/none"], "job": []}, pick)
        own.ask("PUT", "/files/input/a", b"data")
        made = own.ask("PUT", "/files/input/b.config", b'{"iterations":9,"time":0,"inputFile":"a"}')
        job = json.loads(made[2])["job"]
        own.things.update({"job": [job], "after": ["", "input/"], "prefix": ["", "input/"]})
        lab = Asker(base, "/lab", secret, {}, pick)
        infra = json.loads(lab.ask("GET", f"/node/register?secret={secret}&slots=1&maxSlots=2")[2])["id"]
        lab.ask("GET", f"/node/{infra}/jobs?slots=9")
        lab.things.update({"id": [infra], "job": [job], "worker": ["0"], "wID": [infra], "secret": [secret],
                           "tenant": ["physics"], "key": ["input/a"], "dt": ["0", "1.5"], "slots": [1]})
        own.run(int(count))
        # Signed URLs come from the service; and who leaves is not there any more.
        leave = ("GET", "/node/{id}/disconnect")
        signed = {("GET", "/signed/{tenant}/{key}"), ("PUT", "/signed/{tenant}/{key}")}
        lab.document.operations.sort(key=lambda one: one[:2] == leave)
        lab.run(int(count), signed)
    except Failure as failure:
        print(f"SEED={seed}: {failure}", file=sys.stderr)
        return 1
    print(f"{own.asked + lab.asked} requests")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
