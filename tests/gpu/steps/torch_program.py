"""A short training with PyTorch, under capture: `torch_program.py native|async OUT.json [cupti]`.

Writes CUPTI's records. Names ranges by NVTX, which must appear in the snapshot.
"""

import contextlib
import json
import os
import sys
import time

backend, out = sys.argv[1], sys.argv[2]
if backend == "async":
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"

import torch  # The allocator's settings are read when it is loaded.


def train():
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(1024, 1024), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers).cuda()
    optimiser = torch.optim.Adam(model.parameters())
    for step in range(20):
        with torch.cuda.nvtx.range(f"step {step}"):
            torch.cuda.nvtx.mark("begin")
            loss = model(torch.randn(256, 1024, device="cuda")).square().mean()
            loss.backward()
            optimiser.step()
            optimiser.zero_grad()
    outer = torch.cuda.nvtx.range_start("evaluation")
    with torch.no_grad():
        value = model(torch.randn(2048, 1024, device="cuda")).sum().item()
    torch.cuda.nvtx.range_end(outer)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return value


seen = {"backend": torch.cuda.get_allocator_backend(), "torch": torch.__version__}
with contextlib.ExitStack() as stack:
    listed = None
    if "cupti" in sys.argv:
        import cupti

        try:
            listed = stack.enter_context(cupti.records())
        except OSError as error:
            seen["cupti"] = str(error)
    begin = time.perf_counter()
    seen["value"] = train()
    seen["seconds"] = time.perf_counter() - begin
seen["records"] = listed
with open(out, "w") as file:
    json.dump(seen, file)
