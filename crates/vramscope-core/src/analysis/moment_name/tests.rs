//! Names of moments in a recording with annotated ranges.

use super::*;
use crate::decode;

const FILE: &[u8] =
    include_bytes!("../../../../../tests/fixtures/torch-2.15.0/named_ranges.pickle");

fn with_clock(check: impl Fn(Clock<'_>)) {
    let snapshot = decode(FILE).unwrap();
    let history = History::of(&snapshot, 0);
    let lanes = Lanes::of(&snapshot, &history);
    let sums = RangeSums::of(&history);
    check(Clock {
        snapshot: &snapshot,
        history: &history,
        lanes: &lanes,
        sums: &sums,
    });
}

#[test]
fn words_numbers_and_times() {
    with_clock(|clock| {
        let last = clock.history.event_count;
        assert_eq!(moment("peak", clock), Ok(clock.history.peak_moment));
        assert_eq!(moment(" END ", clock), Ok(last));
        assert_eq!(moment("start", clock), Ok(0));
        assert_eq!(moment("12", clock), Ok(12));
        assert_eq!(moment("1000h", clock), Ok(last));
        assert!(!moment("99,999,999", clock).unwrap_err().is_usage());
        assert!(!moment("oom", clock).unwrap_err().is_usage());
        assert!(moment("", clock).unwrap_err().is_usage());
        assert_eq!(range("..", clock), Ok((0, last)));
        assert_eq!(range("all", clock), Ok((0, last)));
        assert_eq!(range("3..7", clock), Ok((3, 7)));
        assert!(range("7..3", clock).is_err());
    });
}

#[test]
fn annotations_by_name_place_and_edge() {
    with_clock(|clock| {
        let Some(any) = all(clock).next() else {
            panic!("the fixture has annotations");
        };
        let name = clock.snapshot.strings.get(any.name).to_owned();
        let named = ranges_named(
            &Pattern {
                text: name.clone(),
                is_literal: true,
                is_whole: true,
            },
            clock,
        );
        let first = named.iter().map(|range| range.from).min().unwrap();
        let quoted = format!("\"{name}\"");
        assert_eq!(moment(&format!("{quoted}:start"), clock), Ok(first));
        let whole = range(&quoted, clock).unwrap();
        assert_eq!(whole.0, first);
        assert_eq!(moment(&quoted, clock), Ok(whole.1));
        assert_eq!(range(&format!("{quoted}..{quoted}"), clock), Ok(whole));
        let peak = moment(&format!("{quoted}:peak"), clock).unwrap();
        assert!(whole.0 <= peak && peak <= whole.1);
        let beyond = format!("{quoted}[{}]", named.len() + 1);
        assert!(moment(&beyond, clock).is_err());
        assert!(
            moment(&format!("{quoted}[0]"), clock)
                .unwrap_err()
                .is_usage()
        );
        assert!(moment(&format!("{quoted}[-1]"), clock).is_ok());
    });
}

#[test]
fn what_is_in_quotes_is_a_name() {
    with_clock(|clock| {
        assert_eq!(split_range("\"a..b\""), None);
        assert_eq!(split_range("\"a..b\"..3"), Some(("\"a..b\"", "3")));
        let error = moment("\"oom\"", clock).unwrap_err().to_string();
        assert!(error.contains("no annotation"), "{error}");
    });
}
