import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F


def block(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.SiLU())


class WasteSegmenter(L.LightningModule):
    def __init__(self, classes=22, width=64, lr=3e-4):
        super().__init__()
        self.save_hyperparameters()
        self.encoder = nn.Sequential(block(3, width, 2), block(width, 2 * width, 2), block(2 * width, 4 * width, 2),
                                     block(4 * width, 4 * width), block(4 * width, 4 * width))
        self.head = nn.Conv2d(4 * width, classes, 1)
        self.validation_outputs = []

    def forward(self, x):
        return F.interpolate(self.head(self.encoder(x)), size=x.shape[-2:], mode="bilinear")

    def training_step(self, batch, index):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        logits = self(x)
        self.log("val_loss", F.cross_entropy(logits, y))
        self.validation_outputs.append({"probs": logits.softmax(1), "target": y})

    def on_validation_epoch_end(self):
        hit = sum((out["probs"].argmax(1) == out["target"]).float().mean() for out in self.validation_outputs)
        self.log("val_acc", hit / len(self.validation_outputs))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
