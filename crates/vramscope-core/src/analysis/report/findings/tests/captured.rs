//! Findings and facts about captured programs.

use serde_json::{Value, json};

use super::*;
use crate::analysis::report::facts::facts;

/// Turns a recording into a captured one.
fn captured(story: &str, capture: Value) -> Snapshot {
    let mut snapshot = decoded(story);
    snapshot.settings.clear();
    let mut all = json!({"tool": "vramscope-capture 0.1.0"});
    all.as_object_mut()
        .unwrap()
        .extend(capture.as_object().unwrap().clone());
    snapshot.extras.insert("capture".to_owned(), all);
    snapshot
}

fn device(total_bytes: u64, free_bytes: u64, tracked_bytes: u64) -> Value {
    json!({
        "devices": [{"index": 0, "name": "Fake", "total_bytes": total_bytes}],
        "memory": [{"device": 0, "time_us": 5, "free_bytes": free_bytes, "total_bytes": total_bytes,
            "tracked_bytes": tracked_bytes}],
    })
}

const GIB: u64 = 1 << 30;

/// Recordings with findings.
const STORIES: [&str; 4] = [
    "capacity 1GiB\nalloc w 600MiB model.py:1:init\nalloc a 300MiB model.py:2:forward\noom 512MiB free=124MiB train.py:7:step",
    "alloc a 100MiB a.rs:1:f\nalloc b 100MiB a.rs:2:f\nfree a\nalloc c 10MiB a.rs:3:f",
    "alloc a 40MiB a.rs:1:f\nfree a\nempty_cache\nalloc b 60MiB a.rs:2:f",
    "alloc a 64MiB a.rs:1:f\nalloc b 3MiB a.rs:2:g\nfree a\nalloc c 2MiB a.rs:2:g\noom 70MiB free=80MiB a.rs:3:h",
];

#[test]
fn nobody_is_told_of_pytorchs_allocator() {
    let words = [
        "PyTorch",
        "torch",
        "empty_cache",
        "expandable",
        "record_stream",
        "zero_grad",
        "detach",
        "cudaMalloc",
    ];
    for story in STORIES {
        let snapshot = captured(story, device(GIB, 0, GIB / 2));
        let mut told: Vec<String> = Vec::new();
        for finding in overviews(&snapshot).into_iter().flat_map(|of| of.findings) {
            told.extend([finding.title, finding.seen, finding.may_mean]);
            told.extend(finding.to_try);
            told.extend(finding.figures.into_iter().map(|figure| figure.label));
        }
        for fact in facts(&Recording::of(snapshot)) {
            told.extend([fact.text, fact.meaning, fact.advice]);
        }
        for text in told {
            let found = words.iter().find(|word| text.contains(*word));
            assert_eq!(found, None, "{text}");
        }
    }
}

#[test]
fn others_are_named_where_memory_ran_out() {
    let snapshot = captured(STORIES[0], device(2 * GIB, 124 << 20, 900 << 20));
    let found = overviews(&snapshot).swap_remove(0);
    let oom = get(&found, FindingKind::OutOfMemory);
    // 2 GiB minus 900 MiB in segments and 124 MiB free.
    let others = oom
        .figures
        .iter()
        .find(|figure| figure.label == "held by others");
    assert_eq!(others.unwrap().bytes, 1 << 30);
    assert!(
        oom.seen
            .contains("Of the device's 2.00 GiB, 1.00 GiB were held by others"),
        "{}",
        oom.seen
    );
    assert!(
        oom.to_try.iter().any(|text| text.contains("nvidia-smi")),
        "{:?}",
        oom.to_try
    );
    let other = get(&found, FindingKind::OtherMemory);
    assert_eq!((other.bytes, other.severity), (1 << 30, Severity::Warning));
}

#[test]
fn lost_records_are_told_first() {
    let lost = json!({
        "dropped_records": 1234, "ended": "recorder failed", "notes": ["a note"],
        "lost": [{"reason": "NoStack", "times": 1, "text": "a stack is missing"}],
    });
    let snapshot = captured(&healthy(), lost);
    let found = overviews(&snapshot).swap_remove(0);
    assert_eq!(
        found.findings[0].title,
        "1,234 records were lost because the log was full"
    );
    assert_eq!(found.findings[0].severity, Severity::Problem);
    let texts: Vec<_> = facts(&Recording::of(snapshot))
        .into_iter()
        .map(|fact| fact.text)
        .collect();
    assert!(texts[0].contains("switched itself off"), "{texts:?}");
    assert_eq!(
        texts[1],
        "1,234 records were lost because the log was full."
    );
    assert_eq!(texts[2], "Incomplete: a stack is missing (once).");
    assert_eq!(texts[3], "a note");
}

#[test]
fn a_pool_serves_all_streams() {
    let story = "alloc a 64MiB stream=7 a.rs:1:f\nalloc keep 1MiB a.rs:1:f\nfree a\noom 32MiB free=0MiB a.rs:2:g";
    let snapshot = captured(story, json!({}));
    let found = overviews(&snapshot).swap_remove(0);
    for at in &found.gaps {
        assert_eq!(at.gap.other_streams_bytes, 0, "{at:?}");
    }
}
