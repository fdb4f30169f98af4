//! Finding: segments are completely free at the peak of active memory.

use super::words::{at_moment, at_peak, has_trace, percent};
use super::{Evidence, Finding, FindingKind, Material, Severity, is_notable};
use crate::analysis::memory::capture::AllocatorKind;
use crate::units::Bytes;

/// Minimum share of reserved memory.
const SHARE_PERCENT: u64 = 10;

pub(super) fn find(material: Material<'_>) -> Option<Finding> {
    let history = material.device.history;
    let gap = material.at_peak;
    if !is_notable(gap.empty_bytes, SHARE_PERCENT, gap.reserved_bytes) {
        return None;
    }
    Some(Finding {
        kind: FindingKind::Cached,
        severity: Severity::Note,
        bytes: gap.empty_bytes,
        title: format!(
            "{} {}",
            Bytes(gap.empty_bytes),
            match has_trace(history) {
                // The peak before the recording may have been higher.
                true if history.reserved_bytes(0) > 0 => "stay cached even at the recorded peak",
                true => "stay cached even at the peak",
                false => "are cached",
            }
        ),
        seen: format!(
            "{}{}: segments of {} ({} of all reserved) hold nothing.",
            at_moment(history, gap.moment),
            at_peak(history),
            Bytes(gap.empty_bytes),
            percent(gap.empty_bytes, gap.reserved_bytes)
        ),
        figures: Vec::new(),
        may_mean: match material.config.allocator {
            AllocatorKind::Torch => "An earlier peak before the recording, or requests of sizes that no longer come. PyTorch \
                   gives such segments back by itself before a request of its own fails; other processes on the device do \
                   not get them.",
            AllocatorKind::Driver => "A memory pool keeps what was freed until the next synchronize, and up to its release \
                   threshold (CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) beyond that; other processes on the device do not get it.",
        }
        .to_owned(),
        setting: None,
        to_try: vec![match material.config.allocator {
            AllocatorKind::Torch => "torch.cuda.empty_cache() once after the phase that needed them, if others need the memory.",
            AllocatorKind::Driver => "cuMemPoolTrimTo(pool, 0) after a synchronize, once the phase that needed it is over, if \
                   others need the memory; or a lower release threshold.",
        }
        .to_owned()],
        tables: Vec::new(),
        evidence: vec![Evidence::state(gap.moment)],
    })
}
