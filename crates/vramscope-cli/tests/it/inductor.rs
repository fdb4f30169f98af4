//! `inductor` on a log with two graphs and on a graph with an update in place, whose best orders are found at once.

use insta::assert_snapshot;

use crate::program::{transcript, vramscope};

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
    assert_snapshot!(inductor(&[
        LOG, LOG, "--graph", "backward", "--order", "dfs"
    ]));
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
