//! Names of moments in a recording with annotated ranges.

use super::*;
use crate::analysis::recording::Recording;
use crate::decode;

const FILE: &[u8] =
    include_bytes!("../../../../../../tests/fixtures/torch-2.15.0/named_ranges.pickle");

fn with_device(check: impl Fn(Device<'_>)) {
    let recording = Recording::of(decode(FILE).unwrap());
    check(recording.device(0).unwrap());
}

#[test]
fn words_numbers_and_times() {
    with_device(|device| {
        let last = device.history.event_count;
        assert_eq!(moment("peak", device), Ok(device.history.peak_moment));
        assert_eq!(moment(" END ", device), Ok(last));
        assert_eq!(moment("start", device), Ok(0));
        assert_eq!(moment("12", device), Ok(12));
        assert!(!moment("1000h", device).unwrap_err().is_usage());
        let times = &device.history.moment_start_us;
        let length_us = times.last().unwrap() - times.first().unwrap();
        assert_eq!(moment(&format!("{length_us}us"), device), Ok(last));
        assert!(!moment("99,999,999", device).unwrap_err().is_usage());
        assert!(!moment("oom", device).unwrap_err().is_usage());
        assert!(moment("", device).unwrap_err().is_usage());
        assert_eq!(range("..", device), Ok((0, last)));
        assert_eq!(range("all", device), Ok((0, last)));
        assert_eq!(range("3..7", device), Ok((3, 7)));
        assert!(range("7..3", device).is_err());
    });
}

#[test]
fn annotations_by_name_place_and_edge() {
    with_device(|device| {
        let Some(any) = all(device).next() else {
            panic!("the fixture has annotations");
        };
        let name = any.name.text(&device.snapshot().strings).to_owned();
        let named = ranges_named(
            &Pattern {
                text: name.clone(),
                is_literal: true,
                is_whole: true,
            },
            device,
            |name| name,
        );
        let first = named.iter().map(|range| range.from).min().unwrap();
        let quoted = format!("\"{name}\"");
        assert_eq!(moment(&format!("{quoted}:start"), device), Ok(first));
        let whole = range(&quoted, device).unwrap();
        assert_eq!(whole.0, first);
        assert_eq!(moment(&quoted, device), Ok(whole.1));
        assert_eq!(range(&format!("{quoted}..{quoted}"), device), Ok(whole));
        let peak = moment(&format!("{quoted}:peak"), device).unwrap();
        assert!(whole.0 <= peak && peak <= whole.1);
        let beyond = format!("{quoted}[{}]", named.len() + 1);
        assert!(moment(&beyond, device).is_err());
        assert!(
            moment(&format!("{quoted}[0]"), device)
                .unwrap_err()
                .is_usage()
        );
        assert!(moment(&format!("{quoted}[-1]"), device).is_ok());
    });
}

#[test]
fn what_decorates_a_name_need_not_be_written() {
    let file = include_bytes!("../../../../../../tests/fixtures/torch-2.11.0/compiled.pickle.gz");
    let recording = Recording::of(decode(&file[..]).unwrap());
    let device = recording.device(0).unwrap();
    let whole = range("## forward ##[2]", device).unwrap();
    assert_eq!(range("forward[2]", device), Ok(whole));
    assert!(range("\"forward\"", device).is_err());
}

#[test]
fn what_is_in_quotes_is_a_name() {
    with_device(|device| {
        assert_eq!(split_range("\"a..b\""), None);
        assert_eq!(split_range("\"a..b\"..3"), Some(("\"a..b\"", "3")));
        let error = moment("\"oom\"", device).unwrap_err().to_string();
        assert!(error.contains("no annotation"), "{error}");
    });
}
