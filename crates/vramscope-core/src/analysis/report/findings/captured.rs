//! Findings about captures: records were dropped, or others used much of the device.

use super::words::percent;
use super::{Evidence, EvidenceOf, Figure, Finding, FindingKind, Material, Severity, is_notable};
use crate::analysis::memory::capture::{Capture, CapturedDevice};
use crate::analysis::report::facts::{LOST, MORE_ROOM};
use crate::units::{Bytes, Count};

/// Minimum share of the device for a note, and for a warning.
const SHARE_PERCENT: u64 = 10;
const WARNING_PERCENT: u64 = 50;

pub(super) fn find(material: Material<'_>) -> Vec<Finding> {
    let Some(capture) = Capture::of(material.device.snapshot()) else {
        return Vec::new();
    };
    let device = capture.device(material.device.history.device);
    let found = [records_lost(&capture), device.and_then(others)];
    found.into_iter().flatten().collect()
}

/// The log was too small.
fn records_lost(capture: &Capture) -> Option<Finding> {
    let records = capture.dropped_records;
    (records > 0).then(|| Finding {
        kind: FindingKind::RecordsLost,
        severity: Severity::Problem,
        bytes: 0,
        title: format!(
            "{} records were lost because the log was full",
            Count(records)
        ),
        seen: "The log had no more room for them.".to_owned(),
        figures: Vec::new(),
        may_mean: LOST.to_owned(),
        setting: None,
        to_try: vec![MORE_ROOM.to_owned()],
        tables: Vec::new(),
        evidence: vec![Evidence::new(
            "what is known about the capture",
            EvidenceOf::FileFacts,
        )],
    })
}

/// Others used memory of the device.
fn others(device: &CapturedDevice) -> Option<Finding> {
    let (total, other) = (device.total_bytes?, device.other?);
    if !is_notable(other.highest_bytes, SHARE_PERCENT, total) {
        return None;
    }
    let warns = is_notable(other.highest_bytes, WARNING_PERCENT, total);
    Some(Finding {
        kind: FindingKind::OtherMemory,
        severity: if warns { Severity::Warning } else { Severity::Note },
        bytes: other.highest_bytes,
        title: format!("Others held up to {} of the device", Bytes(other.highest_bytes)),
        seen: format!(
            "Of the device's {}, up to {} ({}) were neither free nor allocated by what was captured; at the end {}. The \
             driver was asked {} times.",
            Bytes(total),
            Bytes(other.highest_bytes),
            percent(other.highest_bytes, total),
            Bytes(other.last_bytes),
            Count(other.samples)
        ),
        figures: vec![
            figure("the device", total),
            figure("held by others, at the most", other.highest_bytes),
            figure("held by others, at the end", other.last_bytes),
        ],
        may_mean: "Other processes on the device; this program's CUDA context and modules (some hundred MiB); what the \
                   driver needs itself."
            .to_owned(),
        setting: None,
        to_try: vec!["See who else is on the device: nvidia-smi lists processes and what each holds.".to_owned()],
        tables: Vec::new(),
        evidence: vec![Evidence::new("what is known about the device", EvidenceOf::FileFacts)],
    })
}

fn figure(label: &str, bytes: u64) -> Figure {
    Figure {
        label: label.to_owned(),
        bytes,
    }
}
