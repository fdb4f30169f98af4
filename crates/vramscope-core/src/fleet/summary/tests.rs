//! Compares summaries with the files that they are made from.

use vramscope_synth::files::fixtures_in;

use super::*;
use crate::analysis::recording::Recording;

/// The summaries of genuine files add up to the contents of the files.
#[test]
fn summaries_agree_with_their_files() {
    let mut ranks = 0;
    for file in fixtures_in("torch-2.15.0") {
        let Ok(snapshot) = crate::decode(&file.bytes[..]) else {
            continue;
        };
        let recording = Recording::of(snapshot);
        let fleet = |detail| {
            let devices = recording.devices();
            Fleet::of(&Place::default(), &Source::default(), devices, detail)
        };
        let (short, all) = (fleet(Detail::Peak), fleet(Detail::All));
        assert_eq!(short.ranks.len(), all.ranks.len(), "{}", file.name);
        for (short, rank) in short.ranks.iter().zip(&all.ranks) {
            ranks += 1;
            let name = &file.name;
            let device = recording.device(rank.device).unwrap();
            let sum = |of: fn(&Site) -> u64| rank.sites.iter().map(of).sum::<u64>();
            assert_eq!(sum(|site| site.peak.bytes), rank.peak_bytes, "{name}");
            assert_eq!(sum(|site| site.end_bytes), rank.end_bytes, "{name}");
            assert_eq!(rank.peak_bytes, device.peak_bytes(), "{name}");
            assert_eq!(short.peak_bytes, rank.peak_bytes, "{name}");
            assert_eq!(short.curve.highest, rank.curve.highest, "{name}");
            assert_eq!(rank.failures.is_empty(), rank.ooms == 0, "{name}");
            // Rounded up, by less than a unit.
            let curve = &rank.curve;
            let top = |levels: &[u16]| curve.bytes(levels.iter().copied().max().unwrap_or(0));
            for (levels, bytes) in [
                (&curve.highest, rank.peak_bytes),
                (&curve.reserved, rank.peak_reserved_bytes),
            ] {
                let rounded = bytes..bytes + curve.unit_bytes;
                assert!(rounded.contains(&top(levels)), "{name}: {rounded:?}");
            }
            let bins = curve.lowest.iter().zip(&curve.highest);
            assert!(bins.clone().all(|(low, high)| low <= high), "{name}");
            assert!(bins.len() <= Curve::BINS);
        }
    }
    assert!(ranks > 5);
}

/// A slow, obvious version of a curve: each bin looks at all moments that touch it.
#[test]
fn bins_hold_what_moments_touch_them() {
    let active = vec![5_u64, 90, 4000, 17, 17, 300, 12];
    // Moment 0 is the state before the first event, at its time.
    let starts = [100, 100, 130, 131, 400, 699, 1100];
    let history = History {
        event_count: 6,
        active_bytes: active.clone(),
        moment_start_us: starts.iter().copied().collect(),
        ..History::default()
    };
    let history = History {
        peak_moment: 2,
        ..history
    };
    let curve = Curve::of(&history);
    assert_eq!((curve.unit_bytes, curve.length), (1, 1000));
    assert_eq!(curve.lowest.len(), Curve::BINS);
    assert!(curve.reserved.is_empty());
    let bin_of = |time: u64| (time * 256 / 1000).min(255);
    for bin in 0..256 {
        let touching = (0..active.len()).filter(|&moment| {
            let from = starts[moment].abs_diff(100);
            let end = starts
                .get(moment + 1)
                .map_or(1000, |next| next.abs_diff(100));
            let last = end.saturating_sub(1).max(from);
            (bin_of(from)..=bin_of(last)).contains(&bin)
        });
        let values: Vec<u64> = touching.map(|moment| active[moment]).collect();
        let at = bin as usize;
        assert_eq!(
            Some(&u64::from(curve.lowest[at])),
            values.iter().min(),
            "{bin}"
        );
        assert_eq!(
            Some(&u64::from(curve.highest[at])),
            values.iter().max(),
            "{bin}"
        );
    }
}
