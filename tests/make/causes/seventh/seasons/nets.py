import torch.nn as nn


def generator(width=48, blocks=1):
    layers = [nn.Conv2d(3, width, 7, padding=3), nn.InstanceNorm2d(width), nn.ReLU(True),
              nn.Conv2d(width, 2 * width, 3, 2, 1), nn.InstanceNorm2d(2 * width), nn.ReLU(True)]
    for _ in range(blocks):
        layers += [nn.Conv2d(2 * width, 2 * width, 3, padding=1), nn.InstanceNorm2d(2 * width), nn.ReLU(True)]
    return nn.Sequential(*layers, nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.ReLU(True), nn.Conv2d(width, 3, 7, padding=3), nn.Tanh())


def discriminator(width=64):
    return nn.Sequential(nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(width, 2 * width, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(2 * width, 1, 4))
