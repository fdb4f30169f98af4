"""Turn mel spectrograms into speech, with CUDA graphs for low latency."""
import random

import torch

from graphs.replay import Replayer
from graphs.vocoder import Vocoder


def requests(count, seed=12):
    rng = random.Random(seed)
    for _ in range(count):
        yield torch.empty(1, rng.randrange(10, 90) * 16, 80)


@torch.inference_mode()
def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    speak = Replayer(Vocoder().cuda().eval())
    try:
        for number, mel in enumerate(requests(300)):
            speak(mel)
        print(len(speak.captured), torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20)
    except torch.OutOfMemoryError as error:
        print(number, len(speak.captured), torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, error)
        torch.cuda.memory._dump_snapshot("serve_speech.pickle")
        raise


if __name__ == "__main__":
    main()
