//! Snapshots agree with the driver's ledger byte for byte, however the program found the driver.

use serde_json::Value;
use vramscope_capture_tests::session::{Captured, Session};
use vramscope_capture_tests::story::{assert_same, assert_same_blocks, assert_same_by_address};
use vramscope_core::analysis::memory::capture::Capture;

#[track_caller]
fn captured(session: Session, client: &str, arguments: &[&str]) -> Captured {
    let captured = session.capture(client, arguments);
    assert!(
        captured.status.success(),
        "{}: {}\n{}",
        captured.status,
        captured.stdout,
        captured.stderr
    );
    captured
}

#[track_caller]
fn agrees(client: &str, arguments: &[&str]) {
    let captured = captured(Session::new(), client, arguments);
    assert_same(&captured.snapshot(), captured.ledger());
}

macro_rules! scenes {
    ($($test:ident: $scene:literal;)*) => {
        $(
            #[test]
            fn $test() {
                agrees("scenes", &["dlsym", $scene]);
            }
        )*
    };
}

scenes! {
    plain_memory: "plain";
    pools: "pools";
    a_pool_that_is_not_destroyed: "default-pool";
    address_ranges: "ranges";
    arrays: "arrays";
    out_of_memory: "out-of-memory";
    imports: "imports";
    contexts: "contexts";
    first_versions_of_functions: "first-versions";
}

#[test]
fn graphs() {
    let captured = captured(Session::new(), "scenes", &["dlsym", "graphs"]);
    assert_same_blocks(&captured.snapshot(), captured.ledger());
}

/// Memory held by graphs, even after they ended, does not count as other processes'.
#[test]
fn memory_of_graphs_is_told() {
    let captured = captured(Session::new(), "scenes", &["dlsym", "graph-memory"]);
    let snapshot = captured.snapshot();
    let capture = Capture::of(&snapshot).expect("a capture");
    let device = capture.device(0).expect("the device");
    let graphs = device.graphs.expect("memory of graphs");
    assert_eq!((graphs.last_bytes, graphs.highest_bytes), (0, 64 << 20));
    let other = device.other.expect("samples");
    assert_eq!(
        (other.last_bytes, other.highest_bytes),
        (256 << 20, 256 << 20)
    );
    let memory = snapshot.extras["capture"]["memory"].as_array().unwrap();
    let unplaced = |it: &Value| it["pool_unplaced_bytes"].as_u64();
    assert_eq!(memory.iter().filter_map(unplaced).max(), Some(64 << 20));
}

#[test]
fn graphs_of_new_versions() {
    let captured = captured(Session::new(), "scenes", &["dlsym", "new-graphs"]);
    assert_same_blocks(&captured.snapshot(), captured.ledger());
}

#[test]
fn two_devices() {
    let session = Session::new().env("FAKECUDA_DEVICES", "2");
    let captured = captured(session, "scenes", &["dlsym", "devices"]);
    assert_same(&captured.snapshot(), captured.ledger());
}

#[test]
fn found_by_get_proc_address() {
    agrees("scenes", &["proc", "plain"]);
    agrees("scenes", &["proc", "pools"]);
    agrees("scenes", &["proc", "ranges"]);
    agrees("scenes", &["proc-per-thread", "pools"]);
}

#[test]
fn linked_with_the_driver() {
    agrees("linked", &["plain"]);
    agrees("linked", &["pools"]);
    agrees("linked", &["ranges"]);
}

#[test]
fn cudarc_loading() {
    agrees("loading", &[]);
}

#[test]
fn cudarc_without_pools() {
    let session = Session::new().env("FAKECUDA_NO_POOLS", "1");
    let captured = captured(session, "loading", &[]);
    assert_same(&captured.snapshot(), captured.ledger());
}

#[test]
fn cudarc_linking() {
    agrees("linking", &[]);
}

#[test]
fn eager_cudarc() {
    agrees("eager", &[]);
}

/// Captures twice, as threads never run the same way.
#[test]
fn eight_threads() {
    for way in ["dlsym", "proc"] {
        let captured = captured(Session::new(), "scenes", &[way, "threads"]);
        assert_same_by_address(&captured.snapshot(), captured.ledger());
    }
}

#[test]
fn a_hundred_thousand_events() {
    agrees("scenes", &["dlsym", "long"]);
}
