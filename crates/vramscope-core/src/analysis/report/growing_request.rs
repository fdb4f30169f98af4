//! A request that failed as the next of a series: the same code asks for more each time, as when concatenating to the
//! previous result.

use super::causes::{Cause, CauseClass};
use super::findings::FailedRequest;
use super::names::named;
use crate::analysis::recording::Device;
use crate::analysis::roles::Role;
use crate::analysis::time::history::NEVER;
use crate::units::{Bytes, Count};

/// Fewest requests of a series, the failed one included.
const FEWEST: usize = 4;

/// The least step: the request divided by this number.
const LEAST_PART: u64 = 128;

/// A series of growing requests.
pub(super) struct GrowingRequest {
    /// Number of requests, the failed one included.
    count: usize,
    /// Bytes by which the last request exceeded the previous one.
    step_bytes: u64,
    /// The size of the failed request.
    pub(super) bytes: u64,
    pub(super) place: String,
}

impl GrowingRequest {
    /// The series that a failed request ends, if the previous result is still live.
    pub(super) fn of(device: Device<'_>, failure: &FailedRequest) -> Option<Self> {
        if !failure.stack.has_frames() {
            return None;
        }
        let table = &device.history.allocations;
        let stacks = device.stack_of();
        let made = 0..table.born.partition_point(|&born| born < failure.moment);
        let same: Vec<usize> = made.filter(|&row| stacks[row] == failure.stack).collect();
        let &last = same.last()?;
        let mut sizes: Vec<u64> = same.iter().map(|&row| table.bytes[row]).collect();
        sizes.push(failure.requested_bytes);
        let step_bytes = failure.requested_bytes.checked_sub(table.bytes[last])?;
        // The steps are about as large as the last.
        let is_such = |pair: &&[u64]| {
            let step = pair[1].saturating_sub(pair[0]);
            step.saturating_mul(2) >= step_bytes && step <= step_bytes.saturating_mul(2) && step > 0
        };
        let count = sizes.windows(2).rev().take_while(is_such).count() + 1;
        let is_much = step_bytes.saturating_mul(LEAST_PART) >= failure.requested_bytes;
        let is_live = table.died[last] > failure.moment && table.free_requested[last] == NEVER;
        let is_cache = device.rule_of()[last].role() == Role::KvCache;
        if count < FEWEST || !is_much || !is_live || is_cache {
            return None;
        }
        let sites = device.call_sites();
        Some(Self {
            count,
            step_bytes,
            bytes: failure.requested_bytes.saturating_add(table.bytes[last]),
            place: sites.get(sites.of_stack(failure.stack)).label.clone(),
        })
    }

    /// One line.
    fn title(&self) -> String {
        format!(
            "Each request at {} is larger than the one before, the last by {}",
            named(&self.place),
            Bytes(self.step_bytes)
        )
    }

    /// What it may mean.
    fn explanation(&self) -> String {
        format!(
            "{} requests of the same code grew, and the one that failed is the next: as when results are concatenated to \
             all previous ones. The old one is live while the new one is made.",
            Count(self.count as u64)
        )
    }
}

impl From<GrowingRequest> for Cause {
    fn from(series: GrowingRequest) -> Self {
        Self {
            seen: series.explanation(),
            advice:
                "Move collected results to the CPU as they come, or keep only what is needed of them."
                    .to_owned(),
            place: series.place.clone(),
            ..Self::new(CauseClass::GrowthPerStep, series.bytes, series.title())
        }
    }
}
