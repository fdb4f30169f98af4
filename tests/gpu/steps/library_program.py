"""Other users of the driver, with CUPTI's records: `library_program.py nccl|cupy|jax|numba OUT.json`."""

import json
import os
import sys

import cupti

name, out = sys.argv[1:3]


def nccl():
    import torch

    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511", "RANK": "0", "WORLD_SIZE": "1"}
    torch.distributed.init_process_group("nccl", device_id=torch.device("cuda:0"))
    value = torch.ones(1 << 20, device="cuda")
    torch.distributed.all_reduce(value)
    torch.cuda.synchronize()
    torch.distributed.destroy_process_group()


def cupy():
    import cupy

    cupy.ones(1 << 20).sum()
    pool = cupy.cuda.MemoryAsyncPool()
    with cupy.cuda.using_allocator(pool.malloc):
        cupy.ones(1 << 22).sum()
    cupy.cuda.Device().synchronize()


def jax():
    os.environ["XLA_PYTHON_CLIENT_ALLOCATOR"] = "platform"
    import jax

    jax.numpy.ones(1 << 20).sum().block_until_ready()


def numba():
    from numba import cuda

    cuda.to_device(list(range(1000)))
    cuda.device_array(1 << 20)
    cuda.synchronize()


with cupti.records() as listed:
    {"nccl": nccl, "cupy": cupy, "jax": jax, "numba": numba}[name]()
with open(out, "w") as file:
    json.dump({"records": listed}, file)
