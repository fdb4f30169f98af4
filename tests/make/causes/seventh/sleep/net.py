import torch.nn as nn


class Stager(nn.Module):
    """Thirty-second epochs of EEG -> tokens by convolutions, a night's context by a transformer."""

    def __init__(self, width=256, depth=4, stages=5):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(4, 64, 49, stride=6, padding=24), nn.GELU(), nn.MaxPool1d(8, 8),
                                  nn.Conv1d(64, 128, 9, padding=4), nn.GELU(), nn.Conv1d(128, width, 9, padding=4), nn.GELU(),
                                  nn.AdaptiveAvgPool1d(1), nn.Flatten())
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True, norm_first=True)
        self.night = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(width, stages)

    def forward(self, x):
        nights, epochs = x.shape[:2]
        tokens = self.stem(x.flatten(0, 1)).view(nights, epochs, -1)
        return self.head(self.night(tokens))
