//! Packing compared with minimalloc's benchmark and with the results of an independent program.

use serde_json::Value;
use vramscope_plan::packing::csv::{read, write};
use vramscope_plan::packing::{Fit, Order, greedy, lower_bound, verify};
use vramscope_synth::files::fixtures_dir;

/// The name of each order in packers.json.
const NAMES: [(Order, &str); 8] = [
    (Order::Program, "program order (online)"),
    (Order::Size, "size desc"),
    (Order::Area, "area desc"),
    (Order::Duration, "duration desc"),
    (Order::Conflicts, "conflicts desc"),
    (Order::ContentionArea, "contention,area"),
    (Order::ContentionDuration, "contention,duration"),
    (Order::Breadth, "breadth"),
];

#[test]
fn every_greedy_packer_needs_what_the_reference_needs() {
    let folder = fixtures_dir().join("planning");
    let rows = std::fs::read(folder.join("packers.json")).unwrap();
    let rows: Value = serde_json::from_slice(&rows).unwrap();
    let rows = rows.as_object().unwrap();
    assert_eq!(rows.len(), 11);
    for (letter, row) in rows {
        let file = folder.join(format!("minimalloc/{letter}.1048576.csv"));
        let text = std::fs::read(file).unwrap();
        let table = read(text.as_slice()).unwrap();
        assert_eq!(table.ids.len(), row["buffers"], "{letter}");
        assert_eq!(lower_bound(&table.problem), row["lower_bound"], "{letter}");
        for (order, name) in NAMES {
            for (fit, suffix) in [(Fit::First, "first-fit"), (Fit::Best, "best-fit")] {
                let packing = greedy(&table.problem, order, fit);
                let expected = &row[format!("{name} / {suffix}")];
                assert_eq!(packing.height, *expected, "{letter}, {name}, {suffix}");
                assert_eq!(verify(&table.problem, &packing), Ok(()));
            }
        }
        let mut again = Vec::new();
        write(&mut again, &table.ids, &table.problem, None).unwrap();
        assert_eq!(again, text, "{letter}");
    }
}
