"""Requests made from an OpenAPI document and a seed, right ones and wrong ones; for rest_openapi.py."""
import json
import random
import string

ODD = ["", " ", "%", "..", "\0", "\n", "é", "\U0001f41f", "a b", "a/b", "//", "'\"", "-1", "0", "1e9", "null",
       "true", "x" * 600, "x" * 5000, "9" * 40, "-" + "9" * 30, "${HOME}", "<b>", "\x7f", "last"]
NUMBERS = [-1, 0, 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, -2**63, 10**40, 0.5, -0.0, 1e300]
WRONG = [None, True, False, "", "x", [], [[]], {}, {"": ""}, [None], "\u0000", *NUMBERS]


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
        either = schema.get("oneOf", [])
        if either and sum(self.check(part, value, where) is None for part in either) != 1:
            return f"{where} is not one of {either}"
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
            if choices:
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
            if name in either and name != "json_lines":
                continue
            if name not in ("values", "array", "key") and self.random.random() < 0.3:
                made[name] = self.value(part)
        if "values" in properties and self.random.random() < 0.6:
            one = self.random.choice(["values", "array"])
            made[one] = self.value(properties[one])
        for name, others in schema.get("dependentRequired", {}).items():
            if name in made and self.random.random() < 0.5:
                made.update({other: self.value(properties[other]) for other in others if other not in made})
            elif not all(other in made for other in others):
                made.pop(name, None)
        for name, part in schema.get("dependentSchemas", {}).items():
            for other, allowed in part["properties"].items() if name in made else ():
                if allowed is False:
                    made.pop(other, None)
                elif other in made:
                    made[other] = allowed["const"]
        if either and not any(name in made for name in either):
            made[either[0]] = self.value(properties[either[0]])
        return made

    def path_value(self, path, parameter):
        if parameter["name"] == "id":
            return self.random.choice(self.jobs)
        if parameter["name"] in ("task", "partition"):
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
