//! How fast inductor's graphs are ordered: LPMF of 20,000 nodes, of which thousands could run at any time, and how much
//! less memory the search finds in five seconds for the graphs named on the command line.
//!
//! usage: cargo run --release -p vramscope-core --example inductor [FILE...]

use std::time::{Duration, Instant};

use vramscope_core::analysis::inductor::{
    BufferPart, Graph, NodePart, Parts, Search, Settings, bfs, dfs, lpmf, plan, read,
};

/// Nodes that read up to three of the ones long before them.
fn wide(count: u32) -> Result<Graph, Box<dyn std::error::Error>> {
    let mut random = 1u32;
    let mut below = |limit: u32| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) % limit.max(1)
    };
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
    Ok(Graph::new(Parts { inputs, nodes })?)
}

#[expect(clippy::print_stdout, reason = "what a benchmark is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let graph = wide(20_000)?;
    let time = |name: &str, run: &dyn Fn() -> usize| {
        let start = Instant::now();
        let nodes = run();
        println!(
            "{name} of {nodes} nodes: {:.1} ms",
            start.elapsed().as_secs_f64() * 1e3
        );
    };
    for _ in 0..3 {
        time("lpmf", &|| lpmf(&graph, Settings::default()).0.len());
        time("bfs", &|| bfs(&graph).0.len());
        time("dfs", &|| dfs(&graph).0.len());
    }
    for file in std::env::args().skip(1) {
        for named in read(std::fs::File::open(&file)?, &file)?.graphs {
            let plan = plan(&named.graph, Settings::default())?;
            let mut search = Search::new(&named.graph, &plan);
            let start = Instant::now();
            search.run(&mut || start.elapsed() > Duration::from_secs(5));
            println!(
                "{}: {} nodes, inductor {}, found {}, any order needs {}, {:.1} s",
                named.name,
                named.graph.node_count(),
                plan.chosen().timeline.peak,
                search.peak(),
                search.bound(),
                start.elapsed().as_secs_f64()
            );
        }
    }
    Ok(())
}
