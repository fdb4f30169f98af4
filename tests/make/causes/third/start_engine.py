"""Start an inference engine that pages its key-value cache."""
import torch

from engine.settings import Settings
from engine.worker import Worker


def dump(device, asked, total, free):
    torch.cuda.memory._dump_snapshot("start_engine.pickle")


torch.cuda.init()
torch._C._cuda_attach_out_of_memory_observer(dump)
torch.cuda.memory._record_memory_history(stacks="python", max_entries=200_000)
worker = Worker(Settings())
worker.load()
print(worker.make_kv_pool(), "blocks", torch.cuda.memory_allocated() >> 20, "MiB")
