//! Data that vramscope-capture adds to torch's keys survives everything that makes a snapshot from a snapshot.

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
            {"stage": "START", "name": "train_step 1", "device": 0, "time_us": 13, "range": 2, "thread": 4243,
                "stream": 0x70, "color": 0xff76_b900_u32, "category": "secretcategory", "payload": "1234567"},
        ],
        "capture": {"tool": "vramscope-capture 0.1.0", "threads": {"4242": "secretthread"},
            "streams": {"0x70": "secretstream"}},
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
    let expected = [
        "secretthread",
        "secretlib · 4243",
        "secretstream (stream 1)",
    ];
    assert_eq!(names(&snapshot), expected);
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
    for what in 0..7 {
        let mut other = captured();
        let rows = &mut other.annotations.rows;
        match what {
            0 => rows[0].range = None,
            1 => rows[1].domain = None,
            2 => rows[2].thread = Some(1),
            3 => rows[3].stream = Some(1),
            4 => rows[3].colour = Some(1),
            5 => rows[3].category = None,
            _ => rows[3].payload = None,
        }
        assert!(difference(&snapshot, &other).is_some(), "{what}");
    }
}

#[test]
fn threads_and_domains_are_somebodys_words() {
    let hidden = anonymise(&captured(), &Anonymiser::salted("salt"));
    let mut text = Vec::new();
    encode_json(&hidden, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(
        !text.contains("secret") && !text.contains("1234567"),
        "{text}"
    );
    assert!(text.contains("train_step 1"));
    let rows = &hidden.annotations.rows;
    assert_eq!(
        (rows[0].thread, rows[1].range),
        (Some(4242), Some(u64::MAX))
    );
}
