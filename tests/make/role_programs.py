"""Small programs as users write them, which roles.py records. Each reports what it does through `run`, see there.

No kernel runs and no weight is ever trained, so sizes are realistic where that costs nothing: parameters
and activations are of the same order, there are few layers, and two to four steps.
"""

import contextlib
import dataclasses
import os
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

PROGRAMS = {}


@dataclasses.dataclass
class Program:
    kind: str
    stacks: str
    # How torch finds the names of C++ functions; its default has changed between versions.
    symbols: str
    function: Callable
    # Where the program and its packages are, below the user's home; empty: in the common place.
    folder: str
    # Whether its own frames are left out: those of the story's package are above them.
    story: bool
    environment: dict


def program(kind, stacks, symbols="addr2line", folder="", story=False, **environment):
    def register(function):
        PROGRAMS[function.__name__] = Program(kind, stacks, symbols, function, folder, story, environment)
        return function

    return register


# ---- models -------------------------------------------------------------------------------------


class Residual(nn.Module):
    def __init__(self, inside, outside, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.shortcut = nn.Identity() if inside == outside else nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        self.stages = nn.Sequential(Residual(64, 64), Residual(64, 256, 2), Residual(256, 512, 2))
        self.head = nn.Linear(512, classes)

    def forward(self, x):
        x = self.stages(self.stem(x))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


def vgg(classes=100):
    layers, inside = [], 3
    for outside in (32, 64, 128, 256):
        layers += [nn.Conv2d(inside, outside, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        inside = outside
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(256 * 16, 2048), nn.ReLU(), nn.Dropout(0.5), nn.Linear(2048, classes))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(batch, length, width))


class PlainAttention(Attention):
    """Scores and softmax written out."""

    def __init__(self, width, heads):
        super().__init__(width, heads)
        self.register_buffer("mask", torch.ones(1024, 1024, dtype=torch.bool).tril())

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
        scores = scores.masked_fill(~self.mask[:length, :length], float("-inf"))
        y = F.dropout(F.softmax(scores, dim=-1), 0.1) @ v
        return self.proj(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, attention=Attention):
        super().__init__()
        self.ln1 = nn.LayerNorm(width)
        self.attn = attention(width, heads)
        self.ln2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, width=640, heads=10, layers=4, vocabulary=12_000, length=1024, attention=Attention, checkpoint=None):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads, attention) for _ in range(layers))
        self.ln = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.checkpoint = checkpoint

    def forward(self, tokens, targets=None):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            if self.checkpoint is None:
                x = block(x)
            else:
                x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=self.checkpoint)
        logits = self.head(self.ln(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


class Classifier(nn.Module):
    """torch's own encoder layers under an embedding."""

    def __init__(self, width=512, layers=5, vocabulary=9_000, feedforward=2048, norm_first=False):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        layer = nn.TransformerEncoderLayer(width, 8, feedforward, dropout=0.1, activation="gelu", batch_first=True, norm_first=norm_first)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.output = nn.Linear(width, 20)

    def forward(self, tokens):
        return self.output(self.encoder(self.embedding(tokens)).mean(dim=1))


def mlp(width=2048, depth=4, outputs=512):
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.LayerNorm(width), nn.SiLU()]
    return nn.Sequential(*layers, nn.Linear(width, outputs))


# ---- parts of training --------------------------------------------------------------------------


def images(run, batch, side, classes):
    pixels = torch.randn(batch, 3, side, side).cuda(non_blocking=True)
    labels = torch.randint(0, classes, (batch,)).cuda(non_blocking=True)
    run.note("input", pixels, labels)
    return pixels, labels


def texts(run, batch, length, vocabulary):
    data = torch.randint(0, vocabulary, (batch, length + 1))
    tokens, targets = data[:, :-1].to("cuda"), data[:, 1:].to("cuda")
    run.note("input", tokens, targets)
    return tokens, targets


def labelled_texts(run):
    tokens, labels = torch.randint(0, 4000, (4, 128)).cuda(), torch.randint(0, 20, (4,)).cuda()
    run.note("input", tokens, labels)
    return tokens, labels


def vectors(run, batch, width, outputs):
    x, y = torch.randn(batch, width, device="cpu").to("cuda"), torch.randn(batch, outputs).to("cuda")
    run.note("input", x, y)
    return x, y


def train(run, steps, late, batch_of, loss_of, optimizer, passes=1, **zero):
    """The plain loop; `late` records from the second step on. Several `passes` add up their gradients for a step."""
    for step in range(steps + late):
        if late and step == 1:
            run.record()
        for _ in range(passes):
            run.phase("forward")
            batch = batch_of()
            loss = loss_of(*batch)
            run.phase("backward")
            loss.backward()
        run.phase("optimizer")
        optimizer.step()
        optimizer.zero_grad(**zero)
    run.phase("setup")
    return loss


def train_gpt(run, model, optimizer, *, late, steps=3, batch=4, length=384, scope=contextlib.nullcontext):
    def loss_of(tokens, targets):
        with scope():
            return model(tokens, targets)[1]

    return train(run, steps, late, lambda: texts(run, batch, length, 12_000), loss_of, optimizer)


# ---- convolutional networks ---------------------------------------------------------------------


@program("cnn", "python")
def resnet_sgd(run):
    run.record()
    model = ResNet().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    criterion = nn.CrossEntropyLoss()
    run.model(model, optimizer)
    return train(run, 3, False, lambda: images(run, 16, 128, 1000), lambda x, y: criterion(model(x), y), optimizer)


@program("cnn", "all")
def vgg_adamw_late(run):
    model = vgg().to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    run.model(model, optimizer)

    def loss_of(x, y):
        scores = model(x)
        return F.cross_entropy(scores, y)

    return train(run, 3, True, lambda: images(run, 24, 64, 100), loss_of, optimizer)


# ---- language models ----------------------------------------------------------------------------


@program("gpt", "all")
def gpt_adamw(run):
    run.record()
    model = GPT().to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    run.model(model, optimizer)
    for _ in range(3):
        run.phase("forward")
        tokens, targets = texts(run, 4, 384, 12_000)
        logits, loss = model(tokens, targets)
        run.phase("backward")
        loss.backward()
        run.phase("optimizer")
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return logits


@program("gpt", "python")
def encoder_adam_late(run):
    with torch.device("cuda"):
        model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    run.model(model, optimizer)

    def batch_of():
        tokens = torch.randint(0, 9_000, (12, 160)).cuda()
        labels = torch.randint(0, 20, (12,)).cuda()
        run.note("input", tokens, labels)
        return tokens, labels

    return train(run, 2, True, batch_of, lambda x, y: F.cross_entropy(model(x), y), optimizer)


# ---- autocast -----------------------------------------------------------------------------------


@program("autocast", "python")
def gpt_bf16_late(run):
    model = GPT(layers=5).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    run.model(model, optimizer)
    return train_gpt(run, model, optimizer, late=True, scope=lambda: torch.autocast("cuda", dtype=torch.bfloat16))


@program("autocast", "all")
def gpt_fp16_scaler(run):
    run.record()
    model = GPT(width=576, heads=9, layers=3, attention=PlainAttention).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    scaler = torch.amp.GradScaler("cuda")
    run.model(model, optimizer)
    for _ in range(3):
        run.phase("forward")
        tokens, targets = texts(run, 4, 256, 12_000)
        with torch.autocast(device_type="cuda", dtype=torch.float16):
            logits = model(tokens)
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        run.phase("backward")
        scaler.scale(loss).backward()
        run.phase("optimizer")
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    run.phase("setup")
    return loss


# ---- checkpointing ------------------------------------------------------------------------------


@program("checkpoint", "all")
def gpt_checkpoint(run):
    run.record()
    model = GPT(layers=6, vocabulary=4000, checkpoint=False).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    run.model(model, optimizer)
    return train_gpt(run, model, optimizer, late=False, steps=2, batch=8)


@program("checkpoint", "python")
def gpt_reentrant_late(run):
    model = GPT(layers=5, width=512, heads=8, vocabulary=5000, attention=PlainAttention, checkpoint=True).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    run.model(model, optimizer)
    return train_gpt(run, model, optimizer, late=True, steps=2, batch=8)


@program("checkpoint", "python")
def gpt_reentrant_adam_late(run):
    model = GPT(layers=3, width=896, heads=14, vocabulary=3000, checkpoint=True).cuda()
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    run.model(model, optimizer)
    return train_gpt(run, model, optimizer, late=True, batch=6, length=320)


# ---- gradient accumulation ----------------------------------------------------------------------


@program("accumulation", "python")
def gpt_accumulate(run):
    run.record()
    model = GPT(layers=3).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    run.model(model, optimizer)
    for _ in range(2):
        for _ in range(3):
            run.phase("forward")
            tokens, targets = texts(run, 4, 320, 12_000)
            _, loss = model(tokens, targets)
            run.phase("backward")
            (loss / 3).backward()
        run.phase("optimizer")
        optimizer.step()
        optimizer.zero_grad()
    run.phase("setup")
    return loss


@program("accumulation", "all", symbols="dladdr")
def mlp_accumulate_late(run):
    """Gradients stay: they are set to zero, not to None."""
    model = mlp(width=1536, depth=5).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    run.model(model, optimizer)

    def loss_of(x, y):
        return F.mse_loss(model(x), y) / 4

    return train(run, 2, True, lambda: vectors(run, 1000, 1536, 512), loss_of, optimizer, 4, set_to_none=False)


def accumulate_late(run, model, optimizer, batch_of, passes, **zero):
    """Records from the second step on, each of several passes."""
    run.model(model, optimizer)

    def loss_of(x, y):
        return F.cross_entropy(model(x).flatten(0, -2), y.flatten()) / passes

    return train(run, 2, True, batch_of, loss_of, optimizer, passes, **zero)


@program("accumulation", "all", symbols="dladdr")
def gpt_accumulate_zeroed_late(run):
    model = GPT(width=512, heads=8, layers=4, vocabulary=5000).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    return accumulate_late(run, model, optimizer, lambda: texts(run, 6, 256, 5000), 3, set_to_none=False)


@program("accumulation", "python")
def encoder_accumulate_zeroed_late(run):
    model = Classifier(width=640, layers=3, vocabulary=4000, feedforward=1536).cuda()
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    return accumulate_late(run, model, optimizer, lambda: labelled_texts(run), 2, set_to_none=False)


@program("accumulation", "python")
def mlp_zeroed_momentum_late(run):
    model = mlp(width=1280, depth=4).cuda()
    optimizer = torch.optim.RMSprop(model.parameters(), momentum=0.9)

    def batch_of():
        x, y = torch.randn(700, 1280).cuda(), torch.randint(0, 512, (700,)).cuda()
        run.note("input", x, y)
        return x, y

    return accumulate_late(run, model, optimizer, batch_of, 1, set_to_none=False)


# ---- optimizers ---------------------------------------------------------------------------------


def train_mlp(run, optimizer_of, *, late, batch=3000, **options):
    if not late:
        run.record()
    model = mlp(**options).cuda()
    optimizer = optimizer_of(model.parameters())
    run.model(model, optimizer)
    width = model[0].in_features
    return train(run, 3, late, lambda: vectors(run, batch, width, 512), lambda x, y: F.smooth_l1_loss(model(x), y), optimizer)


@program("optimizer", "python")
def mlp_adam_foreach_late(run):
    return train_mlp(run, lambda p: torch.optim.Adam(p, foreach=True, weight_decay=0.01), late=True, batch=400)


@program("optimizer", "all")
def mlp_adamw_fused(run):
    return train_mlp(run, lambda p: torch.optim.AdamW(p, fused=True, amsgrad=True), late=False, width=1792)


@program("optimizer", "all")
def mlp_adam_single(run):
    return train_mlp(run, lambda p: torch.optim.Adam(p, foreach=False), late=False, depth=3)


@program("optimizer", "python")
def mlp_sgd_late(run):
    return train_mlp(run, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), late=True, batch=1200, depth=6)


@program("optimizer", "all", symbols="dladdr")
def mlp_hook_momentum_late(run):
    """Each gradient is used and dropped within the backward pass, as soon as it is whole."""
    model = mlp(width=1536, depth=4).cuda()
    optimizers = {parameter: torch.optim.SGD([parameter], lr=0.1, momentum=0.9) for parameter in model.parameters()}
    run.model(model)
    run.optimizers = list(optimizers.values())

    def update(parameter):
        optimizers[parameter].step()
        parameter.grad = None

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(update)
    for step in range(3):
        if step == 1:
            run.record()
        run.phase("forward")
        x, y = vectors(run, 500, 1536, 512)
        loss = F.mse_loss(model(x), y)
        run.phase("backward")
        loss.backward()
    run.phase("setup")
    return loss


# ---- several ranks ------------------------------------------------------------------------------


def join(backend, ranks):
    """A process group of this process alone; NCCL's other ranks are made up."""
    torch.cuda.set_device(0)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    torch.distributed.init_process_group(backend, rank=0, world_size=ranks, store=torch.distributed.HashStore())


def bucket_notes(run, wrapped):
    """DDP's buckets, where no library reports them: a hook that does the same as the default."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    def hook(state, bucket):
        run.note("communication", bucket.buffer())
        return default_hooks.allreduce_hook(state, bucket)

    if run.watched:
        wrapped.register_comm_hook(None, hook)


@program("ddp", "python")
def ddp_gloo(run):
    join("gloo", 1)
    run.record()
    model = GPT(layers=3).cuda()
    wrapped = nn.parallel.DistributedDataParallel(model, device_ids=[0])
    optimizer = torch.optim.AdamW(wrapped.parameters())
    run.model(wrapped, optimizer)
    bucket_notes(run, wrapped)
    return train_gpt(run, wrapped, optimizer, late=False)


@program("ddp", "all")
def ddp_nccl_views_late(run):
    join("nccl", 4)
    model = Classifier(norm_first=True).cuda()
    # The check that all ranks have the same model needs answers of the others.
    model = nn.parallel.DistributedDataParallel(model, device_ids=[0], gradient_as_bucket_view=True, init_sync=False)
    optimizer = torch.optim.Adam(model.parameters())
    run.model(model, optimizer)

    def batch_of():
        tokens, labels = torch.randint(0, 9_000, (3, 96)).cuda(), torch.randint(0, 20, (3,)).cuda()
        run.note("input", tokens, labels)
        return tokens, labels

    return train(run, 2, True, batch_of, lambda x, y: F.cross_entropy(model(x), y), optimizer)


@program("ddp", "python")
def ddp_gloo_views_late(run):
    """Gradients are views into buckets, and stay."""
    join("gloo", 1)
    model = GPT(width=512, heads=8, layers=4, vocabulary=6000).cuda()
    model = nn.parallel.DistributedDataParallel(model, device_ids=[0], gradient_as_bucket_view=True)
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    run.model(model, optimizer)
    return accumulate_late(run, model, optimizer, lambda: texts(run, 4, 256, 6000), 2, set_to_none=False)


def sharded_gpt(**options):
    from torch.distributed.fsdp import fully_shard

    model = GPT(layers=4, vocabulary=6000).cuda()
    for block in model.blocks:
        fully_shard(block, **options)
    return fully_shard(model, **options)


@program("fsdp", "all")
def fsdp2_nccl(run):
    join("nccl", 4)
    run.record()
    model = sharded_gpt()
    optimizer = torch.optim.AdamW(model.parameters())
    run.model(model, optimizer, gathered=True)
    return train_gpt(run, model, optimizer, late=False)


@program("fsdp", "python")
def fsdp1_nccl_late(run):
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    join("nccl", 2)
    model = FullyShardedDataParallel(GPT(layers=5, width=512, heads=8), auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=0)
    optimizer = torch.optim.AdamW(model.parameters())
    run.model(model, optimizer, gathered=True)
    return train_gpt(run, model, optimizer, late=True, steps=2)


@program("fsdp", "python")
def fsdp2_gloo_late(run):
    join("gloo", 1)
    model = sharded_gpt(reshard_after_forward=False)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    run.model(model, optimizer, gathered=True)
    return train_gpt(run, model, optimizer, late=True, steps=2)


@program("fsdp", "all")
def fsdp2_bf16_late(run):
    from torch.distributed.fsdp import MixedPrecisionPolicy

    join("nccl", 8)
    model = sharded_gpt(mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    run.model(model, optimizer, gathered=True)
    return train_gpt(run, model, optimizer, late=True, steps=2, batch=6)


def train_fsdp1_late(run, model, block, optimizer_of, batch_of, loss_of, **options):
    """FSDP in its first version, recorded from the second step on."""
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    model = FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({block}), device_id=0, **options)
    optimizer = optimizer_of(model.parameters())
    run.model(model, optimizer, gathered=True)
    return train(run, 2, True, batch_of, lambda *batch: loss_of(model, *batch), optimizer)


@program("fsdp", "all", symbols="dladdr")
def fsdp1_grad_op_late(run):
    """Parameters stay gathered between forward and backward."""
    from torch.distributed.fsdp import ShardingStrategy

    join("nccl", 4)
    model = Classifier(width=768, layers=3, vocabulary=4000, feedforward=3072)
    strategy = ShardingStrategy.SHARD_GRAD_OP
    return train_fsdp1_late(
        run, model, nn.TransformerEncoderLayer, torch.optim.Adam, lambda: labelled_texts(run), lambda model, x, y: F.cross_entropy(model(x), y), sharding_strategy=strategy
    )


@program("fsdp", "all", symbols="dladdr")
def fsdp1_orig_momentum_late(run):
    join("nccl", 4)
    return train_fsdp1_late(
        run,
        GPT(layers=4, width=576, heads=9, vocabulary=8000),
        Block,
        lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
        lambda: texts(run, 3, 320, 8000),
        lambda model, x, y: model(x, y)[1],
        use_orig_params=True,
    )


@program("fsdp", "python")
def fsdp1_orig_adamw_late(run):
    """The optimizer sees each parameter, not the flat ones."""
    join("nccl", 8)
    return train_fsdp1_late(
        run, GPT(layers=4, width=1024, heads=16, vocabulary=5000), Block, torch.optim.AdamW, lambda: texts(run, 4, 256, 5000), lambda model, x, y: model(x, y)[1], use_orig_params=True
    )


# ---- generation ---------------------------------------------------------------------------------


class Decoder(nn.Module):
    """A GPT that attends to keys and values of earlier tokens, which `cache` keeps."""

    def __init__(self, width=768, heads=12, layers=4, vocabulary=16_000):
        super().__init__()
        self.heads = heads
        self.tokens = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def attend(self, layer, attention, x, cache):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in attention.qkv(x).chunk(3, dim=-1))
        k, v = cache.update(layer, k, v)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        return attention.proj(y.transpose(1, 2).reshape(batch, length, width))

    def forward(self, tokens, cache):
        x = self.tokens(tokens)
        for layer, block in enumerate(self.blocks):
            x = x + self.attend(layer, block.attn, block.ln1(x), cache)
            x = x + block.mlp(block.ln2(x))
        return F.linear(self.norm(x)[:, -1], self.tokens.weight)


class StaticCache:
    """Room for all tokens from the start."""

    def __init__(self, layers, batch, heads, length, width, dtype):
        self.keys = [torch.zeros(batch, heads, length, width, device="cuda", dtype=dtype) for _ in range(layers)]
        self.values = [torch.zeros_like(keys) for keys in self.keys]
        self.used = 0

    def update(self, layer, k, v):
        end = self.used + k.shape[2]
        self.keys[layer][:, :, self.used : end] = k
        self.values[layer][:, :, self.used : end] = v
        if layer == len(self.keys) - 1:
            self.used = end
        return self.keys[layer][:, :, :end], self.values[layer][:, :, :end]


class GrowingCache:
    """Grows by a copy for each token."""

    def __init__(self, run):
        self.run, self.kept = run, {}

    def update(self, layer, k, v):
        if layer in self.kept:
            k, v = torch.cat([self.kept[layer][0], k], dim=2), torch.cat([self.kept[layer][1], v], dim=2)
        self.kept[layer] = (k, v)
        self.run.note("kv_cache", k, v)
        return k, v


@program("generation", "all", symbols="dladdr")
def generate_static(run):
    run.record()
    model = Decoder().cuda().eval()
    run.model(model)
    run.phase("inference")
    with torch.no_grad():
        prompt = torch.randint(0, 16_000, (8, 128)).cuda()
        run.note("input", prompt)
        cache = StaticCache(4, 8, 12, 1024, 64, torch.float32)
        run.note("kv_cache", *cache.keys, *cache.values)
        tokens = model(prompt, cache).argmax(-1, keepdim=True)
        for _ in range(8):
            logits = model(tokens, cache)
            probabilities = F.softmax(logits.topk(50).values, dim=-1)
            tokens = torch.multinomial(probabilities, 1)
    return tokens


@program("generation", "python")
def generate_growing_late(run):
    model = Decoder(width=1024, heads=16, layers=5).to("cuda", torch.bfloat16).eval()
    run.model(model)
    run.record()
    run.phase("inference")
    with torch.inference_mode():
        prompt = torch.randint(0, 16_000, (16, 512)).cuda()
        run.note("input", prompt)
        cache = GrowingCache(run)
        token = model(prompt, cache).argmax(-1, keepdim=True)
        for _ in range(7):
            token = model(token, cache).argmax(-1, keepdim=True)
    return token


# ---- adapters -----------------------------------------------------------------------------------


class LoRA(nn.Module):
    def __init__(self, base, rank=16, scale=2.0):
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.randn(rank, base.in_features, device=base.weight.device, dtype=base.weight.dtype) * 0.01)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank, device=base.weight.device, dtype=base.weight.dtype))
        self.scale = scale

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.down), self.up) * self.scale


def add_adapters(model):
    model.requires_grad_(False)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear) and name in ("qkv", "proj", "0", "2"):
                setattr(module, name, LoRA(child))
    return model


@program("lora", "python")
def lora_adamw(run):
    run.record()
    model = add_adapters(GPT(layers=5, vocabulary=8000).cuda())
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    run.model(model, optimizer)
    return train_gpt(run, model, optimizer, late=False, batch=2)


@program("lora", "all")
def lora_bf16_late(run):
    model = add_adapters(GPT(width=1024, heads=16, layers=4, vocabulary=6000).to("cuda", torch.bfloat16))
    trained = filter(lambda p: p.requires_grad, model.parameters())
    optimizer = torch.optim.AdamW(trained, fused=True)
    run.model(model, optimizer)
    return train_gpt(run, model, optimizer, late=True, steps=2, batch=6)


# ---- what is recorded in other ways -------------------------------------------------------------


@program("ring", "python")
def gpt_ring(run):
    """More events than are kept: the trace begins within a step."""
    run.record(newest=3_000)
    model = GPT(layers=4, vocabulary=7000).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    run.model(model, optimizer)
    return train_gpt(run, model, optimizer, late=False, steps=4)


@program("ring", "all")
def resnet_ring(run):
    run.record(newest=1_120)
    model = ResNet(200).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    run.model(model, optimizer)
    return train(run, 5, False, lambda: images(run, 12, 96, 200), lambda x, y: F.cross_entropy(model(x), y), optimizer)


@program("compiled", "all")
def gpt_aot(run):
    """Forward and backward as graphs of torch.compile, whose operators run one by one."""
    run.record()
    model = GPT(layers=3, vocabulary=6000).cuda()
    compiled = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    run.model(model, optimizer)
    return train_gpt(run, compiled, optimizer, late=False)


@program("compiled", "python")
def mlp_aot_late(run):
    model = mlp(depth=5)
    model.compile(backend="aot_eager")
    model.cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    run.model(model, optimizer)
    return train(run, 3, True, lambda: vectors(run, 1500, 2048, 512), lambda x, y: F.mse_loss(model(x), y), optimizer)
