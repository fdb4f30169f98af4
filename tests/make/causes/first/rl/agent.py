import torch
import torch.nn as nn


class QNetwork(nn.Module):
    def __init__(self, actions=18):
        super().__init__()
        self.conv1 = nn.Conv2d(4, 32, 8, 4)
        self.conv2 = nn.Conv2d(32, 64, 4, 2)
        self.conv3 = nn.Conv2d(64, 64, 3, 1)
        self.fc = nn.Linear(64 * 7 * 7, 512)
        self.head = nn.Linear(512, actions)

    def forward(self, x):
        x = torch.relu(self.conv1(x / 255.0))
        x = torch.relu(self.conv2(x))
        x = torch.relu(self.conv3(x))
        return self.head(torch.relu(self.fc(x.flatten(1))))


def td_step(online, target, optimizer, states, next_states):
    with torch.no_grad():
        goal = target(next_states).max(1).values * 0.99
    loss = nn.functional.smooth_l1_loss(online(states).max(1).values, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
