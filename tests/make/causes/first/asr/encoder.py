import torch
import torch.nn as nn


class ConvSubsampling(nn.Module):
    def __init__(self, mels, dim):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 128, 3, 2, 1)
        self.conv2 = nn.Conv2d(128, 128, 3, 2, 1)
        self.out = nn.Linear(128 * (mels // 4), dim)

    def forward(self, x):
        x = torch.relu(self.conv1(x.unsqueeze(1)))
        x = torch.relu(self.conv2(x))
        B, C, T, M = x.shape
        return self.out(x.transpose(1, 2).reshape(B, T, C * M))


class EncoderLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.fc1, self.fc2 = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.heads = heads

    def forward(self, x):
        B, T, D = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(B, T, 3, self.heads, D // self.heads).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-2, -1)) / (D // self.heads) ** 0.5
        x = x + self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, D))
        return x + self.fc2(torch.nn.functional.silu(self.fc1(self.norm2(x))))


class AsrEncoder(nn.Module):
    def __init__(self, mels=80, dim=512, heads=8, layers=12, vocab=1024):
        super().__init__()
        self.subsample = ConvSubsampling(mels, dim)
        self.layers = nn.ModuleList([EncoderLayer(dim, heads) for _ in range(layers)])
        self.ctc = nn.Linear(dim, vocab)

    def forward(self, x):
        x = self.subsample(x)
        for layer in self.layers:
            x = layer(x)
        return self.ctc(x)
