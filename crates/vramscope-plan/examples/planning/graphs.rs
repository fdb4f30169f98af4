//! Inductor's graphs: orders and search.

use std::path::Path;
use std::time::Duration;

use vramscope_inductor::{
    BufferPart, Graph, NodePart, Order, Parts, Search, Settings, bfs, dfs, graph_name, lpmf, plan,
    read,
};
use vramscope_synth::Rng;

use crate::{Clock, SPENT, timed, unpacked};

/// How long each graph is searched.
const TIME: Duration = Duration::from_secs(5);

const NODES: u32 = 20_000;

/// Inductor's orders of a graph in which thousands of nodes could run at any time.
pub(crate) fn orders() {
    println!("\na graph of {NODES} nodes   {SPENT}");
    let graph = wide(NODES);
    let orders: [(&str, &dyn Fn() -> Order); 3] = [
        ("lpmf", &|| lpmf(&graph, Settings::default())),
        ("bfs", &|| bfs(&graph)),
        ("dfs", &|| dfs(&graph)),
    ];
    for (name, order) in orders {
        let (order, spent) = timed(order);
        assert_eq!(order.0.len(), graph.node_count());
        println!("{name:<25}  {spent}");
    }
}

/// How much less memory the search finds.
pub(crate) fn search(folder: &Path) {
    println!("\ngraphs of inductor            nodes    inductor      lowest   no lower {SPENT}");
    for file in ["random_dag_40__0_model__0_inference_0_fused", "dag_200"] {
        let text = unpacked(&folder.join(format!("{file}.orm.json.zst")));
        for named in read(text.as_slice(), graph_name(file)).unwrap().graphs {
            let plan = plan(&named.graph, Settings::default()).unwrap();
            let mut search = Search::new(&named.graph, &plan);
            let clock = Clock::start();
            search.run(&mut || clock.wall() > TIME);
            let spent = clock.stop();
            println!(
                "{:<29} {:>5} {:>11} {:>11} {:>10} {spent}",
                file.split("__").next().unwrap_or(file),
                named.graph.node_count(),
                plan.chosen().timeline.peak,
                search.peak(),
                search.bound(),
            );
        }
    }
}

/// Nodes that each read up to three much earlier ones.
fn wide(count: u32) -> Graph {
    let mut random = Rng::new(1);
    let mut below = |limit: u32| random.below(limit.max(1).into()) as u32;
    let mut nodes: Vec<NodePart> = Vec::new();
    for n in 0..count {
        for _ in 0..below(4).min(n) {
            let read = below(n);
            nodes[read as usize].outputs[0].readers.push(n);
        }
        let bytes = 512 * u64::from(1 + below(400));
        nodes.push(NodePart {
            name: format!("op{n}"),
            outputs: vec![BufferPart {
                name: format!("buf{n}"),
                size_alloc: bytes,
                size_free: bytes,
                ..BufferPart::default()
            }],
            unmet: Vec::new(),
        });
    }
    let inputs = Vec::new();
    Graph::new(Parts { inputs, nodes }).unwrap()
}
