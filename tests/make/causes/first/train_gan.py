"""A DCGAN on 128x128 faces."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(True))


class Generator(nn.Module):
    def __init__(self, z=128, width=64):
        super().__init__()
        self.fc = nn.Linear(z, width * 8 * 8 * 8)
        self.blocks = nn.ModuleList([block(width * 8 >> i, width * 8 >> (i + 1)) for i in range(4)])
        self.out = nn.Conv2d(width // 2, 3, 3, padding=1)

    def forward(self, z):
        x = self.fc(z).view(len(z), -1, 8, 8)
        for b in self.blocks:
            x = b(F.interpolate(x, scale_factor=2))
        return torch.tanh(self.out(x))


class Discriminator(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(3 if i == 0 else width << (i - 1), width << i, 4, 2, 1) for i in range(4)])
        self.head = nn.Linear((width << 3) * 8 * 8, 1)

    def forward(self, x):
        for conv in self.convs:
            x = F.leaky_relu(conv(x), 0.2)
        return self.head(x.flatten(1))


def step(generator, discriminator, opt_g, opt_d, real):
    fake = generator(torch.randn(len(real), 128, device="cuda"))
    loss_d = F.softplus(-discriminator(real)).mean() + F.softplus(discriminator(fake.detach())).mean()
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    loss_g = F.softplus(-discriminator(fake)).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    return loss_d.item(), loss_g.item()


def main():
    torch.cuda.memory._record_memory_history()
    generator, discriminator = Generator().cuda(), Discriminator().cuda()
    opt_g = torch.optim.Adam(generator.parameters(), 2e-4, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(discriminator.parameters(), 2e-4, betas=(0.5, 0.999))
    for i in range(15):
        real = torch.empty(128, 3, 128, 128).cuda()
        step(generator, discriminator, opt_g, opt_d, real)
        torch.cuda.empty_cache()
    torch.cuda.memory._dump_snapshot("train_gan.pickle")


if __name__ == "__main__":
    main()
