//! The rule for graphs of inductor.

use vramscope_core::container::FileKind;
use vramscope_inductor::{Search, Settings, Timeline, plan, read};

/// Maximum number of nodes and edges. Larger inputs are skipped: the fuzzer looks for broken rules, not for
/// slow inputs.
const MOST: usize = 2_000;

/// Maximum number of steps of the search.
const MOST_STEPS: u32 = 200;

/// Any bytes give either an error with a message, or graphs whose orders contain each node once and whose
/// estimates agree.
pub fn inductor(data: &[u8]) {
    let _either = FileKind::of(data);
    let export = match read(data, "graph") {
        Ok(export) => export,
        Err(error) => {
            assert!(!error.to_string().is_empty() && !error.advice().is_empty());
            return;
        }
    };
    assert!(!export.graphs.is_empty());
    for named in &export.graphs {
        let graph = &named.graph;
        let _either = graph.validate();
        let edges: usize = graph
            .reads
            .iter()
            .chain(graph.preds.iter())
            .map(<[u32]>::len)
            .sum();
        let Ok(plan) = plan(graph, Settings::default()) else {
            continue;
        };
        for planned in &plan.orders {
            let mut nodes = planned.order.0.clone();
            nodes.sort_unstable();
            assert!(nodes.iter().copied().eq(0..graph.node_count() as u32));
            let steps = planned.timeline.alloc_free_steps(graph);
            let highest = steps.iter().map(|&(after_alloc, _)| after_alloc).max();
            assert_eq!(highest.unwrap_or(0).max(0) as u64, planned.timeline.peak);
        }
        if graph.node_count() + edges > MOST {
            continue;
        }
        let mut search = Search::new(graph, &plan);
        let mut left = MOST_STEPS;
        search.run(&mut || {
            left = left.saturating_sub(1);
            left == 0
        });
        assert!(search.peak() <= plan.chosen().timeline.peak && search.bound() <= search.peak());
        assert_eq!(Timeline::of(graph, search.order()).peak, search.peak());
    }
}
