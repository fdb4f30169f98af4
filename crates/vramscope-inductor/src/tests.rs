//! Invariants on random graphs; each optimised algorithm is compared with a slow and obvious one.

use proptest::prelude::*;

use super::*;

/// Graphs of up to 14 nodes with ties, several outputs per node, freeable inputs, different sizes, and nodes that only have
/// to come later.
fn graphs() -> impl Strategy<Value = Graph> {
    let size = prop_oneof![Just(0u64), Just(1), Just(8), 0u64..40];
    let sizes = (size.clone(), size, any::<bool>());
    let output = (
        sizes,
        prop::bool::weighted(0.2),
        any::<u16>(),
        any::<u16>(),
        0u8..5,
    );
    let nodes = prop::collection::vec(prop::collection::vec(output.clone(), 0..3), 1..14);
    let inputs = prop::collection::vec(output, 0..3);
    (inputs, nodes).prop_map(|(inputs, nodes)| {
        let count = nodes.len() as u32;
        let buffer = |name: String, first: u32, is_input: bool, raw| {
            let ((alloc, free, is_odd), is_output, some, others, kind): (_, bool, u16, u16, u8) =
                raw;
            let later = |bits: u16| (first..count).filter(move |n| bits >> (n % 16) & 1 == 1);
            let (mut readers, mut followers) = (Vec::new(), Vec::new());
            match kind {
                0 => {}
                1 => followers = later(some).collect(),
                _ => readers = later(some & others).collect(),
            }
            BufferPart {
                name,
                size_alloc: alloc,
                size_free: if is_odd && !is_input { free } else { alloc },
                is_output,
                readers,
                followers,
            }
        };
        let node = |(n, outputs): (u32, Vec<_>)| NodePart {
            name: format!("op{n}"),
            outputs: (0..)
                .zip(outputs)
                .map(|(b, raw): (u32, _)| buffer(format!("buf{n}_{b}"), n + 1, false, raw))
                .collect(),
            unmet: Vec::new(),
        };
        let inputs = (0u32..).zip(inputs);
        let mut parts = Parts {
            inputs: inputs
                .map(|(i, raw)| buffer(format!("in{i}"), 0, true, raw))
                .collect(),
            nodes: (0..count).zip(nodes).map(node).collect(),
        };
        for n in 0..count {
            for b in parts.nodes[n as usize].outputs.clone() {
                for after in b.readers.into_iter().chain(b.followers) {
                    parts.nodes[after as usize].unmet.push(n);
                }
            }
        }
        Graph::new(parts).unwrap()
    })
}

fn earliest_succ(graph: &Graph, ready: &[u32]) -> u32 {
    let count = graph.node_count() as u32;
    let first_succ = |n: u32| {
        graph
            .succs
            .get(n as usize)
            .iter()
            .min()
            .map_or(count, |&s| s)
    };
    ready
        .iter()
        .copied()
        .min_by_key(|&n| first_succ(n))
        .unwrap()
}

fn least_memory(graph: &Graph, ready: &[u32], to_free: &[i64], gap: i64) -> u32 {
    let key = |&n: &u32| {
        let size = graph.node_size(n);
        (
            if size > gap { size } else { 0 },
            size - to_free[n as usize],
            n,
        )
    };
    ready.iter().copied().min_by_key(key).unwrap()
}

/// `topological_sort_lpmf` as written in PyTorch: every step examines all nodes that could run.
fn slow_lpmf(graph: &Graph, threshold: i64) -> Vec<u32> {
    let count = graph.node_count() as u32;
    let free = |b: &u32| graph.size_free[*b as usize] as i64;
    let mut left: Vec<usize> = (0..graph.buffer_count())
        .map(|b| graph.readers.get(b).len() + usize::from(graph.is_output[b]))
        .collect();
    let mut to_free: Vec<i64> = (0..count as usize)
        .map(|n| {
            let last = graph
                .reads
                .get(n)
                .iter()
                .filter(|&&b| left[b as usize] == 1);
            let unread = graph
                .outputs
                .get(n)
                .iter()
                .filter(|&&b| left[b as usize] == 0);
            last.chain(unread).map(free).sum()
        })
        .collect();
    let mut waiting: Vec<usize> = graph.preds.iter().map(<[u32]>::len).collect();
    let mut ready: Vec<u32> = (0..count).filter(|&n| waiting[n as usize] == 0).collect();
    let mut live = graph.input_bytes();
    let results = (0..graph.buffer_count() as u32).filter(|&b| graph.is_output[b as usize]);
    let mut most = live.max(results.map(|b| free(&b)).sum());
    let mut order = Vec::new();
    while let Some(smallest) = ready.iter().map(|&n| graph.node_size(n)).min() {
        let node = match threshold > 0 && smallest > threshold {
            true => earliest_succ(graph, &ready),
            false => least_memory(graph, &ready, &to_free, most - live),
        };
        ready.retain(|&n| n != node);
        order.push(node);
        live += graph.node_size(node);
        most = most.max(live);
        live -= to_free[node as usize];
        for &succ in graph.succs.get(node as usize) {
            waiting[succ as usize] -= 1;
            if waiting[succ as usize] == 0 {
                ready.push(succ);
            }
        }
        for &b in graph.reads.get(node as usize) {
            left[b as usize] -= 1;
            if left[b as usize] == 1 {
                let readers = graph.readers.get(b as usize).iter();
                readers.for_each(|&n| to_free[n as usize] += free(&b));
            }
        }
    }
    order
}

/// The lowest peak of all orders, by trying all sets of nodes that may have run.
fn least_peak(graph: &Graph) -> i64 {
    let count = graph.node_count();
    let has_run = |set: usize, nodes: &[u32]| nodes.iter().all(|&n| set >> n & 1 == 1);
    let memory = |set: usize| {
        let mut bytes = graph.input_bytes();
        for n in (0..count).filter(|n| set >> n & 1 == 1) {
            bytes += graph.node_size(n as u32);
        }
        for b in 0..graph.buffer_count() {
            let writer = (0..count).find(|&n| graph.outputs.get(n).contains(&(b as u32)));
            let is_written = writer.is_none_or(|n| set >> n & 1 == 1);
            // An input that nobody reads stays.
            let is_used = writer.is_some() || !graph.readers.get(b).is_empty();
            let is_freed = is_used && is_written && !graph.is_output[b];
            if is_freed && has_run(set, graph.readers.get(b)) {
                bytes -= graph.free(b as u32);
            }
        }
        bytes
    };
    let mut least = vec![i64::MAX; 1 << count];
    least[0] = memory(0).max(0);
    for set in 0..1usize << count {
        if least[set] == i64::MAX {
            continue;
        }
        for n in (0..count).filter(|n| set >> n & 1 == 0) {
            if has_run(set, graph.preds.get(n)) {
                let peak = memory(set) + graph.node_size(n as u32);
                let next = set | 1 << n;
                // The remaining memory at the end counts too, as does every state in between.
                let peak = least[set].max(peak).max(memory(next));
                least[next] = least[next].min(peak);
            }
        }
    }
    least[(1 << count) - 1]
}

fn is_valid(graph: &Graph, order: &Order) -> bool {
    let steps = order.steps();
    let mut sorted = order.0.clone();
    sorted.sort_unstable();
    sorted.iter().copied().eq(0..graph.node_count() as u32)
        && (0..graph.node_count()).all(|n| {
            graph
                .preds
                .get(n)
                .iter()
                .all(|&pred| steps[pred as usize] < steps[n])
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_fast_lpmf_is_the_slow_one(graph in graphs(), threshold in 0u64..12) {
        let settings = Settings { size_threshold_for_succ_based_strategy: threshold };
        prop_assert_eq!(lpmf(&graph, settings).0, slow_lpmf(&graph, threshold as i64));
    }

    #[test]
    fn both_estimates_have_one_peak(graph in graphs()) {
        for planned in plan(&graph, Settings::default()).unwrap().orders {
            let timeline = &planned.timeline;
            let steps = timeline.alloc_free_steps(&graph);
            let highest = steps.iter().map(|&(after_alloc, _)| after_alloc).max().unwrap_or(0);
            prop_assert_eq!(highest.max(0) as u64, timeline.peak);
            let last = steps.last().map(|&(_, after_free)| after_free);
            prop_assert_eq!(last, timeline.memory_at_steps.last().copied());
            for (step, &bytes) in (0u32..).zip(&timeline.memory_at_steps) {
                let live = timeline.live_at(&graph, step);
                prop_assert_eq!(live.iter().map(|&(_, bytes)| bytes).sum::<i64>(), bytes);
            }
        }
    }

    #[test]
    fn the_search_finds_the_least_peak_and_knows_it(graph in graphs()) {
        let plan = plan(&graph, Settings::default()).unwrap();
        let mut search = Search::new(&graph, &plan);
        let mut peak = search.peak();
        // One slice at a time, as in the page.
        while !search.run(&mut || true) {
            prop_assert!(search.peak() <= peak && search.bound() <= search.peak());
            peak = search.peak();
        }
        prop_assert!(is_valid(&graph, search.order()));
        prop_assert_eq!(Timeline::of(&graph, search.order()).peak, search.peak());
        prop_assert!(search.is_optimal());
        prop_assert_eq!(search.peak() as i64, least_peak(&graph));
    }

    #[test]
    fn orders_are_orders(graph in graphs()) {
        for planned in plan(&graph, Settings::default()).unwrap().orders {
            prop_assert!(is_valid(&graph, &planned.order));
        }
    }
}

#[test]
fn an_input_that_nobody_reads_is_never_freed() {
    let input = BufferPart {
        size_alloc: 8,
        size_free: 8,
        ..BufferPart::default()
    };
    let nodes = vec![NodePart::default(), NodePart::default()];
    let inputs = vec![input];
    let graph = Graph::new(Parts { inputs, nodes }).unwrap();
    let timeline = Timeline::of(&graph, &graph.baseline());
    assert_eq!(timeline.memory_at_steps, [8, 8, 8]);
}

#[test]
fn sizes_that_just_can_be_calculated_with() {
    let buffer = |size: u64| BufferPart {
        size_alloc: size,
        size_free: size,
        is_output: true,
        ..BufferPart::default()
    };
    let graph = |size: u64| {
        Graph::new(Parts {
            inputs: vec![BufferPart {
                size_alloc: 0,
                ..buffer(size)
            }],
            nodes: vec![NodePart {
                outputs: vec![BufferPart {
                    size_free: 0,
                    ..buffer(size)
                }],
                ..NodePart::default()
            }],
        })
    };
    assert!(graph(1 << 62).is_err());
    let graph = graph((1 << 62) - 1).unwrap();
    let plan = plan(&graph, Settings::default()).unwrap();
    let mut search = Search::new(&graph, &plan);
    while !search.run(&mut || true) {}
    assert_eq!(search.peak(), (1 << 63) - 2);
    assert_eq!(search.bound(), search.peak());
}

fn node(name: &str, readers: Vec<u32>) -> NodePart {
    NodePart {
        name: name.to_owned(),
        outputs: vec![BufferPart {
            name: format!("buf_{name}"),
            size_alloc: 8,
            size_free: 8,
            readers,
            ..BufferPart::default()
        }],
        unmet: Vec::new(),
    }
}

#[test]
fn an_order_that_cannot_run_is_none() {
    let parts = Parts {
        nodes: vec![node("a", vec![]), node("b", vec![0])],
        ..Parts::default()
    };
    let graph = Graph::new(parts).unwrap();
    let error = plan(&graph, Settings::default()).unwrap_err().to_string();
    assert!(error.starts_with("a comes before b"), "{error}");
    assert_eq!(graph.validate().unwrap_err().to_string(), error);
}

/// This includes graphs that are too large for minimum cuts.
#[test]
fn no_order_does_with_less_than_one_node_needs() {
    let nodes = (0..9).map(|n| node(&format!("op{n}"), vec![9]));
    let parts = Parts {
        nodes: nodes.chain([node("op9", vec![])]).collect(),
        ..Parts::default()
    };
    let graph = Graph::new(parts).unwrap();
    let plan = plan(&graph, Settings::default()).unwrap();
    assert_eq!(Search::new(&graph, &plan).bound(), 80);
}

#[test]
fn a_cycle_is_told_as_pytorch_tells_it() {
    let nodes = vec![node("a", vec![1]), node("b", vec![2]), node("c", vec![1])];
    let parts = Parts {
        nodes,
        ..Parts::default()
    };
    let error = plan(&Graph::new(parts).unwrap(), Settings::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Cycle detected in memory planning graphPath containing cycle (i -> j: j is a dependency of i): b -> c -> b \
         This indicates invalid dependency relationships in the scheduler graph"
    );
}
