//! `inductor` on a log with two graphs and on a graph with an update in place, whose best orders are found at once.

use insta::assert_snapshot;

use crate::program::{fixtures, transcript, vramscope, vramscope_reading};

const LOG: &str = "planning/graphs/torch_trace_sample.log";
const GRAPH: &str =
    "planning/graphs/multi_output_mutation__0_model__0_inference_0_fused.orm.json.zst";

fn inductor(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["inductor"], arguments].concat()))
}

#[test]
fn all_graphs_of_a_log() {
    assert_snapshot!(inductor(&[LOG]));
}

#[test]
fn one_graph() {
    assert_snapshot!(inductor(&[GRAPH]));
}

#[test]
fn the_best_order() {
    assert_snapshot!(inductor(&[GRAPH, "--order", "best"]));
}

#[test]
fn lpmf_as_csv() {
    assert_snapshot!(inductor(&[GRAPH, "--order", "lpmf", "--csv"]));
}

#[test]
fn chosen_by_name_as_json() {
    assert_snapshot!(inductor(&[
        LOG, "--graph", "backward", "--json", "--limit", "2"
    ]));
}

#[test]
fn an_order_is_of_one_graph() {
    assert_snapshot!(inductor(&[LOG, "--order", "dfs"]));
}

#[test]
fn an_order_is_of_one_file() {
    let log = std::fs::read_to_string(fixtures().join(LOG)).unwrap();
    let other = log.replace("\"size_alloc\": ", "\"size_alloc\": 1");
    assert_ne!(other, log);
    let arguments = [
        "inductor", LOG, "-", "--graph", "backward", "--order", "dfs",
    ];
    assert_snapshot!(transcript(&vramscope_reading(&arguments, other.as_bytes())));
}

#[test]
fn a_graph_in_two_files_is_one() {
    let twice = vramscope(&["inductor", LOG, LOG]);
    assert_eq!(twice.stdout, vramscope(&["inductor", LOG]).stdout);
    let note = "note: graphs that an earlier file has, too, and that are shown once: 2\n";
    assert_eq!(String::from_utf8(twice.stderr).unwrap(), note);
}

#[test]
fn no_such_graph() {
    assert_snapshot!(inductor(&[LOG, "--graph", "model__7"]));
}

#[test]
fn a_snapshot_is_no_graph() {
    assert_snapshot!(inductor(&["torch-2.15.0/training.pickle"]));
}

#[test]
fn help() {
    assert_snapshot!(inductor(&["--help"]));
}
