//! What a step needs that is like the one before it: what is live when its forward pass begins, and as much more as the step
//! before rose from there.
//!
//! Where that is more than there is, a setting that serves the one request which failed would only let the next one fail.

use super::findings::FailedRequest;
use crate::analysis::recording::Device;
use crate::analysis::roles::Phase;
use crate::units::Bytes;

/// A step that does not fit.
pub(super) struct NextStep {
    /// What it needs, if it is like the step before.
    pub(super) needed_bytes: u64,
    there_bytes: u64,
}

impl NextStep {
    /// The step in which a request failed; `None` if a step like the one before would fit, or the file does not tell.
    pub(super) fn of(device: Device<'_>, failure: &FailedRequest) -> Option<Self> {
        if failure.device_free_bytes.is_none() {
            return None;
        }
        let steps = &device.steps()?.steps;
        let now = steps.partition_point(|step| step.moments.1 < failure.moment);
        let before = now.checked_sub(1).and_then(|at| steps.get(at))?;
        let begin = steps
            .get(now)
            .map_or(before.moments.1, |step| step.moments.0);
        let live_at_start = |from: u32| {
            let ranges = &device.phases().ranges;
            let mut passes = ranges.iter().filter(|range| range.phase == Phase::Forward);
            let first = passes
                .find(|range| range.from >= from)
                .map(|range| range.from);
            device.history.active_bytes_at(first.unwrap_or(from))
        };
        let peak_bytes = before.totals.peak_bytes;
        let rise = peak_bytes.saturating_sub(live_at_start(before.moments.0));
        let found = Self {
            needed_bytes: live_at_start(begin)
                .min(device.history.active_bytes_at(failure.moment))
                .saturating_add(rise),
            there_bytes: failure.reachable_bytes(),
        };
        (found.needed_bytes > found.there_bytes).then_some(found)
    }

    /// One line.
    pub(super) fn title(&self) -> String {
        format!(
            "A step like the one before needs {}, {} more than is there",
            Bytes(self.needed_bytes),
            Bytes(self.needed_bytes - self.there_bytes)
        )
    }
}
