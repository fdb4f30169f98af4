"""vLLM as stories: what it allocates, in its order and sizes, under the frames of its own source.

Its kernels are not part of torch, so it does not run over the stand-in runtime. Here the same memory as by vLLM 0.33.0 is
requested from torch's allocator (Llama in bfloat16, one GPU, no graphs) in functions with the names, files and lines of
vLLM's. Loading, profiling, the cache and a few steps; both of its model runners. roles.py leaves this folder's own frames
out of the stacks of stories.
"""

import functools
import types

import torch
import torch.nn.functional as F
from role_loops import TELLING
from role_programs import program
from torch import nn

PACKAGES = "/opt/venv/lib/python3/site-packages/"
HEAD = 128


def told(frames, function, *arguments, **named):
    """Calls `function` from within these frames, the outermost first. Each is `FILE:LINE NAME`."""
    call = functools.partial(function, *arguments, **named)
    for frame in reversed([line.strip() for part in frames for line in part.strip().splitlines()]):
        place, name = frame.split(" ")
        path, line = place.rsplit(":", 1)
        space = {}
        exec(compile("\n" * (int(line) - 1) + "def frame(call): return call()", PACKAGES + path, "exec"), space)  # noqa: S102 - it is how a frame gets its place
        code = space["frame"].__code__.replace(co_name=name, co_qualname=name)
        call = functools.partial(types.FunctionType(code, space), call)
    return call()


START = """vllm/v1/engine/core.py:1555 run_engine_core
    vllm/v1/engine/core.py:1232 __init__"""
EXECUTOR = """vllm/v1/engine/core.py:150 __init__
    vllm/v1/executor/abstract.py:120 __init__"""
SIZING = """vllm/v1/engine/core.py:163 __init__
    vllm/v1/engine/core.py:310 _initialize_kv_caches
    vllm/v1/executor/abstract.py:157 determine_available_memory
    vllm/v1/executor/uniproc_executor.py:103 collective_rpc
    vllm/v1/serial_utils.py:508 run_method
    torch/utils/_contextlib.py:158 decorate_context
    vllm/v1/worker/gpu_worker.py:700 determine_available_memory"""
CACHES = """vllm/v1/engine/core.py:163 __init__
    vllm/v1/engine/core.py:372 _initialize_kv_caches
    vllm/v1/executor/abstract.py:131 initialize_from_config
    vllm/v1/executor/uniproc_executor.py:103 collective_rpc
    vllm/v1/serial_utils.py:508 run_method
    vllm/v1/worker/worker_base.py:359 initialize_from_config
    vllm/v1/worker/gpu_worker.py:907 initialize_from_config"""
LOOP = """vllm/v1/engine/core.py:1570 run_engine_core
    vllm/v1/engine/core.py:1629 run_busy_loop
    vllm/v1/engine/core.py:1683 _process_engine_step"""
EXECUTE = """vllm/v1/engine/core.py:678 step
    vllm/v1/executor/uniproc_executor.py:122 execute_model
    vllm/v1/executor/uniproc_executor.py:103 collective_rpc
    vllm/v1/serial_utils.py:508 run_method
    vllm/v1/worker/worker_base.py:388 execute_model
    torch/utils/_contextlib.py:158 decorate_context
    vllm/v1/worker/gpu_worker.py:1360 execute_model
    torch/utils/_contextlib.py:158 decorate_context"""
SAMPLE = """vllm/v1/engine/core.py:686 step
    vllm/v1/executor/uniproc_executor.py:137 sample_tokens
    vllm/v1/executor/uniproc_executor.py:103 collective_rpc
    vllm/v1/serial_utils.py:508 run_method
    torch/utils/_contextlib.py:158 decorate_context
    vllm/v1/worker/gpu_worker.py:1330 sample_tokens
    torch/utils/_contextlib.py:158 decorate_context"""
MODULE = """torch/nn/modules/module.py:1787 _wrapped_call_impl
    torch/nn/modules/module.py:1798 _call_impl"""

# What differs between the two model runners. The older one computes logits at the end of execute_model.
NEWER = {
    "load": "vllm/v1/worker/gpu/model_runner.py:403 load_model",
    "buffers": "vllm/v1/worker/gpu_worker.py:583 _make_model_runner\nvllm/v1/worker/gpu/model_runner.py:327 __init__\nvllm/v1/worker/gpu/input_batch.py:29 __init__",
    "profile": """torch/utils/_contextlib.py:158 decorate_context
        vllm/v1/worker/gpu/model_runner.py:1034 profile_run
        torch/utils/_contextlib.py:158 decorate_context
        vllm/v1/worker/gpu/model_runner.py:920 _dummy_run
        torch/utils/_contextlib.py:158 decorate_context
        vllm/v1/worker/gpu/model_runner.py:2097 execute_model""",
    "profile_logits": """torch/utils/_contextlib.py:158 decorate_context
        vllm/v1/worker/gpu/model_runner.py:1045 profile_run
        torch/utils/_contextlib.py:158 decorate_context
        vllm/v1/worker/gpu/model_runner.py:995 _dummy_sampler_run""",
    "profile_sampler": """torch/utils/_contextlib.py:158 decorate_context
        vllm/v1/worker/gpu/model_runner.py:1045 profile_run
        torch/utils/_contextlib.py:158 decorate_context
        vllm/v1/worker/gpu/model_runner.py:1014 _dummy_sampler_run""",
    "cache": """vllm/v1/worker/gpu/model_runner.py:796 initialize_kv_cache
        vllm/v1/worker/gpu/attn_utils.py:421 init_kv_cache
        vllm/v1/worker/utils.py:596 allocate_kv_cache""",
    "execute": "vllm/v1/worker/gpu/model_runner.py:2097 execute_model",
    "logits": [SAMPLE, "vllm/v1/worker/gpu/model_runner.py:2200 sample_tokens\nvllm/v1/worker/gpu/model_runner.py:1656 sample"],
    "picked": [SAMPLE, "vllm/v1/worker/gpu/model_runner.py:2200 sample_tokens\nvllm/v1/worker/gpu/model_runner.py:1655 sample"],
    "sampler": [SAMPLE, "vllm/v1/worker/gpu/model_runner.py:2200 sample_tokens\nvllm/v1/worker/gpu/model_runner.py:1683 sample"],
    "scores": "vllm/v1/worker/gpu/sample/sampler.py:154 __call__\nvllm/v1/worker/gpu/sample/sampler.py:290 sample\nvllm/v1/worker/gpu/sample/sampler.py:242 apply_sampling_params",
    "chances": None,
}
OLDER = {
    "load": "vllm/v1/worker/gpu_model_runner.py:4996 load_model",
    "buffers": "vllm/v1/worker/gpu_worker.py:586 _make_model_runner\nvllm/v1/worker/gpu_model_runner.py:778 __init__",
    "profile": """vllm/v1/worker/gpu_model_runner.py:6132 profile_run
        torch/utils/_contextlib.py:158 decorate_context
        vllm/v1/worker/gpu_model_runner.py:5782 _dummy_run""",
    "profile_logits": """vllm/v1/worker/gpu_model_runner.py:6139 profile_run
        torch/utils/_contextlib.py:158 decorate_context
        vllm/v1/worker/gpu_model_runner.py:5881 _dummy_sampler_run""",
    "profile_sampler": """vllm/v1/worker/gpu_model_runner.py:6139 profile_run
        torch/utils/_contextlib.py:158 decorate_context
        vllm/v1/worker/gpu_model_runner.py:5907 _dummy_sampler_run""",
    "cache": """vllm/v1/worker/gpu_model_runner.py:7037 initialize_kv_cache
        vllm/v1/worker/gpu_model_runner.py:6935 initialize_kv_cache_tensors
        vllm/v1/worker/utils.py:596 allocate_kv_cache""",
    "execute": "vllm/v1/worker/gpu_model_runner.py:4173 execute_model\nvllm/v1/worker/gpu_model_runner.py:3611 _model_forward",
    "logits": [EXECUTE, "vllm/v1/worker/gpu_model_runner.py:4208 execute_model"],
    "picked": [EXECUTE, "vllm/v1/worker/gpu_model_runner.py:4207 execute_model"],
    "sampler": [SAMPLE, "vllm/v1/worker/gpu_model_runner.py:4306 sample_tokens\nvllm/v1/worker/gpu_model_runner.py:3414 _sample", MODULE],
    "scores": "vllm/v1/sample/sampler.py:158 forward",
    "chances": f"vllm/v1/sample/sampler.py:164 forward\nvllm/v1/sample/sampler.py:350 sample\n{MODULE}\nvllm/v1/sample/ops/topk_topp_sampler.py:309 forward_native",
}


class Llama(nn.Module):
    """The weights, each made where vLLM makes it."""

    INSIDE = """vllm/model_executor/models/llama.py:496 __init__
        vllm/model_executor/models/llama.py:529 _init_model
        vllm/compilation/decorators.py:403 __init__"""
    LAYER = """vllm/model_executor/models/llama.py:389 __init__
        vllm/model_executor/models/utils.py:914 make_layers
        vllm/model_executor/models/utils.py:914 <genexpr>
        vllm/model_executor/models/llama.py:391 <lambda>"""
    ATTENTION, MLP = "vllm/model_executor/models/llama.py:285 __init__", "vllm/model_executor/models/llama.py:300 __init__"
    COLUMN = "vllm/model_executor/layers/linear.py:536 __init__\nvllm/model_executor/layers/linear.py:194 create_weights"
    ROW = "vllm/model_executor/layers/linear.py:1741 __init__\nvllm/model_executor/layers/linear.py:194 create_weights"
    TABLE = "vllm/model_executor/layers/vocab_parallel_embedding.py:361 __init__\nvllm/model_executor/layers/vocab_parallel_embedding.py:56 create_weights"
    NORM = "vllm/model_executor/layers/layernorm.py:65 __init__"

    def __init__(self, runner, layers, width, inner, heads, kv_heads, words):
        super().__init__()
        loading = [START, EXECUTOR, "vllm/v1/executor/uniproc_executor.py:74 _init_executor\nvllm/v1/worker/gpu_worker.py:601 load_model", runner["load"]]
        loading += ["vllm/model_executor/model_loader/base_loader.py:53 load_model\nvllm/model_executor/model_loader/utils.py:101 initialize_model"]
        self.heads, self.kv_heads, self.width = heads, kv_heads, width
        self.weights = nn.ParameterList()

        def weight(frames, *shape, make=torch.empty):
            with torch.device("cuda"):
                made = told([*loading, *frames], make, *shape, dtype=torch.bfloat16)
            self.weights.append(nn.Parameter(made, requires_grad=False))
            return self.weights[-1]

        self.table = weight([self.INSIDE, "vllm/model_executor/models/llama.py:382 __init__", self.TABLE], words, width)
        self.parts = []
        for _ in range(layers):
            layer = [self.INSIDE, self.LAYER]
            qkv = weight([*layer, self.ATTENTION, "vllm/model_executor/models/llama.py:165 __init__\nvllm/model_executor/layers/linear.py:1080 __init__", self.COLUMN], (heads + 2 * kv_heads) * HEAD, width)
            out = weight([*layer, self.ATTENTION, "vllm/model_executor/models/llama.py:175 __init__", self.ROW], width, heads * HEAD)
            if not self.parts:
                rope = [*layer, self.ATTENTION, "vllm/model_executor/models/llama.py:183 __init__\nvllm/model_executor/models/llama.py:243 _init_rotary_emb"]
                rope += ["vllm/model_executor/layers/rotary_embedding/__init__.py:148 get_rope\nvllm/model_executor/layers/rotary_embedding/base.py:59 __init__"]
                weight([*rope, "vllm/model_executor/layers/rotary_embedding/base.py:102 _compute_cos_sin_cache"], 8192, HEAD)
            up = weight([*layer, self.MLP, "vllm/model_executor/models/llama.py:95 __init__\nvllm/model_executor/layers/linear.py:732 __init__", self.COLUMN], 2 * inner, width)
            down = weight([*layer, self.MLP, "vllm/model_executor/models/llama.py:103 __init__", self.ROW], width, inner)
            for line in (308, 309):
                weight([*layer, f"vllm/model_executor/models/llama.py:{line} __init__", self.NORM], width, make=torch.ones)
            self.parts.append((qkv, out, up, down))
        weight([self.INSIDE, "vllm/model_executor/models/llama.py:395 __init__", self.NORM], width, make=torch.ones)
        self.head = weight(["vllm/model_executor/models/llama.py:503 __init__\nvllm/model_executor/layers/vocab_parallel_embedding.py:613 __init__", self.TABLE], words, width)

    def compute(self, calling, tokens):
        """The forward pass of this many tokens, layer by layer."""
        within = [*calling, MODULE, "vllm/model_executor/models/llama.py:541 forward\nvllm/compilation/decorators.py:538 __call__"]
        looked_up = f"vllm/model_executor/models/llama.py:418 forward\nvllm/model_executor/models/llama.py:404 embed_input_ids\n{MODULE}\nvllm/model_executor/layers/vocab_parallel_embedding.py:525 forward"
        x = residual = told([*within, looked_up, "vllm/model_executor/layers/vocab_parallel_embedding.py:86 embedding"], F.embedding, tokens, self.table)
        layer = [*within, "vllm/model_executor/models/llama.py:436 forward", MODULE]
        for number, (qkv, out, up, down) in enumerate(self.parts):
            if number == 0:
                x = told([*layer, "vllm/model_executor/models/llama.py:322 forward", MODULE, NORMED], torch.empty_like, x)
            x = self.attend([*layer, "vllm/model_executor/models/llama.py:325 forward", MODULE], x, qkv, out)
            inner = [*layer, "vllm/model_executor/models/llama.py:329 forward", MODULE]
            both = told([*inner, "vllm/model_executor/models/llama.py:119 forward", MODULE, COLUMN_GEMM], F.linear, x, up)
            x = told([*inner, "vllm/model_executor/models/llama.py:120 forward", ACTIVATED], torch.empty, (len(both), both.shape[1] // 2), dtype=x.dtype, device="cuda")
            del both
            x = told([*inner, "vllm/model_executor/models/llama.py:121 forward", MODULE, ROW_GEMM], F.linear, x, down)
        del residual
        return x

    def attend(self, within, x, qkv, out):
        mixed = told([*within, "vllm/model_executor/models/llama.py:229 forward", MODULE, COLUMN_GEMM], F.linear, x, qkv)
        attended = told([*within, "vllm/model_executor/models/llama.py:232 forward", MODULE, "vllm/model_executor/layers/attention/attention.py:533 forward"], mixed.new_empty, (len(x), self.heads * HEAD))
        return told([*within, "vllm/model_executor/models/llama.py:233 forward", MODULE, ROW_GEMM], F.linear, attended, out)

    def logits(self, calling, x):
        scored = "vllm/model_executor/layers/logits_processor.py:109 forward\nvllm/model_executor/layers/logits_processor.py:188 _get_logits\nvllm/model_executor/layers/logits_processor.py:144 _apply_head"
        gemm = "vllm/model_executor/layers/vocab_parallel_embedding.py:83 apply\nvllm/model_executor/layers/utils.py:89 default_unquantized_gemm"
        return told([*calling, "vllm/model_executor/models/llama.py:550 compute_logits", MODULE, scored, gemm], F.linear, x, self.head)


GEMM = "vllm/model_executor/layers/linear.py:242 apply\nvllm/model_executor/layers/utils.py:89 default_unquantized_gemm"
COLUMN_GEMM, ROW_GEMM = f"vllm/model_executor/layers/linear.py:623 forward\n{GEMM}", f"vllm/model_executor/layers/linear.py:1815 forward\n{GEMM}"
NORMED = """vllm/model_executor/custom_op.py:134 forward
    vllm/model_executor/layers/layernorm.py:120 forward_cuda
    vllm/model_executor/layers/layernorm.py:86 forward_native
    vllm/ir/op.py:363 __call__
    vllm/ir/op.py:308 _inner_call
    vllm/kernels/vllm_c.py:42 rms_norm"""
ACTIVATED = f"vllm/model_executor/layers/fusion/fused_act_quant.py:213 maybe_fused_act_quant\n{MODULE}\nvllm/model_executor/custom_op.py:134 forward\nvllm/model_executor/layers/activation.py:149 forward_cuda"


class Engine:
    def __init__(self, run, runner, max_tokens, record_late=False, **sizes):
        self.run, self.runner = run, runner
        init = [START, EXECUTOR, "vllm/v1/executor/uniproc_executor.py:69 _init_executor\nvllm/v1/worker/worker_base.py:365 init_device"]
        init += ["vllm/v1/worker/gpu_worker.py:552 init_device\nvllm/v1/worker/gpu_worker.py:565 _init_workspace_and_model_runner", runner["buffers"]]
        self.buffers = [told(init, torch.zeros, max_tokens, dtype=dtype, device="cuda") for dtype in (torch.int32, torch.int64)]
        self.model = Llama(runner, **sizes)
        run.model(self.model)
        if record_late:
            run.record()
        run.note("input", *self.buffers)
        run.phase("inference")

    def profile(self, requests):
        with torch.inference_mode():
            x = self.model.compute([START, SIZING, self.runner["profile"]], self.buffers[0])
            logits = self.model.logits([START, SIZING, self.runner["profile_logits"]], x[:requests])
            self.sample([START, SIZING, self.runner["profile_sampler"]], logits)

    def sample(self, calling, logits):
        scores = told([*calling, self.runner["scores"]], logits.to, torch.float32)
        if self.runner["chances"]:
            scores = told([*calling, self.runner["chances"]], scores.softmax, -1)
        return told([*calling, self.runner["chances"] or self.runner["scores"]], scores.argmax, -1)

    def make_cache(self, mib):
        with torch.inference_mode():
            self.cache = told([START, CACHES, self.runner["cache"]], torch.zeros, mib << 20, dtype=torch.int8, device="cuda")
            self.run.note("kv_cache", self.cache)

    def step(self, tokens, requests):
        with torch.inference_mode():
            x = self.model.compute([LOOP, EXECUTE, self.runner["execute"]], self.buffers[0][:tokens])
            at = self.buffers[1][:requests]
            picked = told([LOOP, *self.runner["picked"]], torch.index_select, x, 0, at)
            logits = self.model.logits([LOOP, *self.runner["logits"]], picked)
            return self.sample([LOOP, *self.runner["sampler"]], logits)


SMALL = {"layers": 4, "width": 1536, "inner": 4096, "heads": 12, "kv_heads": 4, "words": 32_000}


@program("vllm", "python", story=True)
def vllm_serve(run):
    run.record()
    engine = Engine(run, NEWER, 8192, **SMALL)
    engine.profile(256)
    engine.make_cache(768)
    for tokens in (4096, 64, 64, 1088, 65):
        sampled = engine.step(tokens, 64)
    return engine, sampled


@program("vllm", "python", story=True)
def vllm_older_late(run):
    """The older runner, recorded after the weights are loaded."""
    engine = Engine(run, OLDER, 8192, record_late=True, **{**SMALL, "layers": 6})
    engine.profile(256)
    engine.make_cache(640)
    for tokens in (8192, 128, 128):
        sampled = engine.step(tokens, 128)
    return engine, sampled


@program("vllm", "python", story=True, folder=TELLING)
def vllm_profile(run):
    """Up to the profiling run, whose peak vLLM measures before it allocates the cache."""
    run.record()
    engine = Engine(run, OLDER, 32_768, **{**SMALL, "words": 128_000})
    engine.profile(1024)
    return engine


@program("vllm", "python", story=True, folder=TELLING)
def vllm_steps_late(run):
    """Recorded while it serves: weights and the cache are older than the recording."""
    engine = Engine(run, NEWER, 16_384, **{**SMALL, "width": 2048, "heads": 16, "inner": 5632})
    engine.profile(256)
    engine.make_cache(1024)
    run.record()
    run.phase("inference")
    run.note("kv_cache", engine.cache)
    run.note("input", *engine.buffers)
    for tokens in (16_384, 200, 200, 9000):
        sampled = engine.step(tokens, 200)
    return engine, sampled
