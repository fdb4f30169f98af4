//! Finding: freed memory cannot be reused yet, because other streams may still use it.

use super::words::{at_moment, counted, has_trace, percent};
use super::{
    Evidence, EvidenceOf, Finding, FindingKind, Material, ROWS, Severity, is_share, site_table,
};
use crate::analysis::groups::live_at::top_call_sites;
use crate::analysis::time::byte_steps::{ByteChanges, first_most};
use crate::analysis::time::history::{History, NEVER};
use crate::ids::AllocationId;
use crate::units::Bytes;

/// Minimum share of the active peak for a note, and for a warning.
const SHARE_PERCENT: u64 = 1;
const WARNING_PERCENT: u64 = 10;
const SMALLEST_BYTES: u64 = 1 << 20;

pub(super) fn find(material: Material<'_>) -> Option<Finding> {
    let history = material.device.history;
    let (moment, bytes) = most_pending(history)?;
    let peak = history.active_bytes_at(history.peak_moment);
    if bytes < SMALLEST_BYTES || !is_share(bytes, SHARE_PERCENT, peak) {
        return None;
    }
    let table = &history.allocations;
    let waiting = (0..table.len()).filter(|&row| {
        waits(history, row) && table.free_requested[row] <= moment && table.died[row] > moment
    });
    let ids = waiting.map(AllocationId::from_index);
    let top = top_call_sites(material.device, ids, ROWS);
    let at_end = material.at_end.pending_bytes;
    let mut seen = format!(
        "{}: {} in {} had been freed by the program, but not yet by the streams that use them: {} of \
         what was live.",
        at_moment(history, moment),
        Bytes(bytes),
        counted(top.count, "allocation"),
        percent(bytes, history.active_bytes_at(moment))
    );
    let is_over_time = has_trace(history);
    if at_end > 0 && is_over_time {
        seen += &format!(" At the end, {} still wait.", Bytes(at_end));
    }
    let warns = is_share(bytes, WARNING_PERCENT, peak);
    Some(Finding {
        kind: FindingKind::PendingFree,
        severity: if warns { Severity::Warning } else { Severity::Note },
        bytes,
        title: format!(
            "{}{} freed, but waiting for other streams",
            if is_over_time { "Up to " } else { "" },
            Bytes(bytes)
        ),
        seen,
        figures: Vec::new(),
        may_mean: "record_stream() (also inside of FSDP, DDP and data loaders) keeps a block until the other \
                   stream has passed; PyTorch looks only when something is allocated. If the host runs far ahead \
                   of the device, much can wait."
            .to_owned(),
        setting: None,
        to_try: vec![
            format!(
                "Keep a reference until the other stream is done and synchronize (wait_stream) instead of record_stream();{} \
                 for FSDP, limit_all_gathers or FSDP2.",
                of_collectives(material.device.snapshot().producer.oldest_torch())
            ),
        ],
        tables: vec![site_table("Waiting then, by call site", &top)],
        evidence: evidence(moment, is_over_time),
    })
}

/// Advice on collectives, which torch 2.8 and later follow by themselves.
fn of_collectives(oldest_torch: Option<(u32, u32)>) -> &'static str {
    match oldest_torch {
        Some((2, ..8) | (..2, _)) => " for collectives, TORCH_NCCL_AVOID_RECORD_STREAMS=1;",
        Some(_) => "",
        None => " for collectives before torch 2.8, TORCH_NCCL_AVOID_RECORD_STREAMS=1;",
    }
}

fn evidence(moment: u32, is_over_time: bool) -> Vec<Evidence> {
    let all = Evidence::new("all that ever waited", EvidenceOf::Allocations);
    // A state alone has neither a curve nor durations.
    if !is_over_time {
        return vec![Evidence::state(moment), all.with_filter("pending")];
    }
    vec![
        Evidence::state(moment),
        Evidence::moment("the curve there", EvidenceOf::LiveMemory, moment),
        all.with_filter("pending>1ev"),
    ]
}

/// Whether other events came between the request and the completion of a free. Without another stream, the two follow
/// each other.
fn waits(history: &History, row: usize) -> bool {
    let table = &history.allocations;
    let (requested, died) = (table.free_requested[row], table.died[row]);
    requested != NEVER && (died == NEVER || died > requested.saturating_add(1))
}

/// The first moment with the most waiting bytes, and these bytes; `None` if no bytes ever wait.
fn most_pending(history: &History) -> Option<(u32, u64)> {
    let table = &history.allocations;
    let waiting = (0..table.len()).filter(|&row| waits(history, row));
    let lives = waiting.map(|row| (table.free_requested[row], table.died[row], table.bytes[row]));
    first_most(&lives.collect::<ByteChanges>().steps())
}
