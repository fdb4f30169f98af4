import random
from collections import deque, namedtuple

import torch

Transition = namedtuple("Transition", "state action reward next_state done")


class ReplayBuffer:
    def __init__(self, capacity, device="cuda"):
        self.memory = deque(maxlen=capacity)
        self.device = device

    def push(self, state, action, reward, next_state, done):
        self.memory.append(
            Transition(
                torch.as_tensor(state, dtype=torch.float32, device=self.device),
                action,
                reward,
                torch.as_tensor(next_state, dtype=torch.float32, device=self.device),
                done,
            )
        )

    def sample(self, batch_size):
        batch = random.sample(self.memory, batch_size)
        return torch.stack([t.state for t in batch]), torch.stack([t.next_state for t in batch])

    def __len__(self):
        return len(self.memory)
