//! Snapshots recorded by PyTorch 2.11 on an H100, compared with PyTorch's own counters at those moments
//! (`tests/gpu/fixtures.py`).

use serde_json::Value;
use vramscope_core::analysis::time::history::History;
use vramscope_synth::files::{fixtures_dir, fixtures_in};

use crate::support::decoded;

#[test]
fn peaks_are_those_that_torch_counted() {
    let counted =
        std::fs::read_to_string(fixtures_dir().join("captured/torch-2.11.0.json")).unwrap();
    let counted: Value = serde_json::from_str(&counted).unwrap();
    let files = fixtures_in("torch-2.11.0");
    assert_eq!(files.len(), 6);
    for file in files {
        let snapshot = decoded(&file);
        assert!(
            snapshot.warnings.list().is_empty(),
            "{}: {:?}",
            file.name,
            snapshot.warnings
        );
        let name = file.name.rsplit('/').next().unwrap();
        let counted = &counted[name.strip_suffix(".pickle.gz").unwrap()];
        let history = History::of(&snapshot, 0);
        let peak = history.active_bytes.iter().max().copied();
        assert_eq!(peak, counted["requested"].as_u64(), "{name}, peak");
        let end = history.active_bytes.last().copied();
        assert_eq!(end, counted["now"]["requested"].as_u64(), "{name}, end");
        let segments = snapshot.segments.of_device(0);
        let reserved: u64 = segments.map(|(_, segment)| segment.total_size).sum();
        assert_eq!(
            Some(reserved),
            counted["now"]["reserved"].as_u64(),
            "{name}, reserved"
        );
    }
}
