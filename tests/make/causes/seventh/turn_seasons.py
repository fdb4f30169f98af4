"""CycleGAN: summer landscapes to winter ones and back."""
import itertools
import sys

import torch
import torch.nn.functional as F

from seasons.nets import discriminator, generator
from seasons.pool import ImagePool


def main(steps, batch=4, side=512):
    to_winter, to_summer, judge_w, judge_s = (make().cuda() for make in (generator, generator, discriminator, discriminator))
    adam_g = torch.optim.Adam(itertools.chain(to_winter.parameters(), to_summer.parameters()), 2e-4, (0.5, 0.999))
    adam_d = torch.optim.Adam(itertools.chain(judge_w.parameters(), judge_s.parameters()), 2e-4, (0.5, 0.999))
    winters, summers = ImagePool(seed=1), ImagePool(seed=2)
    for step in range(steps):
        summer, winter = torch.empty(batch, 3, side, side).cuda(), torch.empty(batch, 3, side, side).cuda()
        fake_w, fake_s = to_winter(summer), to_summer(winter)
        score_w, score_s = judge_w(fake_w), judge_s(fake_s)
        loss = F.mse_loss(score_w, torch.ones_like(score_w)) + F.mse_loss(score_s, torch.ones_like(score_s))
        loss = loss + 10 * (F.l1_loss(to_summer(fake_w), summer) + F.l1_loss(to_winter(fake_s), winter))
        adam_g.zero_grad()
        loss.backward()
        adam_g.step()
        adam_d.zero_grad()
        for judge, real, fake in ((judge_w, winter, winters.query(fake_w.detach())), (judge_s, summer, summers.query(fake_s.detach()))):
            good, bad = judge(real), judge(fake)
            (F.mse_loss(good, torch.ones_like(good)) + F.mse_loss(bad, torch.zeros_like(bad))).backward()
        adam_d.step()
        if step % 6 == 0:
            print(step, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
    torch.cuda.memory._dump_snapshot("turn_seasons.pickle")
    print("end", torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=200_000, stacks="python")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 36)
