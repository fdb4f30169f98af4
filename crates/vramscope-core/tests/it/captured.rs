//! What vramscope-capture writes beside torch's keys goes through everything that makes a snapshot of a snapshot.

use vramscope_core::analysis::time::history::History;
use vramscope_core::analysis::time::lanes::Lanes;
use vramscope_core::anonymise::{Anonymiser, anonymise};
use vramscope_core::encode::{difference, encode, encode_json};
use vramscope_core::vram_format;
use vramscope_core::{Snapshot, decode};

fn captured() -> Snapshot {
    let file = serde_json::json!({
        "segments": [],
        "device_traces": [[
            {"action": "alloc", "addr": 4096, "size": 512, "stream": 0, "time_us": 10, "frames": []},
            {"action": "free_completed", "addr": 4096, "size": 512, "stream": 0, "time_us": 20, "frames": []},
        ]],
        "external_annotations": [
            {"stage": "START", "name": "train_step 1", "device": 0, "time_us": 9, "range": 1, "thread": 4242},
            {"stage": "START", "name": "train_step 1", "device": 0, "time_us": 11, "range": u64::MAX, "thread": 4243,
                "domain": "secretlib"},
            {"stage": "END", "name": "train_step 1", "device": 0, "time_us": 12, "range": 1, "thread": 4243},
        ],
        "capture": {"threads": {"4242": "secretthread"}},
    });
    decode(file.to_string().as_bytes()).unwrap()
}

fn names(snapshot: &Snapshot) -> Vec<String> {
    let lanes = Lanes::of(snapshot, &History::of(snapshot, 0));
    lanes.lanes.into_iter().map(|lane| lane.name).collect()
}

#[test]
fn nothing_is_lost_on_the_way_through_other_encodings() {
    let snapshot = captured();
    assert_eq!(names(&snapshot), ["secretthread", "secretlib · 4243"]);
    let mut files = [Vec::new(), Vec::new(), Vec::new()];
    encode(&snapshot, &mut files[0]).unwrap();
    encode_json(&snapshot, &mut files[1]).unwrap();
    vram_format::write(&snapshot, &mut files[2]).unwrap();
    for file in files {
        let again = decode(&file[..]).unwrap();
        assert_eq!(difference(&snapshot, &again), None);
        assert_eq!(names(&again), names(&snapshot));
    }
}

#[test]
fn differences_are_seen() {
    let snapshot = captured();
    for row in 0..3 {
        let mut other = captured();
        match row {
            0 => other.annotations.rows[0].range = None,
            1 => other.annotations.rows[1].domain = None,
            _ => other.annotations.rows[2].thread = Some(1),
        }
        assert!(difference(&snapshot, &other).is_some(), "{row}");
    }
}

#[test]
fn threads_and_domains_are_somebodys_words() {
    let hidden = anonymise(&captured(), &Anonymiser::salted("salt"));
    let mut text = Vec::new();
    encode_json(&hidden, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(!text.contains("secret"), "{text}");
    assert!(text.contains("train_step 1"));
    let rows = &hidden.annotations.rows;
    assert_eq!(
        (rows[0].thread, rows[1].range),
        (Some(4242), Some(u64::MAX))
    );
}
