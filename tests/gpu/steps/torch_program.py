"""A short training with PyTorch, under capture: `torch_program.py MODE OUT.json [cupti]`.

    native, expandable, async     the three allocators; 20 steps with NVTX ranges
    graph-native, graph-async     a captured step, replayed, while another thread allocates
    oom                           more memory than there is
    timed                         only the times of 50 steps
    workers-fork, workers-spawn   a data loader with two processes and pinned memory
    rank                          one rank of two, with gloo
    profiled                      native, with torch.profiler around it
    device-ranges                 ranges on two streams
    emitted                       ranges that torch itself adds for its operators, and a decorated function

Writes torch's own segments, losses, and CUPTI's records.
"""

import contextlib
import json
import os
import sys
import threading
import time

mode, out = sys.argv[1], sys.argv[2]
SETTINGS = {"expandable": "expandable_segments:True", "async": "backend:cudaMallocAsync", "graph-async": "backend:cudaMallocAsync"}
if mode in SETTINGS:
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = SETTINGS[mode]

import torch  # The allocator's settings are read when it is loaded.
from torch.cuda import nvtx

torch.manual_seed(0)


def model_and_optimiser():
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(1024, 1024), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers).cuda()
    return model, torch.optim.Adam(model.parameters(), capturable=mode.startswith("graph"))


def segments():
    """Torch's own segments: address, bytes."""
    if torch.cuda.get_allocator_backend() != "native":
        return []
    found = torch.cuda.memory._snapshot()["segments"]
    return [(segment["address"], segment["total_size"]) for segment in found]


def moment(found):
    """Notes torch's segments, and when."""
    torch.cuda.synchronize()
    found.append({"time_us": time.time_ns() // 1000, "segments": segments(), "reserved": torch.cuda.memory_reserved()})
    time.sleep(0.01)


def train(steps, moments=None):
    model, optimiser = model_and_optimiser()
    losses, times = [], []
    for step in range(steps):
        begin = time.perf_counter()
        with nvtx.range(f"step {step}"):
            nvtx.mark(f"mark {step}")
            loss = model(torch.randn(256, 1024, device="cuda")).square().mean()
            loss.backward()
            optimiser.step()
            optimiser.zero_grad()
        losses.append(loss.item())
        times.append(time.perf_counter() - begin)
    outer = nvtx.range_start("evaluation")
    thread = threading.Thread(target=lambda: nvtx.range_end(outer))
    thread.start()
    thread.join()
    depths = [nvtx.range_push(f"depth {depth}") for depth in range(3)] + [nvtx.range_pop() for _ in range(3)]
    if moments is not None:
        moment(moments)
        del model, optimiser, loss
        torch.cuda.empty_cache()
        moment(moments)
    return {"losses": losses, "times": times, "depths": depths}


def replay():
    """A captured training step, replayed, against the same steps run eagerly."""
    batches = [torch.randn(256, 1024, device="cuda") for _ in range(10)]

    def run(captured):
        torch.manual_seed(1)
        model, optimiser = model_and_optimiser()
        static, losses = batches[0].clone(), []

        def step():
            optimiser.zero_grad(set_to_none=False)
            loss = model(static).square().mean()
            loss.backward()
            optimiser.step()
            return loss

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        if not captured:
            for batch in batches:
                static.copy_(batch)
                losses.append(step().item())
            return losses
        graph, stop, other = torch.cuda.CUDAGraph(), threading.Event(), []

        def allocate():
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                while not stop.is_set():
                    other.append(torch.empty(1 << 20, device="cuda"))
                    del other[:-4]
                    time.sleep(0.001)

        thread = threading.Thread(target=allocate)
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            thread.start()
            loss = step()
        stop.set()
        thread.join()
        for batch in batches:
            static.copy_(batch)
            graph.replay()
            losses.append(loss.item())
        return losses

    return {"eager": run(False), "replayed": run(True)}


def out_of_memory():
    try:
        torch.empty(1 << 45, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        return {"oom": True}
    return {"oom": False}


def workers():
    context = mode.removeprefix("workers-")
    data = torch.utils.data.TensorDataset(torch.randn(64, 1024))
    loader = torch.utils.data.DataLoader(data, batch_size=8, num_workers=2, pin_memory=True, multiprocessing_context=context)
    return {"sum": sum(batch.cuda(non_blocking=True).sum().item() for (batch,) in loader)}


def rank():
    torch.distributed.init_process_group("gloo")
    value = torch.full((1 << 20,), float(torch.distributed.get_rank() + 1), device="cuda")
    host = value[:4].cpu()
    torch.distributed.all_reduce(host)
    torch.distributed.destroy_process_group()
    return {"sum": host.sum().item()}


def device_ranges():
    streams = [torch.cuda.Stream() for _ in range(2)]
    value = torch.ones(1024, 1024, device="cuda")
    for turn, stream in enumerate(streams):
        with torch.cuda.stream(stream):
            handle = nvtx._device_range_start(f"device {turn}", stream.cuda_stream)
            value @ value
            nvtx._device_range_end(handle, stream.cuda_stream)
    torch.cuda.synchronize()
    return {"ranges": len(streams)}


@nvtx.range("decorated")
def decorated():
    torch.ones(1, device="cuda")


def emitted():
    with torch.autograd.profiler.emit_nvtx():
        answers = train(3)
    for _ in range(3):
        decorated()
    return answers


def profiled(moments):
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        answers = train(5, moments)
    kernels = sum(event.device_type == torch.autograd.DeviceType.CUDA for event in profile.events())
    return answers | {"kernels": kernels}


def main():
    seen, listed, moments = {"torch": torch.__version__, "moments": []}, None, []
    with contextlib.ExitStack() as stack:
        if "cupti" in sys.argv:
            import cupti

            try:
                listed = stack.enter_context(cupti.records())
            except OSError as error:
                seen["cupti"] = str(error)
        if mode in ["native", "expandable", "async"]:
            seen |= train(20, moments)
        elif mode == "timed":
            seen |= train(50)
        elif mode.startswith("graph"):
            seen |= replay()
        elif mode.startswith("workers"):
            seen |= workers()
        elif mode == "profiled":
            seen |= profiled(moments)
        else:
            seen |= {"oom": out_of_memory, "rank": rank, "device-ranges": device_ranges, "emitted": emitted}[mode]()
    seen |= {"records": listed, "moments": moments, "backend": torch.cuda.get_allocator_backend()}
    place = f"{out}.{os.environ['RANK']}" if mode == "rank" else out
    with open(place, "w") as file:
        json.dump(seen, file)


if __name__ == "__main__":
    main()
