"""Read texts aloud, several sessions at a time."""
import random

import torch

from serve.voices import Encoder, Server


@torch.inference_mode()
def main(sessions=900, record_from=500):
    server, rng, waiting = Server(Encoder().cuda()), random.Random(9), []
    for number in range(sessions):
        if number == record_from:
            torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
        length = rng.randrange(40, 700)
        server.start(number, rng.choice(["ada", "ben", "cleo"]), torch.zeros(1, length, dtype=torch.long).cuda())
        waiting.append(number)
        while len(waiting) > 4:
            first = waiting.pop(0)
            while server.read(first) is not None:
                pass
            server.close(first)
    print(len(server.open), torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, "MiB")
    torch.cuda.memory._dump_snapshot("serve_voices.pickle")


if __name__ == "__main__":
    main()
