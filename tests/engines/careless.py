"""An SQS at its worst, made of a good one: a proxy that loses, repeats and reorders messages.

    careless.py TARGET_PORT SEED

Prints its port. What is lost was acknowledged; what is repeated comes as another message.
"""
import http.client
import http.server
import json
import random
import sys
import threading

TARGET, SEED = int(sys.argv[1]), int(sys.argv[2])
CHANCE, LOCK = random.Random(SEED), threading.Lock()


def percent(chance):
    with LOCK:
        return CHANCE.randrange(100) < chance


def spoil(operation, body):
    """The requests to send on in place of this one; the first one's answer is given."""
    if operation != "SendMessageBatch":
        return [body]
    request = json.loads(body)
    entries = request["Entries"]
    with LOCK:
        CHANCE.shuffle(entries)
    copies = [json.dumps(request).encode()]
    while percent(40) and len(copies) < 4:
        copies.append(copies[0])
    return copies


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        operation = self.headers.get("X-Amz-Target", "").split(".")[-1]
        if operation == "SendMessageBatch" and percent(20):  # Lost, but acknowledged.
            done = [{"Id": entry["Id"], "MessageId": "lost", "MD5OfMessageBody": "0"}
                    for entry in json.loads(body)["Entries"]]
            return self.reply(200, json.dumps({"Successful": done, "Failed": []}).encode())
        if operation == "DeleteMessageBatch" and percent(20):  # Comes again later.
            done = [{"Id": entry["Id"]} for entry in json.loads(body)["Entries"]]
            return self.reply(200, json.dumps({"Successful": done, "Failed": []}).encode())
        answers = [self.ask(copy) for copy in spoil(operation, body)]
        return self.reply(*answers[0])

    def ask(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", TARGET, timeout=60)
        headers = {name: value for name, value in self.headers.items()
                   if name.lower() not in ("content-length", "connection")}
        connection.request("POST", self.path, body, headers)
        answer = connection.getresponse()
        result = answer.status, answer.read()
        connection.close()
        return result

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
