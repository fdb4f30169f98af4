//! The moments of a recording that have a name: ends of steps or annotations, and failed allocations.

use serde::{Deserialize, Serialize};

use crate::analysis::recording::Device;
use crate::analysis::time::lanes::LaneKind;
use crate::model::DeviceIndex;
use crate::sorting::SortFew;

/// The most moments in a list to pick from by eye.
const MOST: usize = 400;
/// The longest name, in characters.
const NAME_CHARS: usize = 60;

/// The named moments of a device.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct NamedMoments {
    /// The device.
    pub device: DeviceIndex,
    /// In order of time; if there are too many, the last ones.
    pub moments: Vec<NamedMoment>,
    /// Number of moments left out at the beginning.
    pub left_out: u32,
}

/// A moment with its name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct NamedMoment {
    /// The state after this many events.
    pub moment: u32,
    /// E.g. `end of ProfilerStep#3`.
    pub name: String,
}

/// The ends of a device's steps, or of its outermost annotations if it has no steps, and its failed allocations.
#[must_use]
pub fn named_moments(device: Device<'_>) -> NamedMoments {
    let strings = &device.snapshot().strings;
    let end_of = |moment, name: &str| NamedMoment {
        moment,
        name: format!("end of {}", short(name)),
    };
    let mut found: Vec<NamedMoment> = match device.steps() {
        Some(steps) => (steps.steps.iter())
            .map(|step| end_of(step.moments.1, &step.title(strings)))
            .collect(),
        None => {
            let kinds = [LaneKind::Annotations, LaneKind::UserMetadata].into_iter();
            let lanes = kinds.flat_map(|kind| device.lanes().of_kind(kind));
            let outermost = lanes.filter_map(|lane| lane.rows.first()).flatten();
            outermost
                .map(|range| end_of(range.to, range.name.text(strings)))
                .collect()
        }
    };
    let failed = device.oom_moments().iter();
    found.extend(failed.map(|&moment| NamedMoment {
        moment,
        name: "out of memory".to_owned(),
    }));
    found.sort_few_by(Ord::cmp);
    found.dedup();
    let left_out = found.len().saturating_sub(MOST);
    // A run that ends badly is examined from its end.
    found.drain(..left_out);
    NamedMoments {
        device: device.index(),
        moments: found,
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
