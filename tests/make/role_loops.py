"""Loops in plain torch that are not one model trained by one optimizer: second models, outputs that are held, threads of
other libraries, DataParallel, adapters under autocast. roles.py records them after those of role_transformers.py."""

import copy
import ctypes

import torch
import torch.nn.functional as F
from role_programs import GPT, Classifier, Decoder, GrowingCache, PlainAttention, ResNet, add_adapters, images, labelled_texts, mlp, program, texts, train, train_gpt, vectors
from torch import nn

# A user's folder whose name says a lot, but nothing about the purpose of an allocation.
TELLING = "optimized-llm/checkpoint/kv_cache_paper"


# ---- a second model beside the one that is trained ----------------------------------------------


def log_probabilities(logits, tokens):
    return torch.gather(logits[:, :-1].log_softmax(-1), 2, tokens[:, 1:, None]).squeeze(2).sum(-1)


@program("second", "python")
def dpo_late(run):
    """Preferences against a frozen reference of the same architecture."""
    policy = GPT(width=512, heads=8, layers=4, vocabulary=8000).cuda()
    reference = copy.deepcopy(policy).eval().requires_grad_(False)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-6)
    run.model(nn.ModuleList([policy, reference]), optimizer)
    for step in range(3):
        if step == 1:
            run.record()
        run.phase("forward")
        chosen, rejected = texts(run, 4, 256, 8000)
        with torch.no_grad():
            held = [log_probabilities(reference(tokens), tokens) for tokens in (chosen, rejected)]
        now = [log_probabilities(policy(tokens), tokens) for tokens in (chosen, rejected)]
        loss = -F.logsigmoid(0.1 * ((now[0] - held[0]) - (now[1] - held[1]))).mean()
        run.phase("backward")
        loss.backward()
        run.phase("optimizer")
        optimizer.step()
        optimizer.zero_grad()
    run.phase("setup")
    return loss


@program("second", "all", folder=TELLING)
def ema_late(run):
    """An average of the weights, by torch's own class."""
    from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

    model = Classifier(width=512, layers=3, vocabulary=4000).cuda()
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    run.model(nn.ModuleList([model, average]), optimizer)
    for step in range(3):
        if step == 1:
            run.record()
        run.phase("forward")
        tokens, labels = labelled_texts(run)
        loss = F.cross_entropy(model(tokens), labels)
        run.phase("backward")
        loss.backward()
        run.phase("optimizer")
        optimizer.step()
        average.update_parameters(model)
        optimizer.zero_grad()
    run.phase("setup")
    return loss


@program("second", "python")
def distill(run):
    """A teacher of another size, under no_grad."""
    run.record()
    teacher = GPT(width=896, heads=14, layers=5, vocabulary=6000).cuda().eval()
    student = GPT(width=448, heads=7, layers=3, vocabulary=6000).cuda()
    optimizer = torch.optim.AdamW(student.parameters())
    run.model(nn.ModuleList([student, teacher]), optimizer)

    def loss_of(tokens, targets):
        with torch.no_grad():
            wanted = teacher(tokens)
        scores = student(tokens)
        soft = F.kl_div(F.log_softmax(scores / 2, dim=-1), F.softmax(wanted / 2, dim=-1), reduction="batchmean")
        return soft + F.cross_entropy(scores.flatten(0, 1), targets.flatten())

    return train(run, 3, False, lambda: texts(run, 4, 320, 6000), loss_of, optimizer)


@program("second", "python")
def ema_by_hand_sgd_late(run):
    """Averages in a dictionary, as many training scripts keep them; momentum is the other copy."""
    model = ResNet(400).cuda()
    average = {name: value.detach().clone() for name, value in model.named_parameters()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    run.model(model, optimizer)
    run.parameters = [*model.parameters(), *model.buffers(), *average.values()]
    for step in range(3):
        if step == 1:
            run.record()
        run.phase("forward")
        x, y = images(run, 8, 112, 400)
        loss = F.cross_entropy(model(x), y)
        run.phase("backward")
        loss.backward()
        run.phase("optimizer")
        optimizer.step()
        with torch.no_grad():
            for name, value in model.named_parameters():
                average[name].mul_(0.99).add_(value, alpha=0.01)
        optimizer.zero_grad()
    run.phase("setup")
    return loss, average


@program("second", "all")
def target_network_late(run):
    """Q-learning: a target network that is occasionally copied from the other."""
    online = mlp(width=1536, depth=4, outputs=64).cuda()
    target = mlp(width=1536, depth=4, outputs=64).cuda()
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-4)
    run.model(nn.ModuleList([online, target]), optimizer)
    for step in range(4):
        if step == 1:
            run.record()
        if step % 2 == 0:
            target.load_state_dict(online.state_dict())
        run.phase("forward")
        states, following = torch.randn(512, 1536).cuda(), torch.randn(512, 1536).cuda()
        actions, rewards = torch.randint(0, 64, (512, 1)).cuda(), torch.randn(512).cuda()
        run.note("input", states, following, actions, rewards)
        with torch.no_grad():
            wanted = rewards + 0.99 * target(following).max(1).values
        loss = F.smooth_l1_loss(online(states).gather(1, actions).squeeze(1), wanted)
        run.phase("backward")
        loss.backward()
        run.phase("optimizer")
        optimizer.step()
        optimizer.zero_grad()
    run.phase("setup")
    return loss


@program("second", "python")
def teacher_momentum_late(run):
    """A student and a teacher that follows it, as in self-supervised learning; fused AdamW."""
    student, teacher = Classifier(width=640, layers=3, vocabulary=2000).cuda(), Classifier(width=640, layers=3, vocabulary=2000).cuda()
    teacher.requires_grad_(False)
    optimizer = torch.optim.AdamW(student.parameters(), fused=True)
    run.model(nn.ModuleList([student, teacher]), optimizer)
    for step in range(3):
        if step == 1:
            run.record()
        run.phase("forward")
        one, other = torch.randint(0, 2000, (8, 128)).cuda(), torch.randint(0, 2000, (8, 128)).cuda()
        run.note("input", one, other)
        with torch.no_grad():
            wanted = F.softmax(teacher(one) / 0.04, dim=-1)
        loss = torch.sum(-wanted * F.log_softmax(student(other) / 0.1, dim=-1), dim=-1).mean()
        run.phase("backward")
        loss.backward()
        run.phase("optimizer")
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        with torch.no_grad():
            for mine, its in zip(student.parameters(), teacher.parameters(), strict=True):
                its.mul_(0.996).add_(mine, alpha=0.004)
    run.phase("setup")
    return loss


# ---- inference whose last output is still held --------------------------------------------------


@program("held", "python", folder=TELLING)
def held_logits(run):
    """`logits` names the last batch's output while the next one is computed."""
    run.record()
    model = GPT(width=512, heads=8, layers=3, vocabulary=32_000, attention=PlainAttention).cuda().eval()
    run.model(model)
    run.phase("inference")
    losses = []
    with torch.no_grad():
        for _ in range(4):
            tokens, targets = texts(run, 8, 512, 32_000)
            logits = model(tokens)
            losses.append(F.cross_entropy(logits.flatten(0, 1), targets.flatten()))
    return logits, losses


class Upsampled(nn.Module):
    """Scores for each pixel."""

    def __init__(self, classes=21):
        super().__init__()
        self.body = ResNet(classes)
        self.score = nn.Conv2d(512, classes, 1)

    def forward(self, x):
        features = self.body.stages(self.body.stem(x))
        return F.interpolate(self.score(features), size=x.shape[-2:], mode="bilinear")


@program("held", "all")
def held_masks_late(run):
    model = Upsampled().cuda().eval()
    run.model(model)
    run.record()
    run.phase("inference")
    found = []
    with torch.inference_mode():
        for _ in range(4):
            x, _ = images(run, 8, 384, 21)
            scores = model(x)
            found.append(scores.argmax(1).to(torch.uint8).cpu())
    return scores, found


# ---- threads of other libraries -----------------------------------------------------------------


def decoded(*shape):
    """Made by a thread of a library in C++, as decoders of video do: no Python is on its stack."""
    make, empty = ctypes.CDLL(None).standin_decoded, ctypes.CDLL(f"{torch.__path__[0]}/lib/libtorch_cpu.so").aoti_torch_empty_strided
    make.restype, make.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
    made = make(ctypes.cast(empty, ctypes.c_void_p), len(shape), (ctypes.c_int64 * len(shape))(*shape))
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return torch._C._aoti.alloc_tensor_by_stealing_from_void_ptr(capsule(made, None, None))


@program("thread", "python")
def generate_with_thread(run):
    """A small buffer of another library's thread is allocated and freed once while tokens are generated."""
    run.record()
    model = Decoder(width=768, heads=12, layers=4).to("cuda", torch.bfloat16).eval()
    run.model(model)
    run.phase("inference")
    with torch.inference_mode():
        prompt = torch.randint(0, 16_000, (16, 384)).cuda()
        run.note("input", prompt)
        cache = GrowingCache(run)
        token = model(prompt, cache).argmax(-1, keepdim=True)
        for step in range(6):
            if step == 2:
                other = decoded(16, 1024)
            token = model(token, cache).argmax(-1, keepdim=True)
            other = None
    return token, other


@program("thread", "python")
def video_thread_late(run):
    """Each batch of frames is made by a decoder's thread."""
    model = ResNet(400).to("cuda").eval()
    run.model(model)
    run.record()
    run.phase("inference")
    scores = []
    with torch.no_grad():
        for _ in range(5):
            frames = decoded(16, 3, 160, 160)
            run.note("input", frames)
            scores.append(model(frames).softmax(-1))
    return scores


# ---- one process, two devices -------------------------------------------------------------------


def replicas_noted(run):
    """The copies of the parameters that DataParallel makes for each forward pass."""
    plain = nn.DataParallel.replicate

    def replicate(wrapped, module, devices):
        replicas = plain(wrapped, module, devices)
        for replica in replicas[1:]:
            for part in replica.modules():
                run.note("parameter", *part._former_parameters.values(), *(b for b in part._buffers.values() if b is not None))
        return replicas

    def scatter(wrapped, *arguments, plain=nn.DataParallel.scatter):
        scattered = plain(wrapped, *arguments)
        for chunk in scattered[0]:
            run.note("input", *chunk)
        return scattered

    if run.watched:
        nn.DataParallel.replicate, nn.DataParallel.scatter = replicate, scatter


def parallel(run, model, devices, optimizer_of, batch_of, late):
    replicas_noted(run)
    model = nn.DataParallel(model.to(f"cuda:{devices[0]}"), device_ids=devices)
    optimizer = optimizer_of(model.parameters())
    run.model(model, optimizer)
    return train(run, 3, late, batch_of, lambda x, y: F.cross_entropy(model(x), y), optimizer)


def images_on(run, device, batch, side):
    x, y = torch.randn(batch, 3, side, side).to(device), torch.randint(0, 1000, (batch,)).to(device)
    run.note("input", x, y)
    return x, y


@program("dataparallel", "python", STANDIN_DEVICES="2")
def dp_replica_late(run):
    """Device 0 has only replicas: the first device of the program is device 1."""
    return parallel(run, Classifier(width=640, layers=4, vocabulary=6000), [1, 0], torch.optim.AdamW, lambda: texts_on(run, "cuda:1"), True)


def texts_on(run, device):
    tokens, labels = torch.randint(0, 6000, (8, 160)).to(device), torch.randint(0, 20, (8,)).to(device)
    run.note("input", tokens, labels)
    return tokens, labels


@program("dataparallel", "all", STANDIN_DEVICES="2")
def dp_replica_images(run):
    run.record()
    return parallel(run, ResNet(), [1, 0], lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), lambda: images_on(run, "cuda:1", 24, 128), False)


@program("dataparallel", "python", STANDIN_DEVICES="2")
def dp_first_late(run):
    """Memory on the first device: parameters, gradients, state."""
    return parallel(run, ResNet(), [0, 1], torch.optim.Adam, lambda: images_on(run, "cuda:0", 24, 128), True)


# ---- adapters whose frozen weights autocast casts in each pass ----------------------------------


@program("autocast", "python")
def lora_autocast_late(run):
    model = add_adapters(GPT(width=768, heads=12, layers=4, vocabulary=6000).cuda())
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    run.model(model, optimizer)
    return train_gpt(run, model, optimizer, late=True, batch=1, length=256, scope=lambda: torch.autocast("cuda", dtype=torch.bfloat16))


@program("autocast", "all", folder=TELLING)
def lora_autocast_fp16(run):
    run.record()
    model = add_adapters(GPT(width=1024, heads=16, layers=3, vocabulary=4000, attention=PlainAttention).cuda())
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], fused=True)
    scaler = torch.amp.GradScaler()
    run.model(model, optimizer)
    for _ in range(3):
        run.phase("forward")
        tokens, targets = texts(run, 2, 128, 4000)
        with torch.autocast("cuda", dtype=torch.float16):
            _, loss = model(tokens, targets)
        run.phase("backward")
        scaler.scale(loss).backward()
        run.phase("optimizer")
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    run.phase("setup")
    return loss


# ---- programs of known kinds in a folder with a telling name ------------------------------------


@program("elsewhere", "python", folder=TELLING)
def elsewhere_checkpoint(run):
    run.record()
    model = GPT(layers=4, width=512, heads=8, vocabulary=4000, checkpoint=False).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    run.model(model, optimizer)
    return train_gpt(run, model, optimizer, late=False, steps=2, batch=6)


@program("elsewhere", "python", folder=TELLING)
def elsewhere_generate(run):
    run.record()
    model = Decoder(width=768, heads=12, layers=4).to("cuda", torch.float16).eval()
    run.model(model)
    run.phase("inference")
    with torch.inference_mode():
        prompt = torch.randint(0, 16_000, (16, 384)).cuda()
        run.note("input", prompt)
        cache = GrowingCache(run)
        token = model(prompt, cache).argmax(-1, keepdim=True)
        for _ in range(5):
            token = model(token, cache).argmax(-1, keepdim=True)
    return token


@program("elsewhere", "all", folder=TELLING)
def elsewhere_mlp(run):
    run.record()
    model = mlp(width=1024, depth=5).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    run.model(model, optimizer)
    return train(run, 3, False, lambda: vectors(run, 4000, 1024, 512), lambda x, y: F.mse_loss(model(x), y), optimizer)


@program("elsewhere", "all", symbols="dladdr", folder=TELLING)
def elsewhere_images_late(run):
    model = ResNet(100).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    run.model(model, optimizer)
    return train(run, 2, True, lambda: images(run, 24, 112, 100), lambda x, y: F.cross_entropy(model(x), y), optimizer)
