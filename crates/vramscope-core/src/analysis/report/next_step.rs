//! The needs of a step that is like the previous one: the live memory at the beginning of its forward pass, plus the
//! rise from there in the previous step.
//!
//! If that exceeds the device, a setting that serves the one failed request would only let the next one fail.

use super::findings::FailedRequest;
use super::summary::saturating_sum;
use crate::analysis::groups::live_at::live_at;
use crate::analysis::recording::Device;
use crate::analysis::roles::{Phase, Role};
use crate::ids::AllocationId;
use crate::units::Bytes;

/// A step that does not fit.
pub(super) struct NextStep {
    /// The bytes that it needs, if it is like the previous step.
    pub(super) needed_bytes: u64,
    there_bytes: u64,
}

impl NextStep {
    /// The step in which a request failed; `None` if a step like the previous one would fit, the file does not show it,
    /// or the first forward passes of the two do not begin with the same code.
    pub(super) fn of(device: Device<'_>, failure: &FailedRequest) -> Option<Self> {
        failure.device_free_bytes?;
        let steps = &device.steps()?.steps;
        let now = steps.partition_point(|step| step.moments.1 < failure.moment);
        let (from, to) = now.checked_sub(1).and_then(|at| steps.get(at))?.moments;
        let before = first_pass(device, from, to)?;
        let begin = first_pass(device, to, failure.moment)?;
        if device.stack_after(before) != device.stack_after(begin) {
            return None;
        }
        let history = device.history;
        // The optimizer's first step makes state that the next one already has.
        let optimizer = (device.phases().ranges.iter())
            .find(|range| range.phase == Phase::Optimizer && range.from >= before);
        let end = optimizer.map_or(to, |range| range.from.min(to));
        let passes = history.active_bytes.get(before as usize..=end as usize)?;
        let rise = (passes.iter().max()?).saturating_sub(history.active_bytes_at(before));
        // Remaining gradients are added to, or freed before there are new ones.
        let left = gradients(device, begin).saturating_sub(gradients(device, before));
        let found = Self {
            needed_bytes: (history.active_bytes_at(begin))
                .saturating_sub(left)
                .saturating_add(rise),
            there_bytes: failure.reachable_bytes(),
        };
        (found.needed_bytes > found.there_bytes).then_some(found)
    }

    /// One line.
    pub(super) fn title(&self) -> String {
        format!(
            "A step like the one before needs {}, {} more than there is",
            Bytes(self.needed_bytes),
            Bytes(self.needed_bytes - self.there_bytes)
        )
    }
}

/// The moment before the first forward pass that begins between two moments.
fn first_pass(device: Device<'_>, from: u32, to: u32) -> Option<u32> {
    let mut ranges = device.phases().ranges.iter();
    let first = ranges.find(|range| range.phase == Phase::Forward && range.from >= from)?;
    (first.from < to).then_some(first.from)
}

fn gradients(device: Device<'_>, moment: u32) -> u64 {
    let rules = device.rule_of();
    let live = live_at(device.history, moment).map(AllocationId::index);
    let gradients = live.filter(|&row| rules[row].role() == Role::Gradient);
    saturating_sum(gradients.map(|row| device.history.allocations.bytes[row]))
}
