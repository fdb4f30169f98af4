import copy

import torch
import torch.nn.functional as F
from torch import nn


def trunk(out, extra=0):
    return nn.Sequential(nn.Linear(2 * 96 * 128 + extra, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, out))


class Agent(nn.Module):
    def __init__(self, actions=4):
        super().__init__()
        self.actor, self.critic = trunk(2 * actions), trunk(1, actions)
        self.target = copy.deepcopy(self.critic).requires_grad_(False)

    def act(self, view):
        mean, log_std = self.actor(view.flatten(1)).chunk(2, -1)
        return torch.tanh(mean + log_std.clamp(-5, 2).exp() * torch.randn_like(mean))

    def critic_loss(self, view, action, reward, after):
        with torch.no_grad():
            goal = reward + 0.99 * self.target(torch.cat([after.flatten(1), self.act(after)], -1))
        value = self.critic(torch.cat([view.flatten(1), action], -1))
        return F.mse_loss(value, goal)

    def actor_loss(self, view):
        return -self.critic(torch.cat([view.flatten(1), self.act(view)], -1)).mean()

    @torch.no_grad()
    def follow(self, rate=0.005):
        for t, p in zip(self.target.parameters(), self.critic.parameters()):
            t.lerp_(p, rate)
