//! Parts of profiles, which have no segments: none may appear in them.

use vramscope_core::Snapshot;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::analysis::report::facts::{FactKind, facts};
use vramscope_core::anonymise::{Anonymiser, anonymise};
use vramscope_core::cut::{Piece, cut};
use vramscope_core::encode::difference;
use vramscope_core::model::Profile;

use super::{decode, texts};

fn of(snapshot: &Snapshot, moments: (u32, u32)) -> Snapshot {
    let recording = Recording::of(snapshot.clone());
    let pieces: Vec<_> = recording
        .devices()
        .map(|device| Piece { device, moments })
        .collect();
    cut(&recording, &pieces)
}

/// Number of events carried over, as stated for each device.
fn carried(snapshot: &Snapshot) -> Vec<u64> {
    let facts = facts(&Recording::of(snapshot.clone()));
    let carried = facts.iter().filter_map(|fact| match fact.kind {
        FactKind::CarriedOver { events } => Some(events),
        _ => None,
    });
    carried.collect()
}

#[test]
fn a_part_has_no_segments_and_the_same_peak() {
    for kind in ["training", "plain", "timeline"] {
        for (name, text) in texts(kind) {
            let whole = Recording::of(decode(text.as_bytes()).unwrap());
            let count = whole.devices().next().unwrap().history.event_count;
            let (from, to) = (count / 3, count / 3 * 2);
            let part = of(&whole.snapshot, (from, to));
            assert!(
                part.segments.rows.is_empty() && part.blocks.is_empty(),
                "{name}"
            );
            let carried = carried(&part);
            assert!(!carried.is_empty(), "{name}");
            let profile = Profile::of(&part).unwrap();
            let known = |place: usize| profile.devices[place].peak_reserved_bytes;
            assert_eq!(known(0), None, "{name}: the peak may lie elsewhere");
            let again = Recording::of(part.clone());
            for (before, after) in whole.devices().zip(again.devices()) {
                let live = &before.history.active_bytes;
                let (from, to) = (
                    from.min(live.len() as u32 - 1),
                    to.min(live.len() as u32 - 1),
                );
                let live = &live[from as usize..=to as usize];
                assert_eq!(Some(&after.peak_bytes()), live.iter().max(), "{name}");
                assert_eq!(after.history.active_bytes.last(), live.last(), "{name}");
                assert!(after.is_without_segments(), "{name}");
            }
            // The whole of a part is that part, and a part of a part carries over the same as a part of the whole.
            assert_eq!(difference(&of(&part, (0, u32::MAX)), &part), None, "{name}");
            let hidden = anonymise(&part, &Anonymiser::new([7; 32]));
            assert_eq!(self::carried(&hidden), carried, "{name}");
        }
    }
}

#[test]
fn the_whole_of_a_profile_stays_as_it_is() {
    for kind in ["training", "timeline"] {
        for (name, text) in texts(kind) {
            let whole = decode(text.as_bytes()).unwrap();
            let same = of(&whole, (0, u32::MAX));
            assert_eq!(difference(&whole, &same), None, "{name}");
            assert_eq!(carried(&same), Vec::<u64>::new(), "{name}");
            assert_eq!(Profile::of(&same), Profile::of(&whole), "{name}");
        }
    }
}
