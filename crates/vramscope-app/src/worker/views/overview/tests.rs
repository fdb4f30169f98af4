//! What the page is told is what the analysis says.

use vramscope_core::analysis::findings::FindingKind;
use vramscope_core::analysis::overview::{Occasion, SegmentsKnown};
use vramscope_core::decode;

use super::*;
use crate::protocol::ThemeName;
use crate::protocol::views::overview::{DeviceOverview, FileDetails};

fn document(file: &[u8]) -> Document {
    Document::new(decode(file).unwrap())
}

fn device(document: &Document) -> DeviceOverview {
    let device = document.devices().next().unwrap().history.device;
    let theme = ThemeName::Light;
    let question = Question::Device { device, theme };
    match answer(&question, document, &mut Cache::default()) {
        Some((Answer::Device(found), Extra::Nothing)) => *found,
        other => panic!("{other:?}"),
    }
}

fn file(document: &Document) -> FileDetails {
    let theme = ThemeName::Dark;
    match answer(&Question::File { theme }, document, &mut Cache::default()) {
        Some((Answer::File(found), Extra::Nothing)) => *found,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_oom_comes_first_and_its_bar_adds_up() {
    let document = document(include_bytes!(
        "../../../../../../tests/fixtures/torch-2.15.0/oom_after.pickle"
    ));
    let found = device(&document);
    assert_eq!((found.ooms, found.segments), (1, SegmentsKnown::Real));
    assert_eq!(found.cards[0].kind, FindingKind::OutOfMemory);
    assert!(!found.cards[0].figures.is_empty() && !found.cards[0].tables.is_empty());
    let occasions: Vec<_> = found.bars.iter().flat_map(|bar| &bar.occasions).collect();
    assert!(occasions.contains(&&Occasion::OutOfMemory) && occasions.len() == 4);
    for bar in &found.bars {
        let parts = bar.parts.iter().map(|part| part.bytes);
        assert_eq!(parts.sum::<u64>(), bar.reserved_bytes);
        let shares = bar.parts.iter().map(|part| part.share);
        assert!(shares.sum::<f64>() <= 1.0 + 1e-9);
    }
    let percent: f64 = found.peak_sites.iter().filter_map(|row| row.percent).sum();
    assert!((percent - 100.0).abs() < 1e-6, "{percent}");
    assert_eq!(
        found.peak_sites.iter().map(|row| row.bytes).sum::<u64>(),
        found.peak.bytes
    );
}

#[test]
fn answers_survive_the_journey() {
    let document = document(include_bytes!(
        "../../../../../../tests/fixtures/synth/scenario-annotated.pickle"
    ));
    let found = device(&document);
    assert_eq!(found.steps.as_ref().map(|steps| steps.rows.len()), Some(8));
    let text = serde_json::to_string(&found).unwrap();
    assert_eq!(
        serde_json::from_str::<DeviceOverview>(&text).unwrap(),
        found
    );
    let found = file(&document);
    let text = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<FileDetails>(&text).unwrap(), found);
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
        "../../../../../../tests/fixtures/torch-2.15.0/pinned.pickle"
    ));
    let host = file(&document).host.unwrap();
    assert_eq!(host.memory.segments, 7);
    assert!(!host.sites.is_empty());
}

#[test]
fn without_segments_there_is_no_bar() {
    let document = document(
        br#"{"segments": [], "device_traces": [[{"action": "alloc", "addr": 4096, "size": 500, "stream": 0},
        {"action": "alloc", "addr": 8192, "size": 500, "stream": 0}]]}"#,
    );
    let found = device(&document);
    assert_eq!((found.segments, found.bars.len()), (SegmentsKnown::None, 0));
    assert_eq!(found.peak.bytes, 1000);
}
