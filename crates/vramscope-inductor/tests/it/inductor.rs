//! Every figure and order of inductor's memory pass, compared with PyTorch's own.

use std::collections::HashMap;
use std::io::Read;

use serde::Deserialize;
use vramscope_core::container::FileKind;
use vramscope_inductor::{
    BufferPart, Graph, Method, NodePart, Order, Parts, Plan, Planned, Settings, plan, read,
};
use vramscope_synth::files::{fixtures_dir, fixtures_in};

/// PyTorch's results for a graph, and its complete input.
#[derive(Deserialize)]
struct Truth {
    graph_outputs: Vec<String>,
    size_threshold_for_succ_based_strategy: u64,
    freeable_inputs: Vec<TruthInput>,
    nodes: Vec<TruthNode>,
    buffers: Vec<TruthBuffer>,
    baseline: TruthOrder,
    lpmf: TruthOrder,
    bfs: TruthOrder,
    dfs: TruthOrder,
    chosen_method: String,
    chosen_order: Vec<String>,
}

#[derive(Deserialize)]
struct TruthInput {
    name: String,
    size: u64,
    succ_nodes: Vec<String>,
}

#[derive(Deserialize)]
struct TruthNode {
    name: String,
    size: i64,
    outputs: Vec<String>,
    pred_buffers: Vec<String>,
    pred_nodes: Vec<String>,
    succ_nodes: Vec<String>,
    unmet_dependencies: Vec<(String, bool)>,
}

#[derive(Deserialize)]
struct TruthBuffer {
    name: String,
    size_alloc: u64,
    size_free: u64,
    succ_nodes: Vec<String>,
    succ_nodes_for_ordering: Vec<String>,
}

#[derive(Deserialize)]
struct TruthOrder {
    order: Vec<String>,
    peak: u64,
    memory_at_steps: Vec<i64>,
    allocfree_peak: i64,
    allocfree_steps: Vec<(i64, i64)>,
    live_before_steps: Option<Vec<i64>>,
    buffers: Vec<TruthLife>,
    last_use: Option<HashMap<String, String>>,
}

#[derive(Deserialize)]
struct TruthLife {
    name: String,
    size_alloc: u64,
    size_free: u64,
    start_step: u32,
    end_step: i64,
}

/// Every file of `tests/fixtures/planning/graphs`: name, PyTorch's results, and the export if it is a real graph.
fn cases() -> Vec<(String, Truth, Option<Graph>)> {
    let files = fixtures_in("planning/graphs");
    let exports: HashMap<&str, &[u8]> = files
        .iter()
        .filter_map(|file| Some((file.name.strip_suffix(".orm.json.zst")?, &file.bytes[..])))
        .collect();
    let truths = files.iter().filter_map(|file| {
        let name = file.name.strip_suffix(".truth.json.zst")?;
        let mut text = Vec::new();
        let mut unpacked = ruzstd::decoding::StreamingDecoder::new(&file.bytes[..]).unwrap();
        unpacked.read_to_end(&mut text).unwrap();
        let truth = serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let graph = exports.get(name).map(|bytes| {
            assert_eq!(FileKind::of(bytes), FileKind::Graphs, "{name}");
            let export = read(*bytes, name).unwrap();
            assert_eq!(export.warnings, [""; 0]);
            let [graph] = &export.graphs[..] else {
                panic!("{name}: {} graphs", export.graphs.len());
            };
            assert_eq!((&*graph.name, &graph.warnings[..]), (name, &[][..]));
            graph.graph.clone()
        });
        Some((name.to_owned(), truth, graph))
    });
    truths.collect()
}

/// The graph with everything that PyTorch knew.
fn from_truth(truth: &Truth) -> Graph {
    let numbers: HashMap<&str, u32> = (0..)
        .zip(&truth.nodes)
        .map(|(n, node)| (&*node.name, n))
        .collect();
    let of_nodes = |names: &[String]| names.iter().map(|name| numbers[&**name]).collect();
    let owners: HashMap<&str, u32> = (0..)
        .zip(&truth.nodes)
        .flat_map(|(n, node)| node.outputs.iter().map(move |buffer| (&**buffer, n)))
        .collect();
    let buffers: HashMap<&str, &TruthBuffer> = truth
        .buffers
        .iter()
        .map(|buffer| (&*buffer.name, buffer))
        .collect();
    let is_output = |name: &String| truth.graph_outputs.contains(name);
    let input = |input: &TruthInput| BufferPart {
        name: input.name.clone(),
        size_alloc: 0,
        size_free: input.size,
        is_output: is_output(&input.name),
        readers: of_nodes(&input.succ_nodes),
        followers: Vec::new(),
    };
    let output = |name: &String| {
        let buffer = buffers[&**name];
        BufferPart {
            name: name.clone(),
            size_alloc: buffer.size_alloc,
            size_free: buffer.size_free,
            is_output: is_output(name),
            readers: of_nodes(&buffer.succ_nodes),
            followers: of_nodes(&buffer.succ_nodes_for_ordering),
        }
    };
    let node = |node: &TruthNode| NodePart {
        name: node.name.clone(),
        outputs: node.outputs.iter().map(output).collect(),
        unmet: node
            .unmet_dependencies
            .iter()
            .filter_map(|(name, _)| owners.get(&**name).copied())
            .collect(),
    };
    Graph::new(Parts {
        inputs: truth.freeable_inputs.iter().map(input).collect(),
        nodes: truth.nodes.iter().map(node).collect(),
    })
    .unwrap()
}

fn sorted(mut names: Vec<&str>) -> Vec<&str> {
    names.sort_unstable();
    names
}

fn compare_nodes(name: &str, graph: &Graph, truth: &Truth, has_all: bool) {
    let nodes = |list: &[u32]| {
        sorted(
            list.iter()
                .map(|&n| &*graph.node_names[n as usize])
                .collect(),
        )
    };
    let buffers = |list: &[u32]| {
        sorted(
            list.iter()
                .map(|&b| &*graph.buffer_names[b as usize])
                .collect(),
        )
    };
    for (n, node) in truth.nodes.iter().enumerate() {
        let same = |what: &str, ours: Vec<&str>, theirs: &[String]| {
            let theirs = sorted(theirs.iter().map(|name| &**name).collect());
            assert_eq!(ours, theirs, "{name}: {what} of {}", node.name);
        };
        assert_eq!(graph.node_names[n], node.name);
        assert_eq!(graph.node_size(n as u32), node.size);
        same("outputs", buffers(graph.outputs.get(n)), &node.outputs);
        same(
            "pred_buffers",
            buffers(graph.reads.get(n)),
            &node.pred_buffers,
        );
        // Order-only dependencies are not exported.
        if has_all {
            same("pred_nodes", nodes(graph.preds.get(n)), &node.pred_nodes);
            same("succ_nodes", nodes(graph.succs.get(n)), &node.succ_nodes);
        }
    }
}

fn compare_order(name: &str, graph: &Graph, plan: &Plan, method: Method, truth: &TruthOrder) {
    let planned = plan
        .orders
        .iter()
        .find(|planned| planned.method == method)
        .unwrap();
    let what = format!("{name}: {}", method.name());
    let node = |n: u32| &*graph.node_names[n as usize];
    let names =
        |order: &Order| -> Vec<String> { order.0.iter().map(|&n| node(n).to_owned()).collect() };
    assert_eq!(names(&planned.order), truth.order, "{what}");
    let timeline = &planned.timeline;
    assert_eq!(timeline.peak, truth.peak, "{what}");
    assert_eq!(timeline.memory_at_steps, truth.memory_at_steps, "{what}");
    let steps = timeline.alloc_free_steps(graph);
    assert_eq!(steps, truth.allocfree_steps, "{what}");
    let highest = steps.iter().map(|&(after_alloc, _)| after_alloc).max();
    assert_eq!(highest.unwrap_or(0).max(0), truth.allocfree_peak, "{what}");
    if let Some(before) = &truth.live_before_steps {
        assert_eq!(&timeline.live_before_steps(graph), before, "{what}");
    }
    compare_lives(&what, graph, planned, truth);
    for step in 0..graph.node_count() as u32 {
        let live: i64 = timeline
            .live_at(graph, step)
            .iter()
            .map(|&(_, bytes)| bytes)
            .sum();
        assert_eq!(
            live, timeline.memory_at_steps[step as usize],
            "{what}: live at {step}"
        );
    }
}

fn compare_lives(what: &str, graph: &Graph, planned: &Planned, truth: &TruthOrder) {
    assert_eq!(truth.buffers.len(), graph.buffer_count());
    let row = |name: &str| {
        graph
            .buffer_names
            .iter()
            .position(|other| other == name)
            .unwrap()
    };
    for theirs in &truth.buffers {
        let b = row(&theirs.name);
        let life = planned.timeline.lives[b];
        let end = life.end.map_or(-1, i64::from);
        assert_eq!(
            (life.start, end),
            (theirs.start_step, theirs.end_step),
            "{what}: {}",
            theirs.name
        );
        assert_eq!(graph.size_free[b], theirs.size_free);
        if b >= graph.input_count {
            assert_eq!(graph.size_alloc[b], theirs.size_alloc);
        }
    }
    for (buffer, last) in truth.last_use.iter().flatten() {
        let end = planned.timeline.lives[row(buffer)].end.unwrap();
        assert_eq!(
            &graph.node_names[planned.order.0[end as usize] as usize], last,
            "{what}: {buffer}"
        );
    }
}

#[test]
fn all_figures_and_orders_are_pytorchs() {
    let cases = cases();
    assert_eq!(cases.len(), 21);
    for (name, truth, export) in &cases {
        let all = from_truth(truth);
        let graphs = [
            Some((&all, true)),
            export.as_ref().map(|graph| (graph, false)),
        ];
        for (graph, has_all) in graphs.into_iter().flatten() {
            compare_nodes(name, graph, truth, has_all);
            assert_eq!(graph.validate(), Ok(()));
            let settings = Settings {
                size_threshold_for_succ_based_strategy: truth
                    .size_threshold_for_succ_based_strategy,
            };
            let plan = plan(graph, settings).unwrap();
            let truths = [&truth.baseline, &truth.lpmf, &truth.bfs, &truth.dfs];
            for (method, truth) in Method::ALL.into_iter().zip(truths) {
                compare_order(name, graph, &plan, method, truth);
            }
            let chosen = plan.chosen();
            assert_eq!(chosen.method.name(), truth.chosen_method, "{name}");
            let names = chosen
                .order
                .0
                .iter()
                .map(|&n| &*graph.node_names[n as usize]);
            assert!(
                names.eq(truth.chosen_order.iter().map(|name| &**name)),
                "{name}"
            );
        }
    }
}

#[test]
fn a_log_has_its_graph() {
    let log = std::fs::read(fixtures_dir().join("planning/graphs/torch_trace_sample.log")).unwrap();
    assert_eq!(FileKind::of(&log[..100]), FileKind::Graphs);
    let export = read(&log[..], "").unwrap();
    assert_eq!(export.warnings, [""; 0]);
    let found = export.graphs.iter().map(|graph| (&*graph.name, graph.line));
    let expected = [
        ("model__0_forward_1_fused", 7),
        ("model__0_backward_3_fused", 70),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert_eq!(export.graphs[0].graph.node_names, ["op0", "op1", "op2"]);
}
