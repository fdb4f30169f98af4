"""Key-value buffers of a chat host: each session gets one buffer, sized for its whole conversation, until it ends."""
import heapq
import random

import torch

LAYERS, KV, HEAD = 16, 8, 128
GIB = 1 << 30


class Host:
    def __init__(self, budget):
        self.budget, self.used = budget, 0
        self.sessions, self.ends = {}, []

    def admit(self, now, ident, tokens, seconds):
        size = 2 * 2 * LAYERS * KV * HEAD * tokens
        while self.used + size > self.budget:
            now = max(now, self.finish())
        self.sessions[ident] = torch.empty(tokens, 2, LAYERS, KV, HEAD, dtype=torch.bfloat16, device="cuda")
        self.used += size
        heapq.heappush(self.ends, (now + seconds, ident))
        return now

    def finish(self):
        end, ident = heapq.heappop(self.ends)
        buffer = self.sessions.pop(ident)
        self.used -= buffer.nbytes
        return end


def serve(arrivals=2500):
    dice, host, now = random.Random(41), Host(budget=int(10.4 * GIB)), 0.0
    for ident in range(arrivals):
        tokens = min(10_000, 200 + int(dice.paretovariate(1.05) * 180))
        now = host.admit(now + dice.expovariate(3.0), ident, tokens, dice.gammavariate(0.7, 40))
    return len(host.sessions)


def main():
    torch.cuda.memory._record_memory_history(max_entries=12_000, stacks="python")
    try:
        print(serve(), "open at the end", torch.cuda.memory_reserved() >> 20)
    except torch.OutOfMemoryError as e:
        print(e)
        torch.cuda.memory._dump_snapshot("host_sessions.pickle")
        raise


if __name__ == "__main__":
    main()
