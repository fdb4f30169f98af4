//! Moments with a name: ends of steps and of annotations, failed allocations.

use vramscope_core::analysis::time::lanes::LaneKind;

use super::super::super::document::{Device, Document};
use crate::protocol::views::compare::{NamedMoment, NamedMoments};

/// Most moments of a list that someone picks from by eye.
const MOST: usize = 400;
/// Longest name, in characters.
const NAME_CHARS: usize = 60;

/// The named moments of a device: where steps end, else where the outermost annotations do; and failed
/// allocations.
pub(super) fn named(document: &Document, device: Device<'_>) -> NamedMoments {
    let (snapshot, history) = (&document.snapshot, device.history);
    let mut found: Vec<(u32, String)> = Vec::new();
    let name = |id| snapshot.strings.get(id);
    match device.steps() {
        Some(steps) => found.extend(
            (steps.steps.iter())
                .map(|step| (step.moments.1, format!("end of {}", short(name(step.name))))),
        ),
        None => {
            let lanes = device.lanes();
            let kinds = [LaneKind::Annotations, LaneKind::UserMetadata];
            let outermost = kinds
                .into_iter()
                .flat_map(|kind| lanes.of_kind(kind))
                .filter_map(|lane| lane.rows.first());
            found.extend(
                outermost
                    .flatten()
                    .map(|range| (range.to, format!("end of {}", short(name(range.name))))),
            );
        }
    }
    let failed = device.failed_requests().iter();
    found.extend(failed.map(|&moment| (moment, "out of memory".to_owned())));
    found.sort();
    found.dedup();
    let left_out = found.len().saturating_sub(MOST);
    // The last ones are what one looks for: a run that ends badly ends there.
    found.drain(..left_out);
    NamedMoments {
        device: history.device,
        moments: (found.into_iter())
            .map(|(moment, name)| NamedMoment { moment, name })
            .collect(),
        left_out: left_out as u32,
    }
}

fn short(name: &str) -> String {
    let mut text: String = name.chars().take(NAME_CHARS).collect();
    if text.len() < name.len() {
        text.push('…');
    }
    text
}
