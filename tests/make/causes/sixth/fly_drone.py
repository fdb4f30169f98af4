"""A drone learns to land from depth pictures (soft actor-critic)."""
import sys

import torch

from drone.agent import Agent
from drone.memory import Memory


def fly(steps, size=8000):
    agent = Agent().cuda()
    critic = torch.optim.Adam(agent.critic.parameters(), lr=3e-4)
    actor = torch.optim.Adam(agent.actor.parameters(), lr=3e-4)
    memory = Memory(size)
    view = torch.empty(2, 96, 128).cuda()
    for step in range(steps):
        with torch.no_grad():
            action = agent.act(view[None])[0]
        after = torch.empty(2, 96, 128).cuda()
        memory.put(view, action, torch.zeros(1, device="cuda"), after)
        view = after
        if step >= 512 and step % 16 == 0:
            view_, action_, reward_, after_ = memory.sample(128)
            critic.zero_grad()
            agent.critic_loss(view_, action_, reward_, after_).backward()
            critic.step()
            actor.zero_grad()
            agent.actor_loss(view_).backward()
            actor.step()
            agent.follow()
        if step % 500 == 0:
            print(step, len(memory.items), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
    torch.cuda.memory._dump_snapshot("fly_drone.pickle")


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=16_000, stacks="python")
    fly(int(sys.argv[1]) if len(sys.argv) > 1 else 12_000)
