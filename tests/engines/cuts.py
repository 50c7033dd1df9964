"""A proxy that cuts connections at random places: in the middle of a request, after it went out
but before its answer, in the middle of an answer.

    cuts.py TARGET_PORT SEED MEAN_BYTES CUTS

Prints its port, then a line for each cut. After so many cuts it only passes bytes on.
"""
import asyncio
import random
import socket
import struct
import sys


class Proxy:
    def __init__(self, target, seed, mean_bytes, cuts):
        self.target, self.mean_bytes, self.left = target, mean_bytes, cuts
        self.chance = random.Random(seed)

    async def serve(self):
        server = await asyncio.start_server(self.connected, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    async def connected(self, reader, writer):
        try:
            there = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        # How much may pass in both directions together before this connection is cut.
        budget = [self.chance.expovariate(1 / self.mean_bytes)]
        writers = [writer, there[1]]
        await asyncio.gather(self.carry(reader, there[1], budget, writers),
                             self.carry(there[0], writer, budget, writers))

    async def carry(self, reader, writer, budget, writers):
        try:
            while data := await reader.read(65536):
                if self.left > 0 and len(data) >= budget[0]:
                    # What comes before the cut arrives.
                    writer.write(data[:int(max(budget[0], 0))])
                    await writer.drain()
                    self.cut(writers)
                    return
                budget[0] -= len(data)
                writer.write(data)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
        except OSError:
            pass

    def cut(self, writers):
        self.left -= 1
        print("cut", flush=True)
        for writer in writers:
            # Half of them break off, half end as if the other side had closed.
            if self.chance.random() < 0.5:
                connection = writer.get_extra_info("socket")
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                      struct.pack("ii", 1, 0))
            writer.close()


if __name__ == "__main__":
    asyncio.run(Proxy(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]),
                      int(sys.argv[4])).serve())
