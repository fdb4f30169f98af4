//! Sentences about the result of a what-if.

use super::{ModelError, Verdict, WhatIf};
use crate::allocator_model::{Allowed, ModelSettings};
use vramscope_core::analysis::report::findings::counted;
use vramscope_core::units::{Bytes, Count};

/// The result of a what-if.
pub(super) fn verdict(row: &WhatIf, own: &WhatIf, error: ModelError) -> String {
    let share = row.change_bytes as f64 / error.reserved_bytes.max(1) as f64;
    let bytes = Bytes(row.change_bytes.unsigned_abs());
    let percent = format!("{:.1} %", share.abs() * 100.0);
    let is_same = row.peak_reserved_bytes == own.peak_reserved_bytes;
    let peak = match row.change_bytes {
        _ if is_same => "The same peak as with the recorded settings.".to_owned(),
        0.. => format!("{bytes} more reserved at the peak than was measured (+{percent})."),
        _ => format!("{bytes} less reserved at the peak than was measured (−{percent})."),
    };
    match row.verdict {
        Verdict::WithinError => format!(
            "{peak} On this recording the model may be wrong by {}: treat it as no difference.",
            Bytes(error.largest_bytes())
        ),
        Verdict::TooClose => {
            let refused = |count: u64| match count {
                0 => "no request fails".to_owned(),
                1 => "1 request fails".to_owned(),
                _ => format!("{} fail", counted(count, "request")),
            };
            let other = row.refused_within_error.unwrap_or(0);
            let side = if other > row.refused { "less" } else { "more" };
            format!(
                "{peak} Whether it fits is too close to tell: {}, but on this recording the model may be wrong by {}, and with \
                 so much {side} to have, {}.",
                refused(row.refused),
                Bytes(error.largest_bytes()),
                refused(other)
            )
        }
        Verdict::OutOfMemory => {
            let verb = if row.refused == 1 { "fails" } else { "fail" };
            let before = match own.refused {
                0 => String::new(),
                refused => format!(", {} with the recorded settings", Count(refused)),
            };
            format!(
                "Out of memory: {} {verb}{before}. The program goes on without here, so that its peak says nothing.",
                counted(row.refused, "request")
            )
        }
        _ if is_same => peak,
        _ => match error.largest_bytes() {
            0 => peak,
            bytes => format!(
                "{peak} On this recording the model may be wrong by {}.",
                Bytes(bytes)
            ),
        },
    }
}

/// Further remarks on a what-if. `recorded` are the file's own settings.
pub(super) fn remark(
    row: &WhatIf,
    own: &WhatIf,
    recorded: &ModelSettings,
    settings: &ModelSettings,
) -> String {
    let rescued = match row.rescued {
        0 => String::new(),
        1 => "The request that failed would be served".to_owned(),
        more => format!("{} requests that failed would be served", Count(more)),
    };
    let also = match (row.rescued, own.rescued) {
        (0, _) => "",
        (_, 0) => ".",
        _ => ", but the model serves such under the recorded settings too.",
    };
    let without = if settings.collects_nothing() {
        " garbage_collection_threshold does nothing here: torch collects only where per_process_memory_fraction limits it."
    } else {
        ""
    };
    let limit = limit_changed(recorded, settings);
    let version = if row.needs_newer_torch {
        " large_segment_size_mb is new in torch of 2026; this file seems to be of an older one, which refuses it."
    } else {
        ""
    };
    format!("{rescued}{also}{without}{limit}{version}")
        .trim_start()
        .to_owned()
}

/// What happens to the process's own limit under another capacity.
fn limit_changed(recorded: &ModelSettings, settings: &ModelSettings) -> String {
    let Allowed::Seen(before) = recorded.allowed else {
        return String::new();
    };
    let seen = format!(
        " That the process let itself take no more than {}, as a failed request shows,",
        Bytes(before)
    );
    match (settings.allowed, settings.allowed_bytes()) {
        (Allowed::Share(_), Some(after)) => format!(
            "{seen} is taken as the same share of the other capacity: {}.",
            Bytes(after)
        ),
        (Allowed::All, _) if settings.capacity_bytes != recorded.capacity_bytes => {
            format!("{seen} is left out with another capacity.")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERROR: ModelError = ModelError {
        reserved_bytes: 1_000,
        modelled_bytes: 1_000,
        error_bytes: 0,
        from_empty_bytes: 980,
        from_empty_error_bytes: -20,
    };

    #[test]
    fn what_a_saving_is_and_what_not() {
        let mut row = WhatIf {
            verdict: Verdict::OutOfMemory,
            refused: 2,
            change_bytes: -500,
            peak_reserved_bytes: 500,
            ..WhatIf::default()
        };
        let own = WhatIf::default();
        let words = verdict(&row, &own, ERROR);
        assert!(
            words.starts_with("Out of memory: 2 requests fail."),
            "{words}"
        );
        row.verdict = Verdict::WithinError;
        assert!(verdict(&row, &own, ERROR).contains("20 B"));
        row.rescued = 1;
        let settings = ModelSettings::default();
        assert_eq!(
            remark(&row, &own, &settings, &settings),
            "The request that failed would be served."
        );
        let settings = settings
            .with_changes("garbage_collection_threshold:0.8")
            .unwrap();
        assert!(remark(&row, &own, &settings, &settings).contains("does nothing"));
        let mut recorded = settings.with_changes("capacity=10GiB").unwrap();
        recorded.allowed = Allowed::Seen(4 << 30);
        let remark = |changes: &str| {
            let changed = recorded.with_changes(changes).unwrap();
            remark(&row, &own, &recorded, &changed)
        };
        assert!(!remark("max_split_size_mb:64").contains("let itself"));
        assert!(
            remark("capacity=20GiB").ends_with("the same share of the other capacity: 8.00 GiB.")
        );
    }
}
