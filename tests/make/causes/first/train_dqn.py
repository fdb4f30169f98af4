"""DQN on an Atari-like environment."""
import numpy as np
import torch

from rl.agent import QNetwork, td_step
from rl.replay import ReplayBuffer


class FrameStackEnv:
    def __init__(self):
        self.frames = np.zeros((4, 84, 84), dtype=np.uint8)

    def step(self, action):
        self.frames = np.roll(self.frames, -1, axis=0)
        return self.frames.copy(), 0.0, False


def main(total_steps=9000, learn_every=100, capacity=1_000_000):
    torch.cuda.memory._record_memory_history(max_entries=20_000, stacks="python")
    online, target = QNetwork().cuda(), QNetwork().cuda()
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-4)
    env, buffer = FrameStackEnv(), ReplayBuffer(capacity)
    state = env.frames.copy()
    for step in range(total_steps):
        next_state, reward, done = env.step(step % 18)
        buffer.push(state, step % 18, reward, next_state, done)
        state = next_state
        if step >= 1000 and step % learn_every == 0:
            td_step(online, target, optimizer, *buffer.sample(32))
    print(len(buffer), torch.cuda.memory_allocated() >> 20, "MiB")
    torch.cuda.memory._dump_snapshot("train_dqn.pickle")


if __name__ == "__main__":
    main()
