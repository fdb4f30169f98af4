//! Damage that leaves a file readable: each kind is counted, remains in whatever is written from the file, and does not
//! occur in genuine files.

mod rewritten;
mod sizes;

use vramscope_core::analysis::recording::Recording;
use vramscope_core::anonymise::{Anonymiser, anonymise};
use vramscope_core::encode::{encode, encode_json};
use vramscope_core::model::{Warning, WarningKind};
use vramscope_core::{ErrorKind, Snapshot, decode, vram_format};
use vramscope_synth::files::{fixtures, fixtures_in, real_files};
use vramscope_synth::pickle::raw::Raw;

use crate::support::decoded;

fn read(text: &str) -> Snapshot {
    decode(text.as_bytes()).unwrap()
}

fn damage(snapshot: &Snapshot) -> Vec<(WarningKind, u64, Vec<String>)> {
    let damage = snapshot.warnings.damage().cloned();
    let fields = |Warning {
                      kind,
                      count,
                      places,
                  }| (kind, count, places);
    damage.map(fields).collect()
}

/// The only kind of damage, with its count and places.
#[track_caller]
fn only(snapshot: &Snapshot, kind: WarningKind) -> (u64, Vec<String>) {
    let all = damage(snapshot);
    assert!(
        matches!(&all[..], [(found, ..)] if *found == kind),
        "{all:?}"
    );
    (all[0].1, all[0].2.clone())
}

/// A file of one device with these events: action, address, size.
fn trace(events: &[(&str, u64, i128)]) -> String {
    let events = events.iter().map(|(action, address, size)| {
        let at = if *action == "oom" {
            "device_free"
        } else {
            "addr"
        };
        format!(r#"{{"action": "{action}", "{at}": {address}, "size": {size}, "stream": 0}}"#)
    });
    let events = events.collect::<Vec<_>>().join(",");
    format!(r#"{{"segments": [], "device_traces": [[{events}]]}}"#)
}

fn container(name: &str) -> Vec<u8> {
    let files = fixtures_in("containers");
    let found = files.into_iter().find(|file| file.name.ends_with(name));
    found.unwrap().bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// One frame with a check sum.
fn zstd(bytes: &[u8]) -> Vec<u8> {
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    ruzstd::encoding::compress_to_vec(bytes, level)
}

/// The result in each format.
fn written(snapshot: &Snapshot) -> [Snapshot; 3] {
    let (mut pickle, mut json, mut packed) = (Vec::new(), Vec::new(), Vec::new());
    encode(snapshot, &mut pickle).unwrap();
    encode_json(snapshot, &mut json).unwrap();
    vram_format::write(snapshot, &mut packed).unwrap();
    [pickle, json, packed].map(|file| decode(&file[..]).unwrap())
}

#[test]
fn genuine_files_have_none() {
    for file in fixtures()
        .iter()
        .filter(|file| !file.name.contains("tolerant"))
    {
        let recording = Recording::of(decoded(file));
        assert_eq!(damage(&recording.snapshot), [], "{}", file.name);
    }
    // A file that another project made up for its tests.
    for file in real_files()
        .iter()
        .filter(|file| !file.name.contains("mosaic"))
    {
        let recording = Recording::of(decoded(file));
        assert_eq!(damage(&recording.snapshot), [], "{}", file.name);
    }
}

#[test]
fn a_wrong_check_sum() {
    let gzips = ["snapshot.pickle.gz", "snapshot.json.gz", "page.html.gz"].map(|name| {
        let mut file = container(name);
        let check_sum = file.len() - 8;
        file[check_sum] ^= 1;
        file
    });
    let mut zstd = zstd(&container("protocol4.pickle"));
    *zstd.last_mut().unwrap() ^= 1;
    let mut nested = gzip(&container("snapshot.pickle.zst"));
    let check_sum = nested.len() - 8;
    nested[check_sum] ^= 1;
    let mut packed = gzip(&container("packed.vram"));
    let check_sum = packed.len() - 8;
    packed[check_sum] ^= 1;
    let zips = ["deflated.zip", "stored.zip", "json.zip"].map(|name| {
        let mut file = container(name);
        let mut headers = (0..file.len()).filter(|&at| file[at..].starts_with(b"PK\x03\x04"));
        let header = headers.find(|at| !file[at + 30..].starts_with(b"readme"));
        file[header.unwrap() + 14] ^= 1;
        file
    });
    // The size after the check sum. The library distinguishes the two only by the text of its error.
    let mut sized = container("snapshot.pickle.gz");
    let size = sized.len() - 4;
    sized[size] ^= 1;
    for file in gzips
        .iter()
        .chain(&zips)
        .chain([&zstd, &nested, &packed, &sized])
    {
        let snapshot = decode(&file[..]).unwrap();
        assert_eq!(only(&snapshot, WarningKind::CheckSumWrong).0, 1);
    }
}

/// The check sum of a part that ends in the middle of the snapshot: what follows may not belong to it.
#[test]
fn a_wrong_check_sum_in_the_middle() {
    let mut file = container("two_members.pickle.gz");
    let mut members = (0..file.len()).filter(|&at| file[at..].starts_with(b"\x1f\x8b\x08"));
    let second = members.nth(1).unwrap();
    file[second - 8] ^= 1;
    let error = decode(&file[..]).err().unwrap();
    assert_eq!(error.kind, ErrorKind::CheckSum("gzip"));
}

#[test]
fn doubled_frees_of_segments() {
    let [alloc, free] = ["segment_alloc", "segment_free"];
    let found = |actions: &[&'static str]| {
        let events = actions.iter().map(|&action| (action, 1, 8));
        let events: Vec<_> = [(alloc, 9, 8)].into_iter().chain(events).collect();
        damage(&read(&trace(&events)))
    };
    assert_eq!(found(&[free, alloc, free, alloc]), []);
    assert_eq!(found(&["segment_unmap", "segment_unmap"]), []);
    let place = vec!["device_traces[0][2]".to_owned()];
    assert_eq!(found(&[free, free]), [(WarningKind::FreedTwice, 1, place)]);
    // If no `segment_alloc` was recorded, nothing can be concluded.
    assert_eq!(damage(&read(&trace(&[(free, 1, 8); 3]))), []);
}

#[test]
fn doubled_segments_and_mappings() {
    let [allocated, freed] = [WarningKind::AllocatedTwice, WarningKind::FreedTwice];
    for [alloc, free] in [
        ["segment_alloc", "segment_free"],
        ["segment_map", "segment_unmap"],
    ] {
        let found = |events: &[(&str, u64, i128)]| {
            let damage = damage(&read(&trace(events))).into_iter();
            damage
                .map(|(kind, count, _)| (kind, count))
                .collect::<Vec<_>>()
        };
        // From before the recording, in pieces, out of the middle, and joined.
        let genuine = [
            (free, 90, 9),
            (alloc, 0, 8),
            (alloc, 8, 8),
            (free, 4, 8),
            (alloc, 4, 4),
            (free, 0, 8),
            (free, 12, 4),
            (alloc, 0, 16),
            (alloc, 90, 9),
        ];
        assert_eq!(found(&genuine), []);
        let [map, part, end] = [(alloc, 0, 16), (free, 0, 8), (free, 90, 1)];
        assert_eq!(found(&[map, part, part, end]), [(freed.clone(), 1)]);
        assert_eq!(found(&[map, (alloc, 15, 8), end]), [(allocated.clone(), 1)]);
        assert_eq!(
            found(&[map, map, part, (free, 7, 9)]),
            [(allocated.clone(), 1), (freed.clone(), 1)]
        );
        // If no free was recorded, nothing can be concluded.
        assert_eq!(found(&[map, map]), []);
    }
}

/// Memory exists once, however often a file mentions it.
#[test]
fn no_sum_counts_a_doubled_segment_twice() {
    let [alloc, map, unmap] = ["segment_alloc", "segment_map", "segment_unmap"];
    for (events, expected) in [
        (vec![(alloc, 0, 8), (alloc, 0, 8)], vec![0, 8, 8]),
        (vec![(alloc, 0, 8), (alloc, 4, 8)], vec![0, 8, 12]),
        (
            vec![(map, 0, 16), (unmap, 0, 8), (unmap, 0, 8), (map, 90, 8)],
            vec![0, 16, 8, 8, 16],
        ),
    ] {
        let recording = Recording::of(read(&trace(&events)));
        let history = recording.devices().next().unwrap().history;
        let bytes = (0..=history.event_count).map(|moment| history.reserved_bytes(moment));
        assert_eq!(bytes.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn frees_of_another_size() {
    let [alloc, request, free] = ["alloc", "free_requested", "free_completed"];
    let found = |events: &[(&str, u64, i128)]| damage(&read(&trace(events)));
    assert_eq!(
        found(&[(alloc, 1, 8), (request, 1, 8), (free, 1, 8), (alloc, 1, 9)]),
        []
    );
    // Nothing is known about an allocation from before the recording.
    assert_eq!(found(&[(request, 1, 8), (free, 1, 9), (alloc, 2, 1)]), []);
    let places = ["device_traces[0][1]", "device_traces[0][2]"];
    assert_eq!(
        found(&[(alloc, 1, 8), (request, 1, 9), (free, 1, 7)]),
        [(
            WarningKind::FreedSizeDiffers,
            2,
            places.map(str::to_owned).to_vec()
        )]
    );
}

#[test]
fn damage_to_the_trace_of_the_host() {
    let [alloc, free] = ["alloc", "free_completed"];
    let text = trace(&[(alloc, 1, 8), (free, 1, 8), (free, 1, 8)]);
    let host = text.replace(
        r#""device_traces": [["#,
        r#""device_traces": [], "host_traces": ["#,
    );
    let host = host.replace("]]}", "]}");
    assert_eq!(
        only(&read(&host), WarningKind::FreedTwice),
        (1, vec!["host_traces[2]".to_owned()])
    );
}

#[test]
fn lines_that_cannot_be() {
    for (line, count) in [
        ("-3", 1),
        ("1099511627776", 1),
        ("0", 0),
        ("null", 0),
        ("4294967295", 0),
    ] {
        let frames = format!(
            r#""frames": [{{"name": "f", "filename": "a.py", "line": {line}}}], "stream": 0"#
        );
        let snapshot = read(&trace(&[("alloc", 1, 8)]).replace(r#""stream": 0"#, &frames));
        let found: Vec<_> = damage(&snapshot)
            .into_iter()
            .map(|(kind, count, _)| (kind, count))
            .collect();
        let expected = [(WarningKind::ValuesLeftOut, count)];
        assert_eq!(found, expected[..count as usize], "{line}");
    }
}

/// Python writes them into JSON.
#[test]
fn what_is_no_number_is_left_out() {
    let text = r#"{"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": 8, "stream": 0,
        "user_metadata": {"loss": NaN, "said": "loss: NaN, -Infinity"}}]], "mine": [1, -Infinity, Infinity, 2]}"#;
    let snapshot = read(text);
    let (count, places) = only(&snapshot, WarningKind::ValuesLeftOut);
    assert_eq!(count, 3);
    assert_eq!(places, ["device_traces[0][0]", "mine"]);
    assert_eq!(snapshot.extras["mine"].to_string(), "[1,null,null,2]");
    let kept = r#"{"loss":null,"said":"loss: NaN, -Infinity"}"#;
    assert!(snapshot.strings.find(kept).is_some());
    for size in ["NaN", "1NaN", "Nan"] {
        let text = trace(&[("alloc", 1, 7)]).replace(r#""size": 7"#, &format!(r#""size": {size}"#));
        let fault = decode(text.as_bytes()).err().map(|error| error.kind);
        assert!(
            matches!(fault, Some(ErrorKind::Malformed(_))),
            "{size}: {fault:?}"
        );
    }
}

#[test]
fn keys_that_come_twice() {
    let kind = || WarningKind::ValuesLeftOut;
    let place = |place: &str| (1, vec![place.to_owned()]);
    let event = r#""action": "alloc", "addr": 1, "size": 8, "stream": 0"#;
    let with = |more: &str| read(&trace(&[("alloc", 1, 8)]).replace(r#""stream": 0"#, more));
    let snapshot = with(r#""stream": 0, "size": 9"#);
    assert_eq!(only(&snapshot, kind()), place("device_traces[0][0]"));
    assert_eq!(snapshot.events.size, [9], "the last one wins");
    let unknown = with(r#""stream": 0, "a": 1, "b": 2"#);
    assert_eq!(damage(&unknown), []);
    for (text, at) in [
        (format!(r#"{{"segments": [], "device_traces": [[]], "device_traces": [[{{{event}}}]]}}"#), "device_traces"),
        (r#"{"segments": [], "mine": 1, "mine": 2}"#.to_owned(), "mine"),
        (r#"{"segments": [], "allocator_settings": {"a": 1, "a": 2}}"#.to_owned(), "allocator_settings"),
        (
            r#"{"segments": [{"device": 0, "device": 0, "address": 0, "total_size": 0, "blocks": []}]}"#.to_owned(),
            "segments[0]",
        ),
    ] {
        assert_eq!(only(&read(&text), kind()), place(at), "{text}");
    }
}

#[test]
fn halves_of_surrogate_pairs() {
    let json = trace(&[("alloc", 1, 8)]).replace(
        r#""stream": 0"#,
        r#""stream": 0, "user_metadata": "\ud800""#,
    );
    assert_eq!(only(&read(&json), WarningKind::InvalidUtf8).0, 1);
    let protocol_0 = b"(dVsegments\n(lsVmine\nVa\\ud800b\ns.";
    let snapshot = decode(&protocol_0[..]).unwrap();
    assert_eq!(only(&snapshot, WarningKind::InvalidUtf8).0, 1);
    assert_eq!(snapshot.extras["mine"], "a\u{fffd}b");
    let bad = b"(dVsegments\n(lsVmine\nS'\\xzz'\ns.";
    assert!(matches!(
        decode(&bad[..]).err().unwrap().kind,
        ErrorKind::Malformed(_)
    ));
}

#[test]
fn bytes_behind_a_container() {
    let pickle = container("protocol4.pickle");
    let [gzip, zstd] = [gzip(&pickle), zstd(&pickle)];
    let zip = container("deflated.zip");
    for file in [gzip, zstd, zip] {
        let padded = decode(&[&file[..], &[0; 512]].concat()[..]).unwrap();
        assert!(padded.warnings.is_empty(), "{:?}", padded.warnings);
        let followed = decode(&[&file[..], b"\0\0rest"].concat()[..]).unwrap();
        let kinds = followed
            .warnings
            .list()
            .iter()
            .map(|warning| warning.kind.clone());
        assert_eq!(kinds.collect::<Vec<_>>(), [WarningKind::TrailingBytes]);
    }
}

#[test]
fn doubled_frees() {
    let [alloc, request, free] = ["alloc", "free_requested", "free_completed"];
    let other = (alloc, 9, 8);
    let found = |actions: &[&'static str]| {
        let events = actions.iter().map(|&action| (action, 1, 8));
        let events: Vec<_> = [other].into_iter().chain(events).collect();
        let snapshot = read(&trace(&events));
        let damage = damage(&snapshot);
        damage.first().map_or(0, |(kind, count, _)| {
            assert_eq!(*kind, WarningKind::FreedTwice);
            *count
        })
    };
    // An allocation from before the recording, and either event left out (`skip_actions`).
    assert_eq!(found(&[request, free, alloc, request, free]), 0);
    assert_eq!(found(&[free, alloc, free, alloc]), 0);
    assert_eq!(found(&[request, alloc, request, alloc]), 0);
    assert_eq!(found(&[free, free, free]), 2);
    assert_eq!(found(&[request, request]), 1);
    assert_eq!(found(&[alloc, request, free, request, free, alloc]), 1);
    // If no alloc was recorded at all, nothing can be concluded.
    let snapshot = read(&trace(&[(free, 1, 8); 3]));
    assert_eq!(damage(&snapshot), []);
}

#[test]
fn doubled_allocations() {
    let found = |actions: &[&'static str]| {
        let events: Vec<_> = actions.iter().map(|&action| (action, 1, 8)).collect();
        damage(&read(&trace(&events)))
    };
    let [alloc, request, free] = ["alloc", "free_requested", "free_completed"];
    assert_eq!(found(&[free, alloc, request, alloc]), []);
    let place = vec!["device_traces[0][1]".to_owned()];
    let expected = [(WarningKind::AllocatedTwice, 1, place)];
    assert_eq!(found(&[alloc, alloc, free]), expected);
    // If no free was recorded, nothing can be concluded.
    assert_eq!(found(&[alloc, alloc, alloc]), []);
}

#[test]
fn settings_and_pools_of_another_shape() {
    let kind = WarningKind::ValuesLeftOut;
    let with = |pool: &str, settings: &str| {
        read(&format!(
            r#"{{"segments": [], "allocator_settings": {settings}, "device_traces": [[
            {{"action": "alloc", "addr": 1, "size": 1, "stream": 0, "pool_id": {pool}}}]]}}"#
        ))
    };
    assert_eq!(damage(&with("[1, 2]", "{}")), []);
    assert_eq!(damage(&with("null", "null")), []);
    for pool in ["[1]", "[1, 2, 3]", r#"["a", 2]"#, r#""0.1""#, "7", "{}"] {
        let found = only(&with(pool, "{}"), kind.clone());
        assert_eq!(
            found,
            (1, vec!["device_traces[0][0].pool_id".to_owned()]),
            "{pool}"
        );
    }
    let segment = r#"{"segments": [{"device": 0, "address": 0, "total_size": 0, "segment_pool_id": 7, "blocks": []}]}"#;
    let (count, places) = only(&read(segment), kind.clone());
    assert_eq!(
        (count, places[0].as_str()),
        (1, "segments[0].segment_pool_id")
    );
    for settings in ["[1]", r#""expandable_segments:True""#, "7"] {
        let found = only(&with("[1, 2]", settings), kind.clone());
        assert_eq!(found, (1, vec!["allocator_settings".to_owned()]));
    }
}

#[test]
fn values_left_out() {
    let kind = WarningKind::ValuesLeftOut;
    let with = |key: &str, value: &str| {
        read(&format!(
            r#"{{"segments": [], "device_traces": [[{{"action": "alloc", "addr": 1, "size": 1, "stream": 0}}]],
            "{key}": {value}}}"#
        ))
    };
    let place = |key: &str| vec![key.to_owned()];
    let fits = format!("[{}]", ["1"; 9_998].join(","));
    assert_eq!(
        damage(&with("allocator_settings", &format!(r#"{{"a": {fits}}}"#))),
        []
    );
    // The last entry of the list does not fit, nor `z`.
    let many = format!(r#"{{"a": [{}], "z": 1}}"#, ["1"; 9_999].join(","));
    let snapshot = with("allocator_settings", &many);
    assert_eq!(
        only(&snapshot, kind.clone()),
        (2, place("allocator_settings"))
    );
    assert!(!snapshot.settings.contains_key("z"));

    let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(damage(&with("mine", &nested(15))), []);
    assert_eq!(
        only(&with("mine", &nested(16)), kind.clone()),
        (1, place("mine"))
    );
    let record = r#"[{"name": "f", "filename": "a.py", "line": 3}]"#;
    assert_eq!(
        only(&with("mine", record), kind.clone()),
        (1, place("mine"))
    );

    let keys: Vec<_> = (0..70)
        .map(|key| format!(r#""key {key}": {key}"#))
        .collect();
    let snapshot = read(&format!(r#"{{"segments": [], {}}}"#, keys.join(",")));
    let places = ["key 64", "key 65", "key 66"].map(str::to_owned).to_vec();
    assert_eq!(only(&snapshot, kind.clone()), (6, places));

    let metadata = trace(&[("alloc", 1, 1)]).replace(
        r#""stream": 0"#,
        &format!(r#""stream": 0, "user_metadata": {{"a": {}}}"#, nested(16)),
    );
    let (count, places) = only(&read(&metadata), kind.clone());
    assert_eq!((count, places), (1, place("device_traces[0][0]")));

    let infinite = Raw::proto(2)
        .op(b'}')
        .op(b'(')
        .text("segments")
        .op(b']')
        .text("mine");
    let infinite = infinite
        .op(b'G')
        .bytes(&f64::INFINITY.to_be_bytes())
        .op(b'u')
        .stop();
    assert_eq!(
        only(&decode(&infinite[..]).unwrap(), kind),
        (1, place("mine"))
    );
}

/// Hundreds of harmless remarks do not crowd out the damage.
#[test]
fn remarks_leave_room() {
    let events = (0..400).map(|at| {
        format!(r#"{{"action": "alloc", "addr": {at}, "size": 1, "stream": 0, "key {at}": 0}}"#)
    });
    let bad = r#"{"action": "alloc", "addr": 500, "size": -1, "stream": 0}"#.to_owned();
    let events: Vec<_> = events.chain([bad]).collect();
    let text = format!(
        r#"{{"segments": [], "device_traces": [[{}]]}}"#,
        events.join(",")
    );
    assert_eq!(only(&read(&text), WarningKind::ImpossibleSize).0, 1);
}

/// A file of allocations, each at another address, with these times; `None` for none.
fn at_times(times: &[Option<i64>]) -> Snapshot {
    let events = times.iter().enumerate().map(|(row, time)| {
        let time = time.map_or(String::new(), |time| format!(r#", "time_us": {time}"#));
        format!(
            r#"{{"action": "alloc", "addr": {}, "size": 8, "stream": 0{time}}}"#,
            64 * row
        )
    });
    let events = events.collect::<Vec<_>>().join(",");
    read(&format!(
        r#"{{"segments": [], "device_traces": [[{events}]]}}"#
    ))
}

#[test]
fn times_that_go_back_or_are_missing() {
    let back = at_times(&[Some(50), Some(40), Some(45), Some(60)]);
    let places = ["device_traces[0][1]", "device_traces[0][2]"]
        .map(str::to_owned)
        .to_vec();
    assert_eq!(only(&back, WarningKind::TimeRunsBackwards), (2, places));
    let missing = at_times(&[Some(50), None, Some(50)]);
    let places = vec!["device_traces[0][1]".to_owned()];
    assert_eq!(only(&missing, WarningKind::TimeMissing), (1, places));
    assert_eq!(damage(&at_times(&[None, None])), []);
}

#[test]
fn actions_that_nobody_knows() {
    let snapshot = read(&trace(&[("alloc", 1, 8), ("free", 1, 8), ("free", 1, 8)]));
    let named = WarningKind::UnknownAction("free".to_owned());
    assert_eq!(only(&snapshot, named.clone()).0, 2);
    assert!(snapshot.warnings.hide_frees());
    // Written again it is counted once, and without the name in a file without names.
    let mut again = Vec::new();
    encode_json(&snapshot, &mut again).unwrap();
    assert_eq!(only(&decode(&again[..]).unwrap(), named).0, 2);
    let nameless = anonymise(&snapshot, &Anonymiser::salted("salt"));
    let unnamed = WarningKind::UnknownAction(String::new());
    assert_eq!(only(&nameless, unnamed).0, 2);
    // No file can make the list long.
    let names: Vec<_> = (0..600).map(|row| format!("a{row}")).collect();
    let events: Vec<_> = names.iter().map(|name| (name.as_str(), 1, 8)).collect();
    let many = read(&trace(&events));
    assert!(many.warnings.list().len() < 300);
    let counted: u64 = many.warnings.damage().map(|warning| warning.count).sum();
    assert_eq!(counted, 600);
}
