//! The page gets what the analysis finds.

use vramscope_core::analysis::report::file_details::{FileDetails, file_details};
use vramscope_core::analysis::report::findings::FindingKind;
use vramscope_core::analysis::report::overview::{Occasion, SegmentsKnown};
use vramscope_core::decode;
use vramscope_protocol::{from_bytes, to_bytes};

use super::*;
use crate::document::Document;

fn document(file: &[u8]) -> Document {
    Document::new(decode(file).unwrap())
}

fn device(document: &Document) -> Overview {
    let device = document.devices().next().unwrap();
    prepare(device, &mut Cache::default()).clone()
}

#[test]
fn an_oom_comes_first_and_its_bar_adds_up() {
    let document = document(include_bytes!(
        "../../../../../tests/fixtures/torch-2.15.0/oom_after.pickle"
    ));
    let found = device(&document);
    assert_eq!((found.ooms, found.segments), (Some(1), SegmentsKnown::Real));
    assert_eq!(found.findings[0].kind, FindingKind::OutOfMemory);
    assert!(!found.findings[0].figures.is_empty() && !found.findings[0].tables.is_empty());
    let bars = found.bars();
    let occasions: Vec<_> = bars.iter().flat_map(|bar| &bar.occasions).collect();
    assert!(occasions.contains(&&Occasion::OutOfMemory) && occasions.len() == 4);
    for bar in &bars {
        let parts = bar.at.gap.parts().into_iter().map(|(_, bytes)| bytes);
        assert_eq!(parts.sum::<u64>(), bar.at.gap.reserved_bytes);
    }
    let rows = found.peak_sites.rows.iter();
    assert_eq!(
        rows.map(|row| row.bytes).sum::<u64>(),
        found.peak.active_bytes
    );
}

#[test]
fn answers_survive_the_journey() {
    let document = document(include_bytes!(
        "../../../../../tests/fixtures/synth/scenario-annotated.pickle"
    ));
    let found = device(&document);
    assert_eq!(found.steps.as_ref().map(|steps| steps.steps.len()), Some(8));
    assert_eq!(from_bytes(&to_bytes(&found)), Ok(found));
    let found = file_details(&document);
    let arrived: FileDetails = from_bytes(&to_bytes(&found)).unwrap();
    assert_eq!(arrived, found);
    assert!(
        found
            .settings
            .iter()
            .any(|setting| setting.key == "expandable_segments")
    );
}

#[test]
fn pinned_memory_is_told() {
    let document = document(include_bytes!(
        "../../../../../tests/fixtures/torch-2.15.0/pinned.pickle"
    ));
    let host = file_details(&document).host.unwrap();
    assert_eq!(host.memory.segments, 7);
    assert!(!host.sites.rows.is_empty());
}

#[test]
fn without_segments_there_is_no_bar() {
    let document = document(
        br#"{"segments": [], "device_traces": [[{"action": "alloc", "addr": 4096, "size": 500, "stream": 0},
        {"action": "alloc", "addr": 8192, "size": 500, "stream": 0}]]}"#,
    );
    let found = device(&document);
    assert_eq!(
        (found.segments, found.bars().len()),
        (SegmentsKnown::None, 0)
    );
    assert_eq!(found.peak.active_bytes, 1000);
}
