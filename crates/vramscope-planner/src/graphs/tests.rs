//! Every committed graph is asked everything, natively.

use std::path::{Path, PathBuf};

use vramscope_inductor::read;
use vramscope_protocol::views::graph::{
    Answer, Bars, DrawGraph, Live, OrderFacts, OrdersFacts, Question,
};
use vramscope_protocol::{Ask, Extra, Reply, ThemeName, from_bytes, to_bytes};

use super::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/planning/graphs")
}

fn open(name: &str) -> Graphs {
    let file = std::fs::File::open(folder().join(name)).unwrap();
    Graphs::new(read(file, name).unwrap())
}

/// The answer as the page gets it.
fn ask(graphs: &mut Graphs, question: &Question) -> (Answer, Extra) {
    let (answer, extra) = graphs.answer(question).unwrap();
    let any = Question::wrap(answer.clone());
    let reply = Reply::Answer {
        request: 1,
        slot: 1,
        answer: Some(any),
    };
    let arrived: Reply = from_bytes(&to_bytes(&reply)).unwrap();
    assert_eq!(arrived, reply);
    (answer, extra)
}

fn orders(graphs: &mut Graphs, graph: u32) -> OrdersFacts {
    let key = OrderKey {
        graph,
        ..OrderKey::default()
    };
    let question = Question::Orders {
        key,
        round: 0,
        search_ms: 0,
    };
    match ask(graphs, &question).0 {
        Answer::Orders(orders) => orders,
        other => panic!("{other:?}"),
    }
}

fn live(graphs: &mut Graphs, key: OrderKey, step: Option<u32>) -> Live {
    let question = Question::Live {
        key,
        step,
        first: 0,
        count: u32::MAX,
        locate: Some(0),
    };
    match ask(graphs, &question).0 {
        Answer::Live(live) => live,
        other => panic!("{other:?}"),
    }
}

fn exports() -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let is_export = |name: &String| name.contains(".orm.json") || name.ends_with(".log");
    let names: Vec<_> = names.filter(is_export).collect();
    assert!(names.len() > 5);
    names
}

#[test]
fn peaks_are_those_of_pytorch() {
    let mut graphs = open("random_dag_40__0_model__0_inference_0_fused.orm.json.zst");
    let orders = orders(&mut graphs, 0);
    let peak = |name| {
        let facts = orders.orders.iter().find(|facts| facts.order == name);
        facts.unwrap().peak_bytes
    };
    assert_eq!(peak(OrderName::Baseline), 1_354_752);
    assert_eq!(peak(OrderName::Lpmf), 1_041_408);
    assert_eq!(peak(OrderName::Bfs), 964_608);
    assert_eq!(peak(OrderName::Dfs), 1_041_408);
    assert!(peak(OrderName::Best) <= 964_608);
    assert_eq!(orders.chosen, OrderName::Bfs);
}

#[test]
fn what_is_live_adds_up_to_the_memory_at_every_step_of_every_order() {
    for name in exports() {
        let mut graphs = open(&name);
        let count = graphs.opened(&name, 1, 1.0).graphs.len() as u32;
        for graph in 0..count {
            let orders = orders(&mut graphs, graph);
            for facts in &orders.orders {
                check_order(&mut graphs, graph, facts);
            }
        }
    }
}

fn check_order(graphs: &mut Graphs, graph: u32, facts: &OrderFacts) {
    let key = OrderKey {
        graph,
        order: facts.order,
        version: facts.version,
        constant_bytes: 1_000,
    };
    let at_peak = live(graphs, key, None);
    assert_eq!(at_peak.step, facts.peak_step);
    assert_eq!(at_peak.bytes, facts.peak_bytes + 1_000);
    let question = Question::Nodes {
        key,
        first: 0,
        count: u32::MAX,
    };
    let (Answer::Nodes(nodes), _) = ask(graphs, &question) else {
        panic!("no nodes")
    };
    assert!(!nodes.is_empty());
    for step in 0..=nodes.len() as u32 {
        let live = live(graphs, key, Some(step));
        let sum: u64 = live.lines.iter().map(|line| line.bytes).sum();
        assert_eq!(live.all_rows as usize, live.lines.len());
        assert_eq!(sum + live.constant_bytes, live.bytes);
        assert!(live.lines.is_sorted_by(|a, b| a.bytes >= b.bytes));
        if let Some(node) = nodes.get(step as usize) {
            assert_eq!((node.during_bytes, &node.name), (live.bytes, &live.node));
        } else {
            assert_eq!(nodes.last().unwrap().after_bytes, live.bytes);
        }
    }
}

#[test]
fn every_buffer_can_be_hit_and_says_who_makes_and_who_uses_it() {
    for name in exports() {
        let mut graphs = open(&name);
        let facts = graphs.opened(&name, 1, 1.0).graphs.remove(0);
        let all = facts.buffers + facts.freeable_inputs;
        for buffer in 0..all {
            let key = OrderKey::default();
            let question = Question::Buffer { key, buffer };
            let (Answer::Buffer(facts), _) = ask(&mut graphs, &question) else {
                panic!("no buffer")
            };
            assert!(facts.users.is_sorted());
            assert!(facts.made_at.is_none_or(|step| step == facts.line.start));
            for bars in [Bars::Rows, Bars::Packed] {
                check_bar(&mut graphs, buffer, bars);
            }
        }
        let key = OrderKey::default();
        assert!(
            graphs
                .answer(&Question::Buffer { key, buffer: all })
                .is_none()
        );
    }
}

/// Its outline lies in the picture, and what is in its middle is that buffer.
fn check_bar(graphs: &mut Graphs, buffer: u32, bars: Bars) {
    let nodes = graphs.graph(0).unwrap().node_count();
    let draw = DrawGraph {
        key: OrderKey::default(),
        bars,
        x: (0.0, nodes as f64 + 1.0),
        width_px: 400,
        height_px: 2_000,
        theme: ThemeName::Dark,
    };
    let (Answer::Drawn(drawn), Extra::Pixels { rgba, .. }) = ask(graphs, &Question::Draw(draw))
    else {
        panic!("no picture")
    };
    assert_eq!(rgba.len(), 400 * 2_000 * 4);
    assert_eq!(drawn.curves[0].bytes.len(), 400);
    assert_eq!(drawn.packed_bytes.is_some(), bars == Bars::Packed);
    let (Answer::Placed(placed), _) = ask(graphs, &Question::Place { draw, buffer }) else {
        panic!("no place")
    };
    let Some([left, top, right, bottom]) = placed.outline else {
        assert_eq!(bars, Bars::Packed, "{buffer} has no row");
        return;
    };
    if bottom - top < 1.0 {
        return;
    }
    let question = Question::Hit {
        draw,
        x_px: (left + right) / 2.0,
        y_px: (top + bottom) / 2.0,
    };
    let (Answer::Tip(tip), _) = ask(graphs, &question) else {
        panic!("no tip")
    };
    assert_eq!(tip.buffer.unwrap().buffer, buffer);
}

#[test]
fn what_is_not_there_is_not_answered() {
    let mut graphs = open("torch_trace_sample.log");
    let key = OrderKey {
        graph: 99,
        ..OrderKey::default()
    };
    let question = Question::Orders {
        key,
        round: 0,
        search_ms: 0,
    };
    assert!(graphs.answer(&question).is_none());
    assert!(graphs.answer(&Question::Csv { key }).is_none());
    let question = Question::Nodes {
        key: OrderKey::default(),
        first: u32::MAX,
        count: 5,
    };
    assert_eq!(ask(&mut graphs, &question).0, Answer::Nodes(Vec::new()));
}

#[test]
fn memory_by_step_of_every_order_is_a_table() {
    let mut graphs = open("torch_trace_sample.log");
    let key = OrderKey {
        constant_bytes: 1_000,
        ..OrderKey::default()
    };
    let (Answer::Csv { rows }, Extra::Bytes(csv)) = ask(&mut graphs, &Question::Csv { key }) else {
        panic!("no table")
    };
    let csv = String::from_utf8(csv).unwrap();
    assert_eq!(csv.lines().count() as u64, rows + 1);
    let mut lines = csv.lines();
    let head = "step,baseline_bytes,lpmf_bytes,bfs_bytes,dfs_bytes,best_bytes";
    assert_eq!(lines.next(), Some(head));
    assert_eq!(lines.next(), Some("0,33768,33768,33768,33768,33768"));
    assert_eq!(lines.next(), Some("1,66536,66536,66536,66536,66536"));
}

#[test]
fn a_search_stops_when_it_is_told_and_goes_on() {
    let mut graphs = open("dag_200.orm.json.zst");
    let ask_for = |graphs: &mut Graphs, search_ms| {
        let key = OrderKey::default();
        let question = Question::Orders {
            key,
            round: 0,
            search_ms,
        };
        match ask(graphs, &question).0 {
            Answer::Orders(orders) => orders,
            other => panic!("{other:?}"),
        }
    };
    let orders = ask_for(&mut graphs, 0);
    assert!(!orders.is_searching && orders.can_search);
    assert!(ask_for(&mut graphs, 5).is_searching);
    // A clock of which each look takes a second.
    fn now_ms() -> f64 {
        use std::sync::atomic::{AtomicU32, Ordering};
        static LOOKS: AtomicU32 = AtomicU32::new(0);
        f64::from(LOOKS.fetch_add(1, Ordering::Relaxed)) * 1_000.0
    }
    graphs.search(now_ms);
    let orders = ask_for(&mut graphs, 5);
    assert!(!orders.is_searching && orders.can_search && orders.searched_ms >= 1_000);
    assert!(ask_for(&mut graphs, u32::MAX).is_searching);
}
