"""Heat maps for a skin lesion classifier: which part of the photograph speaks for melanoma?"""
import torch
from torch import nn


class ConvNeXtBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.dw = nn.Conv2d(c, c, 7, padding=3, groups=c)
        self.norm = nn.GroupNorm(1, c)
        self.up, self.down = nn.Conv2d(c, 4 * c, 1), nn.Conv2d(4 * c, c, 1)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(self.dw(x)))))


class Lesions(nn.Module):
    def __init__(self, classes=9, widths=(96, 192, 384)):
        super().__init__()
        layers, before = [], 3
        for w in widths:
            layers += [nn.Conv2d(before, w, 4 if before == 3 else 2, 4 if before == 3 else 2), ConvNeXtBlock(w), ConvNeXtBlock(w)]
            before = w
        self.features, self.head = nn.Sequential(*layers), nn.Linear(before, classes)

    def forward(self, x):
        return self.head(self.features(x).mean((2, 3)))


def heat_map(net, photo, label):
    maps, grads = [], []

    def keep(module, inputs, output):
        maps.append(output.detach())
        output.register_hook(grads.append)

    for layer in net.features:
        layer.register_forward_hook(keep)
    net.zero_grad()
    net(photo)[0, label].backward()
    heat = 0
    for a, g in zip(maps, reversed(grads)):
        weights = g.mean((2, 3), keepdim=True)
        heat = heat + nn.functional.interpolate(torch.relu((weights * a).sum(1, keepdim=True)), (192, 192))
    return heat.cpu()


def on_oom(device, alloc, device_alloc, device_free):
    torch.cuda.memory._dump_snapshot("explain_skin.pickle")


def main(photos=90):
    net = Lesions().cuda().eval()
    torch.cuda.memory._record_memory_history(max_entries=20_000, stacks="python")
    torch._C._cuda_attach_out_of_memory_observer(on_oom)
    for number in range(photos):
        photo = torch.empty(1, 3, 768, 768).cuda()
        heat = heat_map(net, photo, number % 9)
        if number % 15 == 0:
            print(number, tuple(heat.shape), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    main()
