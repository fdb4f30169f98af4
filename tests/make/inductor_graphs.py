"""Makes torch.compile order random graphs, and writes PyTorch's inputs and results to tests/fixtures/planning/graphs.

usage: python inductor_graphs.py FOLDER        (torch 2.15 on a CPU; then `zstd -19` the files)

`dag_*` are compiled: matrix products and sums of random operands. `threshold_*` and `wide_*` are nodes made up
here, given to the same functions of torch/_inductor/memory.py, for settings and shapes that no small model has.
"""

import json
import os
import random
import sys
from types import SimpleNamespace

os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
import torch
import torch._inductor.config as config
import torch._inductor.memory as memory
from torch.utils._ordered_set import OrderedSet

OUT = sys.argv[1]


def write(case, nodes, name_to_buf, inputs, graph_outputs):
    """Writes a graph as PyTorch's memory pass sees it, and the orders and estimates that it computes."""
    outputs = OrderedSet(graph_outputs)
    sorts = {
        "baseline": lambda: nodes,
        "lpmf": lambda: memory.topological_sort_lpmf(nodes, inputs, name_to_buf, outputs),
        "bfs": lambda: memory.topological_sort_bfs(nodes),
        "dfs": lambda: memory.topological_sort_dfs(nodes),
    }
    names = lambda found: [one.get_name() for one in found]
    truth = {
        "torch": torch.__version__,
        "case": case,
        "graph_outputs": [name for name in outputs],
        "size_threshold_for_succ_based_strategy": config.size_threshold_for_succ_based_strategy,
        "freeable_inputs": [
            {"name": name, "size": buf.mpi_buffer.size_free, "succ_nodes": names(buf.mpi_buffer.succ_nodes)}
            for name, buf in inputs.items()
        ],
        "nodes": [
            {
                "name": node.get_name(),
                "size": node.mpi_node.size,
                "outputs": names(node.get_outputs()),
                "pred_buffers": names(node.mpi_node.pred_buffers),
                "pred_nodes": names(node.mpi_node.pred_nodes),
                "succ_nodes": names(node.mpi_node.succ_nodes),
                "unmet_dependencies": [[dep.name, False] for dep in node.unmet_dependencies],
            }
            for node in nodes
        ],
        "buffers": [
            {
                "name": buf.get_name(),
                "size_alloc": buf.mpi_buffer.size_alloc,
                "size_free": buf.mpi_buffer.size_free,
                "succ_nodes": names(buf.mpi_buffer.succ_nodes),
                "succ_nodes_for_ordering": names(buf.mpi_buffer.succ_nodes_for_ordering),
            }
            for node in nodes
            for buf in node.get_outputs()
        ],
    }
    best = None
    for method, sort in sorts.items():
        order = list(sort())
        rows, _, last_use = memory.compute_memory_timeline(order, inputs, outputs)
        peak, steps = memory.estimate_peak_memory(order, inputs, outputs)
        other_peak, other_steps, _, _ = memory.estimate_peak_memory_allocfree(order, inputs, outputs)
        truth[method] = {
            "order": names(order),
            "peak": peak,
            "memory_at_steps": steps,
            "allocfree_peak": other_peak,
            "allocfree_steps": other_steps,
            "live_before_steps": memory.live_memory_before_steps_from_buf_info_list(rows, len(order)),
            "buffers": [
                {
                    "name": row.buffer.get_name(),
                    "size_alloc": row.size_alloc,
                    "size_free": row.size_free,
                    "start_step": row.start_step,
                    "end_step": row.end_step,
                }
                for row in rows
            ],
            "last_use": {buf.get_name(): node.get_name() for buf, node in last_use.items()},
        }
        if best is None or peak < truth[best]["peak"]:
            best = method
    truth["chosen_method"], truth["chosen_order"] = best, truth[best]["order"]
    with open(f"{OUT}/{case}.truth.json", "w") as file:
        json.dump(truth, file, separators=(",", ":"))
    print(case, len(nodes), {method: truth[method]["peak"] for method in sorts}, best, flush=True)


class Node(SimpleNamespace):
    """A stand-in for a scheduler's node, with the attributes that the memory pass reads."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def get_name(self):
        return self.name

    def get_outputs(self):
        return self.outputs

    def get_buffer_names(self):
        return OrderedSet(buf.name for buf in self.outputs)


class Buffer(Node):
    def debug_str(self):
        return self.name


def made_up(case, count, seed, reads, sizes, threshold=0):
    """Nodes of one buffer each. A node reads the earlier buffers returned by `reads()`."""
    rng = random.Random(seed)
    config.size_threshold_for_succ_based_strategy = threshold
    nodes, name_to_buf = [], {}
    for n in range(count):
        size = sizes(rng)
        buf = Buffer(name=f"buf{n}")
        buf.mpi_buffer = memory.MemoryPlanningInfoForBuffer(size, size)
        node = Node(name=f"op{n}", outputs=[buf], unmet_dependencies=OrderedSet())
        node.unmet_dependencies = [SimpleNamespace(name=f"buf{m}") for m in reads(rng, n)]
        for dep in node.unmet_dependencies:
            read = name_to_buf[dep.name].mpi_buffer
            read.succ_nodes.add(node)
            read.succ_nodes_for_ordering.add(node)
        nodes.append(node)
        name_to_buf[buf.name] = buf
    memory.assign_memory_planning_info_for_scheduler_nodes(nodes, {}, name_to_buf, {})
    unread = [name for name, buf in name_to_buf.items() if not buf.mpi_buffer.succ_nodes]
    results = OrderedSet(unread[:: 2 if len(unread) > 1 else 1])
    write(case, nodes, name_to_buf, {}, results)
    config.size_threshold_for_succ_based_strategy = 0


def compiled(case, count, seed, rows=64):
    """A graph that torch.compile compiled."""
    rng = random.Random(seed)
    widths = [32, 64, 96, 128, 256, 512]
    plan = []
    for n in range(count):
        far = rng.random() < 0.2
        pick = lambda: rng.randrange(max(0, n - (n if far else 12)), n + 1)
        plan.append((pick(), pick() if rng.random() < 0.5 else None, rng.choice(widths)))

    def model(x):
        made = [x]
        for first, second, width in plan:
            a = made[first]
            weight = torch.ops.aten.full.default([a.shape[1], width], 0.01)
            if second is not None:
                b = made[second]
                wb = torch.ops.aten.full.default([b.shape[1], width], 0.01)
                made.append(torch.addmm(a @ weight, b, wb))
            else:
                made.append(a @ weight)
        return made[-1], made[len(made) // 2].sum(), made[len(made) // 3]

    pass_of_torch = memory.reorder_for_peak_memory

    def watched(nodes, name_to_buf, fused, graph_inputs, graph_outputs, *rest):
        order = pass_of_torch(nodes, name_to_buf, fused, graph_inputs, graph_outputs, *rest)
        inputs = memory.get_freeable_input_buf(nodes, graph_inputs)
        memory.assign_memory_planning_info_for_scheduler_buffers(nodes, name_to_buf)
        memory.assign_memory_planning_info_for_scheduler_nodes(nodes, fused, name_to_buf, inputs)
        write(case, nodes, name_to_buf, inputs, graph_outputs)
        return order

    def exported(_name, metadata_fn=dict, payload_fn=None, **_rest):
        if metadata_fn().get("name", "").endswith("_fused"):
            with open(f"{OUT}/{case}.orm.json", "w") as file:
                json.dump(json.loads(payload_fn()), file, separators=(",", ":"))

    memory.reorder_for_peak_memory = watched
    logged, torch._logging.trace_structured = torch._logging.trace_structured, exported
    torch._dynamo.reset()
    config.reorder_for_peak_memory_debug = True
    try:
        torch.compile(model)(torch.randn(rows, 64))
    finally:
        torch._logging.trace_structured = logged
        memory.reorder_for_peak_memory = pass_of_torch


near = lambda rng, n: sorted({rng.randrange(max(0, n - 15), n) for _ in range(rng.choice([0, 1, 1, 2, 3]))} if n else set())
anywhere = lambda rng, n: sorted({rng.randrange(n) for _ in range(rng.choice([0, 1, 2, 2, 4]))} if n else set())
few_sizes = lambda rng: rng.choice([64, 64, 128, 1024, 4096])
any_size = lambda rng: 512 * rng.randrange(1, 400)
made_up("threshold_100", 100, 1, near, few_sizes, threshold=63)
made_up("threshold_150", 150, 2, anywhere, any_size, threshold=20_000)
made_up("threshold_high", 80, 3, near, few_sizes, threshold=5000)
made_up("wide_200", 200, 4, anywhere, any_size)
made_up("narrow_200", 200, 5, near, any_size)
made_up("narrow_600", 600, 6, near, any_size)
for case, count, seed in [("dag_60", 40, 7), ("dag_200", 130, 8)]:
    compiled(case, count, seed)
# The sample of the start page: buffers of MiB, as models have them.
compiled("dag_of_mib", 40, 15, rows=8192)
