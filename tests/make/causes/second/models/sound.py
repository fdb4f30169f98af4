import torch.nn as nn

from models.swish import swish


class Block(nn.Module):
    def __init__(self, channels, expand=4):
        super().__init__()
        wide = channels * expand
        self.widen = nn.Conv1d(channels, wide, 1)
        self.depth = nn.Conv1d(wide, wide, 9, padding=4, groups=wide)
        self.narrow = nn.Conv1d(wide, channels, 1)

    def forward(self, x):
        y = self.widen(x)
        y = swish(self.depth(y))
        return x + self.narrow(y)


class SoundTagger(nn.Module):
    def __init__(self, mels=96, channels=192, blocks=8, tags=527):
        super().__init__()
        self.stem = nn.Conv1d(mels, channels, 5, padding=2, stride=2)
        self.blocks = nn.ModuleList(Block(channels) for _ in range(blocks))
        self.head = nn.Linear(channels, tags)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(-1))
