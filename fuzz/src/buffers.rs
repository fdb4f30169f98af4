//! The rule for files of buffers.

use std::sync::Arc;

use vramscope_plan::packing::csv::{read, write};
use vramscope_plan::packing::{Packer, verify};
use vramscope_plan::pool_planner::Planner;

/// Larger problems are only read and written, because packing them takes too long.
const PACKED: usize = 100;

/// Maximum number of slices of work. One takes some 0.2 ms, and ten times as long with libFuzzer's checks.
const MOST_LOOKS: u32 = 200;

/// Any bytes give either an error with a message, or a problem that is written as it was read and for which a
/// valid packing is found.
pub fn buffers(data: &[u8]) {
    let table = match read(data) {
        Ok(table) => table,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut text = Vec::new();
    let packing = table.packing.as_ref();
    write(&mut text, &table.ids, &table.problem, packing).expect("a Vec takes every byte");
    let again = read(text.as_slice()).unwrap_or_else(|error| panic!("what was written: {error}"));
    assert_eq!(again.problem, table.problem);
    assert_eq!(again.packing, table.packing);
    if table.ids.len() > PACKED {
        return;
    }
    let problem = Arc::new(table.problem);
    let mut packer = Packer::new(problem.clone());
    let mut looks = 0;
    packer.run(&mut || {
        looks += 1;
        looks > MOST_LOOKS
    });
    if let Some(best) = packer.best() {
        assert_eq!(verify(&problem, &best.packing), Ok(()));
        assert!(best.packing.height >= best.bound);
    }
    let mut planner = Planner::of_problem(&problem);
    planner.run(&mut || false);
    assert_eq!(planner.finish().offsets.len(), problem.size.len());
}
