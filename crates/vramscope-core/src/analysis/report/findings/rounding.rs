//! Finding: blocks are larger than their requests.

use super::words::{at_moment, at_peak, percent};
use super::{Evidence, Finding, FindingKind, Material, Severity, is_notable};
use crate::analysis::memory::capture::AllocatorKind;
use crate::units::Bytes;

/// Minimum share of reserved memory.
const SHARE_PERCENT: u64 = 5;

pub(super) fn find(material: Material<'_>) -> Option<Finding> {
    let history = material.device.history;
    let gap = material.at_peak;
    if !is_notable(gap.rounding_bytes, SHARE_PERCENT, gap.reserved_bytes) {
        return None;
    }
    let is_driver = material.config.allocator == AllocatorKind::Driver;
    let rounds = material.config.rounds_to_power2 == Some(true);
    let limits = material.config.max_split_bytes.is_some();
    Some(Finding {
        kind: FindingKind::Rounding,
        severity: Severity::Warning,
        bytes: gap.rounding_bytes,
        title: format!("Rounding takes {}", Bytes(gap.rounding_bytes)),
        seen: format!(
            "{}{}: blocks in use are {} larger than what was requested, {} of all \
             reserved memory. Sizes of blocks that were freed since are derived from the allocator's rules.",
            at_moment(history, gap.moment),
            at_peak(history),
            Bytes(gap.rounding_bytes),
            percent(gap.rounding_bytes, gap.reserved_bytes)
        ),
        figures: Vec::new(),
        may_mean: match (rounds, limits) {
            _ if is_driver => "The driver aligns to 512 bytes, and rows of pitched memory further. With many small allocations that adds up.",
            (true, _) => "roundup_power2_divisions is set: requests are aligned to more than 512 bytes.",
            (_, true) => "max_split_size is set: larger blocks are given whole.",
            _ => "A free block that is up to 1 MiB larger than a large request is given whole. With many requests of a \
                  few MiB that adds up.",
        }
        .to_owned(),
        setting: None,
        to_try: vec![if is_driver {
            "Fewer, larger allocations.".to_owned()
        } else if rounds {
            "More divisions (roundup_power2_divisions:8 or 16), or none.".to_owned()
        } else if limits {
            "A larger max_split_size_mb, or none.".to_owned()
        } else {
            "expandable_segments:True splits blocks exactly; or fewer, larger allocations.".to_owned()
        }],
        tables: Vec::new(),
        evidence: vec![Evidence::state(gap.moment)],
    })
}
