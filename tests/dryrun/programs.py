"""The strangers' programs, up to where they write their snapshots: `python programs.py NAME FOLDER [OPTION...]`.

Each function stands for one repository: its warm-up steps, when it records, and what it still holds then.
"""

import sys
from contextlib import nullcontext

import torch
import torch.nn.functional as F
from model import VOCABULARY, AdamW, Inner, Model, cross_entropy, silu

BATCH = 4


def record():
    torch.cuda.memory._record_memory_history(max_entries=1_000_000)


def dump(name):
    torch.cuda.memory._dump_snapshot(f"{FOLDER}/{name}.pickle")


def stop():
    torch.cuda.memory._record_memory_history(enabled=None)


def autocast(dtype):
    return nullcontext() if dtype == "float32" else torch.autocast("cuda", dtype=getattr(torch, dtype))


def tokens(*shape):
    return torch.randint(0, VOCABULARY, shape, device="cuda")


def flat_loss(logits, targets):
    return F.cross_entropy(logits.reshape(-1, VOCABULARY), targets.reshape(-1))


def charliesabino(dtype):
    """One model for three lengths, one after the other; memory left by a length is still there in the next."""
    context = autocast(dtype)
    model = Model(2025, "xl", 512).to("cuda")
    optimizer = torch.optim.SGD(model.parameters())
    for length in (128, 256, 512):
        x, y = (torch.zeros(BATCH, length, dtype=torch.long).pin_memory().to("cuda", non_blocking=True) for _ in "xy")
        for _ in range(2):
            with context:
                logits = model(x)
                loss = cross_entropy(logits, y)
            loss.backward()
            optimizer.zero_grad()
        record()
        with context:
            logits = model(x)
        dump(f"{length}-fwd")
        with context:
            loss = cross_entropy(logits, y)
        loss.backward()
        optimizer.zero_grad()
        dump(f"{length}-full")
        stop()


def wuyh11():
    model = Model(2025, "medium", 128).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    x, y = tokens(BATCH, 128), tokens(BATCH, 128)
    for step in range(4):
        if step == 3:
            record()
        optimizer.zero_grad()
        logits = model(x)
        loss = flat_loss(logits, y)
        loss.backward()
        optimizer.step()
    dump("snapshot")


def both_first(self, x):
    first = self.w1(x)
    second = self.w3(x)
    product = silu(first) * second
    return self.w2(product)


def aimetrics(mode, dtype, length):
    if dtype == "bfloat16":
        Inner.forward = both_first
    length, context = int(length), autocast(dtype)
    model = Model(2025, "xl", length).to("cuda")
    x, y = tokens(BATCH, length), tokens(BATCH, length)
    optimizer = torch.optim.AdamW(model.parameters()) if mode == "train" else None
    for step in range(3):
        if step == 2:
            record()
        model.zero_grad()
        if mode == "forward":
            with context, torch.no_grad():
                _ = model(x)
            continue
        with context:
            logits = model(x)
            loss = flat_loss(logits, y)
        loss.backward()
        optimizer.step()
    dump("snapshot")


def magma27():
    """Gradients are never cleared."""
    model = Model(2026, "small", 256).to("cuda")
    x, y = (torch.zeros(32, 256, dtype=torch.long).to("cuda") for _ in "xy")
    for step in range(6):
        if step == 5:
            record()
        logits = model(x)
        loss = cross_entropy(logits, y)
        loss.backward()
    dump("snapshot")


def linyunlinyun(mode, dtype, length):
    length = int(length)
    model = Model(2026, "xl", length).to("cuda")
    x, y = tokens(BATCH, length), tokens(BATCH, length)
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        optimizer.zero_grad()
        with torch.no_grad() if mode == "forward" else nullcontext(), autocast(dtype):
            logits = model(x)
        if mode == "full_step":
            loss = flat_loss(logits.float(), y)
            loss.backward()
            optimizer.step()

    for _ in range(5):
        step()
    record()
    step()
    dump("snapshot")


def bolongcheng(dtype, length, gradients):
    length = int(length)
    model = Model(2026, "xl", length).to("cuda")
    data = torch.zeros(BATCH, length + 1, dtype=torch.long)
    x, y = (part.contiguous().to("cuda") for part in (data[:, :-1], data[:, 1:]))
    del y

    def step():
        with torch.set_grad_enabled(gradients == "with"), autocast(dtype):
            _ = model(x)

    for _ in range(5):
        step()
    record()
    step()
    dump("snapshot")


def wedsonlin(mode, dtype, length):
    """Five batches for the steps before, all made at once, and one for the recorded step."""
    length = int(length)
    model = Model(2026, "medium", length).to("cuda")
    optimizer = AdamW(model.parameters())
    before_x, x = tokens(5, BATCH, length), tokens(1, BATCH, length)
    if mode == "inference":
        with torch.inference_mode():
            for step in range(5):
                with autocast(dtype):
                    model(before_x[step])
            record()
            with autocast(dtype):
                model(x[0])
            dump("snapshot")
        return
    before_y, y = tokens(5, BATCH, length), tokens(1, BATCH, length)
    for step in range(5):
        with autocast(dtype):
            logits = model(before_x[step])
            loss = cross_entropy(logits, before_y[step])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    del logits, loss
    record()
    with autocast(dtype):
        logits = model(x[0])
        loss = cross_entropy(logits, y[0])
    loss.backward()
    optimizer.step()
    dump("snapshot")


if __name__ == "__main__":
    name, FOLDER, *options = sys.argv[1:]
    globals()[name](*options)
