#!/usr/bin/env python3
"""Asks a running REST service everything that its own OpenAPI document allows, and much that it does
not, from a seed. Any 5xx, any connection that is cut, any error that is not problem+json and any
reply that lacks what its schema requires is a failure.

    rest_openapi.py BASE ADMIN_TOKEN READER_TOKEN API.md [SEED [COUNT]]

The store should hold some jobs that have ended, and no worker should run what is submitted here.
"""
import http.client
import json
import random
import re
import socket
import string
import sys
import time
import urllib.parse

PREFIX = "/api/v1"
ODD = ["", " ", "%", "..", "\0", "\n", "é", "\U0001f41f", "a b", "a/b", "//", "'\"", "-1", "0", "1e9", "null",
       "true", "x" * 600, "x" * 5000, "9" * 40, "-" + "9" * 30, "${HOME}", "<b>", "\x7f", "last"]
NUMBERS = [-1, 0, 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, -2**63, 10**40, 0.5, -0.0, 1e300]
WRONG = [None, True, False, "", "x", [], [[]], {}, {"": ""}, [None], "\u0000", *NUMBERS]


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
            self.connection = http.client.HTTPConnection(self.host, self.port, timeout=20)
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
        with socket.create_connection((self.host, self.port), timeout=20) as connection:
            connection.sendall(request)
            answer = connection.recv(65536)
        if not answer.startswith(b"HTTP/1.1 "):
            raise Failure(f"no answer to {request[:200]!r}: {answer[:100]!r}")
        return int(answer[9:12])


class Document:
    def __init__(self, document):
        self.document = document
        self.operations = []
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                self.operations.append((method.upper(), path, operation))

    def resolve(self, schema):
        while "$ref" in schema:
            node = self.document
            for part in schema["$ref"].lstrip("#/").split("/"):
                node = node[part]
            schema = node
        return schema

    def check(self, schema, value, where="reply"):
        """What is not as the schema says; None if all is."""
        schema = self.resolve(schema)
        for part in schema.get("allOf", []):
            if wrong := self.check(part, value, where):
                return wrong
        kinds = schema.get("type")
        if kinds and not any(is_kind(kind, value) for kind in [kinds] if isinstance(kind, str)):
            return f"{where} is no {kinds}"
        if "enum" in schema and value not in schema["enum"]:
            return f"{where} is not one of {schema['enum']}"
        if isinstance(value, dict):
            for name in schema.get("required", []):
                if name not in value:
                    return f"{where} lacks {name}"
            for name, part in schema.get("properties", {}).items():
                if name in value and (wrong := self.check(part, value[name], f"{where}.{name}")):
                    return wrong
        if isinstance(value, list) and "items" in schema:
            for one in value:
                if wrong := self.check(schema["items"], one, f"{where}[]"):
                    return wrong
        return None


def is_kind(kind, value):
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return {"object": isinstance(value, dict), "array": isinstance(value, list), "string": isinstance(value, str),
            "boolean": isinstance(value, bool), "number": number, "integer": number and value == int(value),
            "null": value is None}[kind]


class Generator:
    """Requests from the document and the seed. `jobs` and `blobs` are names that exist."""

    def __init__(self, document, seed, jobs, blobs):
        self.document, self.random = document, random.Random(seed)
        self.jobs, self.blobs = jobs, blobs

    def name(self, most=20):
        return "".join(self.random.choice(string.ascii_letters + string.digits + "._-")
                       for _ in range(self.random.randint(1, most)))

    def value(self, schema):
        """One that the schema allows."""
        schema = self.document.resolve(schema)
        pick = self.random
        for choices in (schema.get("enum"), schema.get("examples")):
            if choices and pick.random() < 0.9:
                return pick.choice(choices)
        kind = schema.get("type", "string")
        kind = pick.choice(kind) if isinstance(kind, list) else kind
        if kind == "integer":
            least, most = schema.get("minimum", 0), schema.get("maximum", 1000)
            return pick.choice([least, most, pick.randint(least, most), min(most, least + 1)])
        if kind == "boolean":
            return pick.random() < 0.5
        if kind == "array":
            return [self.value(schema.get("items", {})) for _ in range(max(schema.get("minItems", 0), pick.randint(0, 3)))]
        if kind == "object":
            return self.object(schema)
        return self.name(min(20, schema.get("maxLength", 20)))

    def object(self, schema):
        properties = schema.get("properties", {})
        either = [one["required"][0] for one in schema.get("oneOf", [])]
        made = {name: self.value(properties[name]) for name in schema.get("required", [])}
        if either:
            chosen = self.random.choice(either)
            made[chosen] = self.value(properties[chosen])
        for name, part in properties.items():
            if name not in either and name not in ("values", "array", "key") and self.random.random() < 0.3:
                made[name] = self.value(part)
        if "values" in properties and self.random.random() < 0.6:
            one = self.random.choice(["values", "array"])
            made[one] = self.value(properties[one])
        return made

    def path_value(self, path, parameter):
        if parameter["name"] == "id":
            return self.random.choice(self.jobs)
        if parameter["name"] == "task":
            return self.random.choice([0, 1, 2])
        if path.startswith("/blobs"):
            return self.random.choice([*self.blobs, "fuzz/" + self.name()])
        return self.name()

    def request(self, operation):
        """One that is allowed: parameters by place, headers, body."""
        _, path, details = operation
        made = {"path": {}, "query": [], "headers": [], "body": None}
        for parameter in details["parameters"]:
            if parameter["in"] == "path":
                made["path"][parameter["name"]] = self.path_value(path, parameter)
            elif self.random.random() < 0.4:
                value = self.value(parameter["schema"])
                value = str(value).lower() if isinstance(value, bool) else str(value)
                if parameter["in"] == "query":
                    made["query"].append((parameter["name"], value))
                else:
                    made["headers"].append((parameter["name"], value))
        for kind, media in details.get("requestBody", {}).get("content", {}).items():
            made["headers"].append(("Content-Type", kind))
            body = self.object(media["schema"]) if kind == "application/json" else None
            made["body"] = self.random.randbytes(self.random.choice([0, 1, 100, 70000])) if body is None else \
                json.dumps(body).encode()
        return made

    # Each makes a request wrong, and returns the statuses that it may get; None: any below 500.

    def break_query(self, made, details):
        names = [p["name"] for p in details["parameters"] if p["in"] == "query"]
        if not names or self.random.random() < 0.3:
            made["query"].append((self.name(), "1"))
            return {400}
        made["query"].append((self.random.choice(names), str(self.random.choice([*ODD, *NUMBERS]))))
        return None

    def break_path(self, made, details):
        if not made["path"]:
            made["query"].append(("x", "y"))
            return {400}
        name = self.random.choice(list(made["path"]))
        # Without a value it would be the path of another operation.
        odd = [value for value in ODD if value]
        made["path"][name] = self.random.choice([*odd, *NUMBERS, self.random.randbytes(20), self.name(64)])
        return None

    def break_token(self, made, details):
        made["headers"] = [h for h in made["headers"] if h[0] != "Authorization"]
        token = self.random.choice([None, "Bearer", "Bearer ", "Basic eDp5", "Bearer " + self.name(200), "Bearer é\x80",
                                    "Bearer d1.admin.0.00.00", "Bearer " + "x" * 5000])
        made["token"] = token
        return {400, 401}

    def break_header(self, made, details):
        name = self.random.choice(["Idempotency-Key", "Last-Event-ID", "Content-Type", "Range", "Accept", "Host"])
        value = self.random.choice([v for v in ODD if "\0" not in v and "\n" not in v])
        made["headers"] = [h for h in made["headers"] if h[0] != name] + [(name, value.encode())]
        return None

    def break_type(self, made, details):
        if "application/json" not in details.get("requestBody", {}).get("content", {}):
            return self.break_query(made, details)
        made["headers"] = [h for h in made["headers"] if h[0] != "Content-Type"]
        made["headers"].append(("Content-Type", self.random.choice(["text/plain", "application/xml", "", "json", "*/*"])))
        return {415}

    def break_body(self, made, details):
        schema = details.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        if schema is None:
            return self.break_path(made, details)
        whole, pick = made["body"], self.random
        kind = pick.randrange(9)
        if kind == 0:
            made["body"] = whole[:pick.randrange(len(whole))]
        elif kind == 1:
            made["body"] = pick.randbytes(pick.randrange(200))
        elif kind == 2:
            made["body"] = pick.choice([b"[]", b"1", b'"x"', b"null", b"", b" ", b"[" * 5000, b'{"a":' * 5000])
        elif kind == 3:
            made["body"] = whole[:-1] + b',"' + self.name().encode() + b'_":1}'
        elif kind == 4:
            made["body"] = whole[:-1] + b",%s}" % whole[1:-1]
        elif kind == 5:
            made["body"] = whole.replace(b'"', b"\xff", 2)
        else:
            body = json.loads(whole)
            name = pick.choice(list(schema["properties"]))
            value = pick.choice([*WRONG, *ODD, {pick.choice(ODD): pick.choice(WRONG)}, [pick.choice(ODD)] * 3])
            body[name] = value
            made["body"] = json.dumps(body).encode()
            return None
        return {400}

    def break_method(self, made, details):
        made["method"] = self.random.choice(["PATCH", "TRACE", "BREW", "OPTIONS", "get", "LINK"])
        return {405}


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

    def all_operations_once(self):
        """Each with a request that is allowed and one by a reader, who may not write."""
        for operation in self.document.operations:
            for _ in range(3):
                self.send(operation, self.generator.request(operation), None)
            scope = operation[2]["security"][0]["bearer"][0]
            self.send(operation, self.generator.request(operation), None if scope == "read" else {403}, self.reader)

    def many(self, count):
        breaks = [getattr(self.generator, name) for name in dir(self.generator) if name.startswith("break_")]
        for _ in range(count):
            operation = self.generator.random.choice(self.document.operations)
            made = self.generator.request(operation)
            allowed = None
            if self.generator.random.random() < 0.75:
                allowed = self.generator.random.choice(breaks)(made, operation[2])
            self.send(operation, made, allowed)

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
        missing = {operation[:2] for operation in document.operations} - run.went_well
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
