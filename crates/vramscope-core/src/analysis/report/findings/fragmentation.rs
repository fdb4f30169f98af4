//! Finding: free memory is scattered between active blocks. It can neither serve a large request nor be released to
//! CUDA.

use super::words::{at_moment, at_peak, counted, has_trace, percent};
use super::{
    Evidence, EvidenceOf, Finding, FindingKind, FindingRow, FindingTable, Material, ROWS,
    SettingAdvice, Severity, is_notable,
};
use crate::analysis::groups::grouping::GroupColumn;
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::memory::gap::Gap;
use crate::analysis::properties::Property;
use crate::analysis::report::fragmentation::pinned;
use crate::units::Bytes;

/// Minimum share of reserved memory.
const SHARE_PERCENT: u64 = 10;

pub(super) fn find(material: Material<'_>) -> Option<Finding> {
    let history = material.device.history;
    let most_reserved = material.at_reserved_peak.reserved_bytes;
    // Fragmentation matters at a peak. At the end it may be temporary, so it is only a note, and only if it is large
    // compared to the peak of reserved memory.
    let found = [
        (
            material.at_peak,
            material.at_peak.reserved_bytes,
            at_peak(history),
            Severity::Warning,
        ),
        (
            material.at_reserved_peak,
            most_reserved,
            ", when most was reserved",
            Severity::Warning,
        ),
        (
            material.at_end,
            most_reserved,
            ", at the end",
            Severity::Note,
        ),
    ];
    // The largest free block can serve the largest request, so only the others count.
    let notable = |gap: &Gap, whole| is_notable(gap.scattered_bytes(), SHARE_PERCENT, whole);
    let mut found = found.into_iter();
    let (gap, _, when, severity) = found.find(|&(gap, whole, ..)| notable(gap, whole))?;
    Some(Finding {
        kind: FindingKind::Fragmentation,
        severity: match has_trace(history) {
            true => severity,
            false => Severity::Note,
        },
        bytes: gap.scattered_bytes(),
        title: format!(
            "Fragmentation: {} lie free in pieces between memory in use",
            Bytes(gap.scattered_bytes())
        ),
        seen: format!(
            "{}{when}: {} of {} reserved ({}) were free in {}, in segments that are partly in use, beside the \
             largest piece of {}.",
            at_moment(history, gap.moment),
            Bytes(gap.scattered_bytes()),
            Bytes(gap.reserved_bytes),
            percent(gap.scattered_bytes(), gap.reserved_bytes),
            counted(gap.holes.saturating_sub(1), "piece"),
            Bytes(gap.largest_hole_bytes)
        ),
        figures: Vec::new(),
        may_mean: may_mean(material.config.allocator).to_owned(),
        setting: setting(material),
        to_try: to_try(material.config.allocator)
            .iter()
            .map(|&text| text.to_owned())
            .collect(),
        tables: vec![holders(material, gap.moment)],
        evidence: vec![
            Evidence::state(gap.moment),
            Evidence::moment("how it came to be", EvidenceOf::Addresses, gap.moment),
        ],
    })
}

/// The call sites whose allocations keep segments that are at least half free.
fn holders(material: Material<'_>, moment: u32) -> FindingTable {
    let sites = GroupColumn::of(material.device, Property::CallSite, 1);
    let (_, holders) = pinned(&material.device.state_at(moment), &sites, true);
    let rows = holders.iter().take(ROWS).map(|holder| FindingRow {
        label: sites.labels[holder.group as usize].clone(),
        site: None,
        bytes: holder.stuck_bytes,
        count: holder.segments,
        remark: format!(
            "free beside {} in {}",
            Bytes(holder.held_bytes),
            counted(holder.allocations, "allocation")
        ),
    });
    FindingTable {
        title: "Whose allocations keep segments that are mostly free".to_owned(),
        counted: "segments".to_owned(),
        rows: rows.collect(),
    }
}

fn may_mean(allocator: AllocatorKind) -> &'static str {
    match allocator {
        AllocatorKind::Torch => {
            "A request larger than the largest piece needs new memory from the device although that much is free, and \
             empty_cache() cannot give pieces of a fixed segment back. Some of it is normal: smaller requests to come \
             will use it."
        }
        AllocatorKind::Driver => {
            "In a memory pool, a request larger than the largest piece makes the driver map more although that much is \
             free, and cuMemPoolTrimTo cannot give back mappings that are partly in use. With cuMemAlloc, the driver maps \
             whole pages of 2 MiB, and only small allocations share them."
        }
    }
}

/// Only PyTorch's allocator has the setting.
fn setting(material: Material<'_>) -> Option<SettingAdvice> {
    let is_torch = material.config.allocator == AllocatorKind::Torch;
    let why = ": segments that grow instead of many fixed ones.";
    let setting = SettingAdvice::expandable(material.config, why);
    setting.filter(|_| is_torch)
}

fn to_try(allocator: AllocatorKind) -> &'static [&'static str] {
    match allocator {
        AllocatorKind::Torch => &[
            "Allocate what lives long first, and keep sizes that vary (sequence lengths) to a few steps, e.g. by padding or \
             roundup_power2_divisions.",
        ],
        AllocatorKind::Driver => &[
            "Allocate what lives long first, or from a pool of its own (cuMemPoolCreate).",
            "Many small buffers: one large allocation that the program divides, or cuMemAllocAsync, which packs them.",
        ],
    }
}
