"""Hostile clients of a hub, and honest ones beside them. Run by the scripts floods_*.sh.

    floods.py frames PID NATIVE TOKEN         half frames on many connections
    floods.py bodies PID REST TOKEN           half bodies for the REST service
    floods.py silent NATIVE REST DOOR TOKEN   connections that say nothing
    floods.py json PID DOOR KEYFILE           one request with millions of values
    floods.py garbage NATIVE                  many connections that speak something else
    floods.py small PID NATIVE TOKEN          a stream of tiny requests from one peer
    floods.py pieces NATIVE DOOR TOKEN        empty lines, and bodies in chunks of one byte
    floods.py dribble REST TOKEN              bodies that nobody wants, byte by byte

Addresses are host:port. Says what it saw and exits with 1 if a bound was passed.
"""
import datetime
import hashlib
import hmac
import select
import socket
import struct
import sys
import threading
import time
import urllib.request

MIB = 1 << 20


def fail(text):
    sys.exit("FAILED: " + text)


def resident(pid):
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    fail("the hub is gone")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def connect(address):
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=60)


def field(number, content):
    size, out = len(content), bytes([number << 3 | 2])
    while size > 127:
        out += bytes([size & 127 | 128])
        size >>= 7
    return out + bytes([size]) + content


def framed(message):
    return struct.pack("<I", len(message)) + message


def greet(address, token):
    peer = connect(address)
    peer.sendall(b"DUNLIN" + struct.pack("<H", 2) + framed(field(1, token) + field(2, b"flood")))
    size = struct.unpack("<I", peer.recv(4, socket.MSG_WAITALL))[0]
    peer.recv(size, socket.MSG_WAITALL)
    return peer


def push(peers, total, seconds):
    """Sends bytes to all as far as they are taken, for so long; returns how many were."""
    block, sent, until = bytes(256 << 10), [0] * len(peers), time.monotonic() + seconds
    for peer in peers:
        peer.setblocking(False)
    while time.monotonic() < until and min(sent) < total:
        moved = False
        for i, peer in enumerate(peers):
            if sent[i] >= total:
                continue
            try:
                sent[i] += peer.send(block[:total - sent[i]])
                moved = True
            except BlockingIOError:
                pass
            except OSError:
                sent[i] = total  # It was dropped.
        if not moved:
            time.sleep(0.01)
    return sum(sent)


class Honest:
    """Asks again and again in a thread, as others do who know nothing of a flood."""

    def __init__(self, ask):
        self.ask, self.times, self.failed, self.ended = ask, [], [], threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.ended.is_set():
            begun = time.monotonic()
            try:
                self.ask()
                self.times.append(time.monotonic() - begun)
            except Exception as error:  # Whatever it is, it is a failure.
                self.failed.append(repr(error))

    def stop(self, least):
        self.ended.set()
        self.thread.join()
        print(f"honest: {len(self.times)} served, slowest {max(self.times, default=0):.2f} s,",
              f"{len(self.failed)} failed {self.failed[:1]}")
        if self.failed or len(self.times) < least:
            fail("honest requests were not served")


def rest_health(address, token):
    def ask():
        request = urllib.request.Request(f"http://{address}/api/v1/health",
                                         headers={"Authorization": "Bearer " + token})
        urllib.request.urlopen(request, timeout=30).read()
    return ask


def native_hello(address, token):
    return lambda: greet(address, token.encode()).close()


def bounded(pid, most, what):
    size = resident(pid)
    print(f"{what}: {size / MIB:.0f} MiB")
    if size > most:
        fail(f"{what}: the hub has {size / MIB:.0f} MiB, more than {most / MIB:.0f}")


def frames(pid, address, token):
    honest = Honest(native_hello(address, token))
    peers = [greet(address, token.encode()) for _ in range(200)]
    for peer in peers:
        peer.sendall(struct.pack("<I", 16 * MIB))
    push(peers, 16 * MIB - 4096, 2)
    bounded(pid, 400 * MIB, "half frames of 200 peers")
    until, dropped = time.monotonic() + 30, 0
    while dropped == 0 and time.monotonic() < until:
        if resident(pid) > 400 * MIB:
            fail("the hub has more than 400 MiB")
        dropped = len(select.select(peers, [], [], 1)[0])
    if dropped == 0:
        fail("nobody who stands still was dropped")
    for peer in peers:
        peer.close()
    until = time.monotonic() + 20
    while resident(pid) > 100 * MIB and time.monotonic() < until:
        time.sleep(0.1)
    bounded(pid, 100 * MIB, "after all have left")
    honest.stop(5)


def bodies(pid, address, token):
    honest = Honest(rest_health(address, token))
    head = (f"POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Length: {16 * MIB}\r\n\r\n")
    peers = [connect(address) for _ in range(100)]
    for peer in peers:
        peer.sendall(head.encode())
    sent = push(peers, 15 * MIB, 2)
    print(f"sent {sent / MIB:.0f} MiB of bodies that do not end")
    bounded(pid, 450 * MIB, "half bodies of 100 clients")
    for peer in peers:
        peer.close()
    honest.stop(5)


def silent(native, rest, door, token):
    import resource
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    hanging = [connect(rest) for _ in range(1500)]
    hanging += [connect(native) for _ in range(300)] + [connect(door) for _ in range(300)]
    for address in (rest, native, door):
        peer = connect(address)
        peer.sendall(b"GET / HT" if address != native else b"DUN")
        hanging.append(peer)
    served = [Honest(rest_health(rest, token)), Honest(native_hello(native, token))]
    until = time.monotonic() + 2
    while time.monotonic() < until:
        hanging.append(connect(rest))
        time.sleep(0.02)
    for each in served:
        each.stop(10)
    peer = connect(door)
    peer.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    if not peer.recv(100).startswith(b"HTTP/1.1 403"):
        fail("the door does not answer")
    for peer in hanging:
        peer.close()


def signed(door, key_file, target, body):
    """A request for DynamoDB, signed as AWS wants it."""
    with open(key_file) as lines:
        pairs = dict(line.split("=", 1) for line in lines.read().split("\n") if "=" in line)
    pairs = {name.strip().lower(): value.strip() for name, value in pairs.items()}
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{now[:8]}/eu-1/dynamodb/aws4_request"
    canonical = "\n".join(["POST", "/", "", f"host:{door}", f"x-amz-date:{now}",
                           f"x-amz-target:{target}", "", "host;x-amz-date;x-amz-target",
                           hashlib.sha256(body).hexdigest()])
    text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + pairs["aws_secret_access_key"]).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return (f"POST / HTTP/1.1\r\nhost: {door}\r\nx-amz-date: {now}\r\nx-amz-target: {target}\r\n"
            f"authorization: AWS4-HMAC-SHA256 Credential={pairs['aws_access_key_id']}/{scope}, "
            f"SignedHeaders=host;x-amz-date;x-amz-target, Signature={signature}\r\n"
            f"content-length: {len(body)}\r\n\r\n").encode() + body


def json(pid, door, key_file):
    for target, size in (("GetItem", 1_900_000), ("BatchWriteItem", 8_000_000), ("GetItem", 16_000_000)):
        body = b"{\"a\":[" + b"[]," * (size // 3) + b"[]]}"
        request = signed(door, key_file, "DynamoDB_20120810." + target, body)
        peer = connect(door)
        before = cpu_seconds(pid)
        try:
            peer.sendall(request)
        except OSError:
            pass  # It was refused before all was sent.
        reply = peer.recv(10_000)
        used = cpu_seconds(pid) - before
        print(f"{target} of {len(body)} bytes: {used:.2f} s of the loop, {reply.split(b'x-amz')[0][:30]}")
        if not reply.startswith((b"HTTP/1.1 400", b"HTTP/1.1 413")) or used > 0.3:
            fail("millions of values were not refused at once")
    bounded(pid, 120 * MIB, "after millions of values")


def garbage(native):
    for _ in range(3000):
        peer = connect(native)
        peer.sendall(b"GET / HTTP/1.1\r\n\r\n")
        peer.close()


def small(pid, address, token):
    honest = Honest(native_hello(address, token))
    flooder = greet(address, token.encode())
    # Requests of an unknown kind would end the connection; this one asks what is in the store.
    requests = b"".join(framed(b"\x08" + bytes([1 + i % 100]) + INFO) for i in range(20_000))
    flooder.setblocking(False)
    until, sent = time.monotonic() + 2, 0
    while time.monotonic() < until:
        try:
            sent += flooder.send(requests[sent % len(requests):])
        except BlockingIOError:
            time.sleep(0.001)
    print(f"one peer sent {sent / MIB:.1f} MiB of small requests and took no answer")
    bounded(pid, 200 * MIB, "a flood of small requests")
    honest.stop(20)
    flooder.close()


def pieces(native, door, token):
    """Nobody is served more slowly, however small the pieces of what is refused in the end."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    chunked = (f"POST / HTTP/1.1\r\nHost: x\r\nx-amz-date: {now}\r\nTransfer-Encoding: chunked\r\n"
               "x-amz-target: AmazonSQS.ListQueues\r\nAuthorization: AWS4-HMAC-SHA256 Credential="
               f"DUNLIN8000000000ABCDEF012345/{now[:8]}/eu-1/sqs/aws4_request, SignedHeaders=host, "
               "Signature=00\r\n\r\n").encode()
    for what, head, block in (("empty lines", b"", b"\r\n" * 65536),
                              ("tiny chunks", chunked, b"1\r\nx\r\n" * 21000)):
        until = time.monotonic() + 4

        def flood():
            while time.monotonic() < until:
                with connect(door) as peer:
                    peer.settimeout(5)
                    try:
                        peer.sendall(head)
                        while time.monotonic() < until:
                            peer.send(block)
                    except OSError:
                        pass  # It was refused.

        floods = [threading.Thread(target=flood) for _ in range(8)]
        honest = Honest(native_hello(native, token))
        for each in floods:
            each.start()
        for each in floods:
            each.join()
        honest.stop(10)
        print(f"{what}: slowest {max(honest.times):.2f} s")
        if max(honest.times) > 3:
            fail(f"{what} keep others waiting")


def dribble(rest, token):
    import resource
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    request = b"GET /node/x/update HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n"
    peers, dropped, honest = [], 0, Honest(rest_health(rest, token))
    for _ in range(1500):
        peers.append(connect(rest))
        try:
            peers[-1].sendall(request)
        except OSError:
            pass  # It has made room already.
    honest.stop(5)
    honest, until = Honest(rest_health(rest, token)), time.monotonic() + 15
    while dropped < len(peers) and time.monotonic() < until:
        dropped = 0
        for peer in peers:
            try:
                peer.sendall(b"x")
            except OSError:
                dropped += 1
        time.sleep(0.5)
    honest.stop(5)
    print(f"{dropped} of {len(peers)} that dribbled were dropped")
    if dropped < len(peers):
        fail("who dribbles keeps its place")
    for peer in peers:
        peer.close()


INFO = b"\x6a\x00"  # AskInfo, field 13.
if __name__ == "__main__":
    {"frames": frames, "bodies": bodies, "silent": silent, "json": json, "garbage": garbage,
     "small": small, "pieces": pieces, "dribble": dribble}[sys.argv[1]](*sys.argv[2:])
