#!/usr/bin/env python3
"""Asks a running REST service everything that its own OpenAPI document allows, and much that it does
not, from a seed. Any 5xx, any connection that is cut, any error that is not problem+json and any
reply that lacks what its schema requires is a failure.

    rest_openapi.py BASE ADMIN_TOKEN READER_TOKEN API.md [SEED [COUNT]]

The store should hold some jobs that have ended, and no worker should run what is submitted here.
"""
import http.client
import json
import re
import socket
import sys
import time
import urllib.parse

from rest_requests import Document, Generator

PREFIX = "/api/v1"


class Failure(Exception):
    pass


class Service:
    """The service, over one connection as long as it lasts."""

    def __init__(self, base):
        url = urllib.parse.urlparse(base)
        self.host, self.port = url.hostname, url.port
        self.connection = None

    def ask(self, method, path, headers, body=None, stream=False):
        """Returns status, headers and bytes; of a stream only its beginning."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        shown = f"{method} {path[:200]} {headers} {repr(body)[:300]}"
        try:
            self.connection.putrequest(method, path, skip_accept_encoding=True)
            for name, value in headers:
                self.connection.putheader(name, value)
            if body is not None:
                self.connection.putheader("Content-Length", str(len(body)))
            self.connection.endheaders(body)
            reply = self.connection.getresponse()
            streams = reply.getheader("content-type", "").startswith("text/event-stream")
            if streams and not stream:
                raise Failure(f"a stream that nobody asked for: {shown}")
            data = reply.readline() if streams else reply.read()
        except (OSError, http.client.HTTPException) as error:
            raise Failure(f"the connection was cut ({error!r}): {shown}") from error
        if streams or reply.will_close:
            self.connection.close()
            self.connection = None
        return reply.status, dict((k.lower(), v) for k, v in reply.getheaders()), data, shown

    def ask_raw(self, request):
        """The status of the answer to bytes that http.client would not send."""
        with socket.create_connection((self.host, self.port), timeout=60) as connection:
            connection.sendall(request)
            answer = connection.recv(65536)
        if not answer.startswith(b"HTTP/1.1 "):
            raise Failure(f"no answer to {request[:200]!r}: {answer[:100]!r}")
        return int(answer[9:12])


def encode(value):
    if isinstance(value, bytes):
        return urllib.parse.quote_from_bytes(value, safe="")
    return urllib.parse.quote(str(value), safe="")


class Run:
    def __init__(self, service, document, generator, admin, reader):
        self.service, self.document, self.generator = service, document, generator
        self.admin, self.reader = admin, reader
        self.went_well, self.statuses = set(), {}

    def send(self, operation, made, allowed, token=None):
        method, path, details = operation
        target = PREFIX + path
        for name, value in made["path"].items():
            target = target.replace("{%s}" % name, encode(value))
        if made["query"]:
            target += "?" + "&".join(f"{encode(k)}={encode(v)}" for k, v in made["query"])
        headers = list(made["headers"])
        authorization = made.get("token", f"Bearer {token or self.admin}")
        if authorization is not None:
            headers.append(("Authorization", authorization.encode()))
        method = made.get("method", method)
        streams = "text/event-stream" in json.dumps(details["responses"])
        status, found, data, shown = self.service.ask(method, target, headers, made["body"], streams)
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self.judge(operation, method, status, found, data, shown)
        if allowed is not None and status not in allowed:
            raise Failure(f"{status} instead of {sorted(allowed)}: {shown}\n{data[:300]!r}")
        return status

    def judge(self, operation, method, status, headers, data, shown):
        _, path, details = operation
        kind = headers.get("content-type", "")
        if status >= 500:
            raise Failure(f"{status}: {shown}\n{data[:300]!r}")
        if status >= 400:
            if kind != "application/problem+json":
                raise Failure(f"{status} as {kind!r}: {shown}\n{data[:300]!r}")
            if method == "HEAD":
                return
            problem = json.loads(data)
            schema = {"$ref": "#/components/schemas/Problem"}
            if wrong := self.document.check(schema, problem):
                raise Failure(f"{wrong}: {shown}\n{data[:300]!r}")
            if problem["status"] != status or not problem["detail"]:
                raise Failure(f"a problem that says nothing or something else: {shown}\n{data!r}")
            if status == 405 and "allow" not in headers:
                raise Failure(f"405 without Allow: {shown}")
            return
        replies = details["responses"]
        if str(status) not in replies:
            raise Failure(f"{status} is not in the document: {shown}")
        for expected, media in replies[str(status)].get("content", {}).items():
            if kind != expected:
                raise Failure(f"{kind!r} instead of {expected!r}: {shown}")
            if expected == "application/json" and (wrong := self.document.check(media["schema"], json.loads(data))):
                raise Failure(f"{wrong}: {shown}\n{data[:300]!r}")
        self.went_well.add((method, path))

    def send_right(self, operation, made):
        """What the document allows is refused only if there is no such thing, or not in that state."""
        allowed = {200, 201, 204, 404, 409, 429}
        if operation[1].endswith("/retry"):
            allowed.add(400)  # It was cancelled.
        if operation[0] == "PUT":
            allowed.add(403)  # The name belongs to a job.
        self.send(operation, made, {200, 201, 409} if operation[:2] == ("POST", "/jobs") else allowed)

    def all_operations_once(self):
        """Each until it goes well, and by a reader, who may not write. What changes things comes last."""
        order = ["GET", "HEAD", "PUT", "POST", "DELETE"]
        ends = ("/leave", "/cancel", "/retry")
        for operation in sorted(self.document.operations, key=lambda one: (order.index(one[0]), one[1].endswith(ends))):
            for _ in range(100):
                self.send_right(operation, self.generator.request(operation))
                if operation[:2] in self.went_well:
                    break
            scope = operation[2]["security"][0]["bearer"][0]
            self.send(operation, self.generator.request(operation), None if scope == "read" else {403}, self.reader)

    def many(self, count):
        breaks = [getattr(self.generator, name) for name in dir(self.generator) if name.startswith("break_")]
        for _ in range(count):
            operation = self.generator.random.choice(self.document.operations)
            made = self.generator.request(operation)
            if self.generator.random.random() < 0.75:
                self.send(operation, made, self.generator.random.choice(breaks)(made, operation[2]))
            else:
                self.send_right(operation, made)

    def bytes_that_are_no_requests(self, count):
        pick = self.generator.random
        for _ in range(count):
            noise = pick.randbytes(pick.randrange(1, 60)).replace(b"\r", b"").replace(b"\n", b"")
            request = pick.choice([
                noise + b" / HTTP/1.1\r\n\r\n",
                b"GET " + PREFIX.encode() + b"/jobs/" + noise + b" HTTP/1.1\r\n\r\n",
                b"GET " + PREFIX.encode() + b"/health HTTP/1.1\r\nAuthorization: Bearer " + noise + b"\r\n\r\n",
                b"GET " + PREFIX.encode() + b"/health HTTP/1.1\r\n" + noise + b"\r\n\r\n",
                b"POST " + PREFIX.encode() + b"/jobs HTTP/1.1\r\nContent-Length: " + noise + b"\r\n\r\n"])
            status = self.service.ask_raw(request)
            if not 400 <= status < 500:
                raise Failure(f"{status} for {request!r}")

    def too_large(self):
        operation = next(o for o in self.document.operations if o[:2] == ("POST", "/jobs"))
        made = {"path": {}, "query": [], "headers": [("Content-Type", "application/json")],
                "body": b'{"argv":["echo"],"stdin":"' + b"x" * (17 << 20) + b'"}'}
        self.send(operation, made, {413})


def check_routes(document, service, admin, guide):
    """The service, its document and the guide know the same routes."""
    listed = {(method, path) for method, path, _ in document.operations}
    written = set(re.findall(r"^\| `([A-Z]+) (/\S*)`", open(guide, encoding="utf-8").read(), re.M))
    if written != listed:
        raise Failure(f"the guide and the document differ: {sorted(written ^ listed)}")
    for path in document.document["paths"]:
        known = {method for method, other in listed if other == path}
        target = PREFIX + re.sub(r"{\w+}", "1", path)
        status, headers, _, _ = service.ask("OPTIONS", target, [("Authorization", f"Bearer {admin}")])
        answered = set(headers.get("allow", "").split(", "))
        if status != 405 or answered != known:
            raise Failure(f"{path} answers to {answered}, the document lists {known}")


def main(base, admin_file, reader_file, guide, seed="1", count="2000"):
    began = time.monotonic()
    admin, reader = (open(name, encoding="ascii").read().strip() for name in (admin_file, reader_file))
    service = Service(base)
    bearer = [("Authorization", f"Bearer {admin}")]
    document = Document(json.loads(service.ask("GET", PREFIX + "/openapi.json", bearer)[2]))
    check_routes(document, service, admin, guide)
    jobs = [job["job"] for job in json.loads(service.ask("GET", PREFIX + "/jobs", bearer)[2])["jobs"]]
    blobs = [blob["name"] for blob in json.loads(service.ask("GET", PREFIX + "/blobs", bearer)[2])["blobs"]]
    run = Run(service, document, Generator(document, int(seed), jobs, blobs), admin, reader)
    try:
        run.all_operations_once()
        run.bytes_that_are_no_requests(100)
        run.many(int(count))
        run.too_large()
        missing = {one[:2] for one in document.operations} - run.went_well
        if missing:
            raise Failure(f"never went well: {sorted(missing)}")
    except Failure as failure:
        print(f"SEED={seed}: {failure}", file=sys.stderr)
        return 1
    print(f"{sum(run.statuses.values())} requests in {time.monotonic() - began:.1f} s:",
          " ".join(f"{status}:{times}" for status, times in sorted(run.statuses.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
