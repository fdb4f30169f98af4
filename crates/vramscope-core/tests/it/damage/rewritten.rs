//! Damage in files that are written from a damaged file.

use vramscope_core::cut::{Piece, cut};

use super::*;

#[test]
fn what_is_written_says_so() {
    let mut file = gzip(trace(&[("alloc", 1, -5), ("free_completed", 1, -5)]).as_bytes());
    let check_sum = file.len() - 8;
    file[check_sum] ^= 1;
    let first = decode(&file[..]).unwrap();
    let before = damage(&first);
    let kinds: Vec<_> = before
        .iter()
        .map(|(kind, count, _)| (kind.clone(), *count))
        .collect();
    assert_eq!(
        kinds,
        [
            (WarningKind::CheckSumWrong, 1),
            (WarningKind::ImpossibleSize, 2)
        ]
    );
    for again in written(&first) {
        assert_eq!(damage(&again), before);
        assert!(again.extras.is_empty(), "{:?}", again.extras);
        for again in written(&again) {
            assert_eq!(damage(&again), before, "after two writings");
        }
    }

    // A list of segments has no place for damage, so it becomes a dict.
    let list = r#"[{"device": 0, "address": 512, "total_size": -5, "blocks": []}]"#;
    let list = decode(list.as_bytes()).unwrap();
    for again in written(&list) {
        assert_eq!(damage(&again), damage(&list));
    }

    // Parts, and files without names, have the kinds and counts of the whole.
    let recording = Recording::of(first);
    let device = recording.devices().next().unwrap();
    let moments = (0, 0);
    let part = cut(&recording, &[Piece { device, moments }]);
    let nameless = anonymise(&recording.snapshot, &Anonymiser::salted("salt"));
    for made in [part, nameless].iter().flat_map(written) {
        let found: Vec<_> = damage(&made)
            .into_iter()
            .map(|(kind, count, _)| (kind, count))
            .collect();
        assert_eq!(found, kinds);
    }
}

/// `damage` in a file is untrusted input, too.
#[test]
fn what_a_file_says_of_itself_is_bounded() {
    let place = "x".repeat(40_000);
    let text = format!(
        r#"{{"segments": [], "damage": [{{"kind": "freed_twice", "count": 3, "places": ["{place}", "a", "b", "c", "d"]}},
        {{"kind": "not_known_yet", "count": 1, "places": []}}, {{"kind": "unknown_key", "detail": "k", "count": 1, "places": []}}, 7]}}"#
    );
    let snapshot = read(&text);
    let places = ["a", "b", "c"].map(str::to_owned).to_vec();
    assert_eq!(only(&snapshot, WarningKind::FreedTwice), (3, places));
    assert_eq!(snapshot.warnings.list().len(), 1);
    // A key of that name written by others is stored like any other.
    assert_eq!(
        read(r#"{"segments": [], "damage": "none"}"#).extras["damage"],
        "none"
    );
}
