//! Sentences about the allocator model: how far it can be trusted on a recording, and what a what-if amounts to.

use serde::{Deserialize, Serialize};

use super::what_if::{Verdict, WhatIf};
use crate::allocator_model::{Agreement, Allowed, Check, ModelSettings};
use vramscope_core::analysis::compare::changes::delta;
use vramscope_core::analysis::report::findings::counted;
use vramscope_core::units::{Bytes, Count};

/// Largest error of the model, as a share of the bytes really reserved, at which what-ifs are still answered.
const LARGEST_ERROR: f64 = 0.05;
/// Least share of requests that must get the recorded address for what-ifs to be answered.
const LEAST_AGREEMENT: f64 = 0.95;

/// Peaks of the model with the file's own settings, compared with the recorded peak.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ModelError {
    /// Peak of the bytes really reserved.
    pub reserved_bytes: u64,
    /// The model's peak when it starts from the recorded state. If nothing was obtained from CUDA since, it equals the
    /// recorded peak by construction.
    pub modelled_bytes: u64,
    /// `modelled_bytes` minus `reserved_bytes`.
    pub error_bytes: i64,
    /// The model's peak when it starts empty, as what-ifs do.
    pub from_empty_bytes: u64,
    /// `from_empty_bytes` minus `reserved_bytes`: the likely error of a what-if.
    pub from_empty_error_bytes: i64,
}

impl ModelError {
    /// Computes the errors from three peaks in bytes.
    pub(super) fn of(reserved_bytes: u64, modelled_bytes: u64, from_empty_bytes: u64) -> Self {
        Self {
            reserved_bytes,
            modelled_bytes,
            error_bytes: delta(reserved_bytes, modelled_bytes),
            from_empty_bytes,
            from_empty_error_bytes: delta(reserved_bytes, from_empty_bytes),
        }
    }

    /// The error from the recorded start, as a share of the bytes really reserved: 0.01 is 1 % too much.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.error_bytes as f64 / self.reserved_bytes.max(1) as f64
    }

    /// The error from empty, as a share of the bytes really reserved.
    #[must_use]
    pub fn from_empty_share(&self) -> f64 {
        self.from_empty_error_bytes as f64 / self.reserved_bytes.max(1) as f64
    }

    /// The larger of both errors in bytes. A change up to this size means nothing.
    #[must_use]
    pub fn largest_bytes(&self) -> u64 {
        let from_empty = self.from_empty_error_bytes.unsigned_abs();
        self.error_bytes.unsigned_abs().max(from_empty)
    }
}

/// Why what-ifs are not answered; `None` if they are. `forged` counts requests that were served but that the model
/// refuses from the recorded start, so that its peak is not the program's.
pub(super) fn refusal(error: ModelError, check: &Check, forged: u64) -> Option<String> {
    let worthless = "what it says about other settings would be worth nothing.";
    let share = check.allocs.share();
    if error.share().abs() > LARGEST_ERROR {
        Some(format!(
            "Replaying this recording under its own settings, the model of the allocator reserves {} where {} were really \
             reserved: {worthless}",
            Bytes(error.modelled_bytes),
            Bytes(error.reserved_bytes)
        ))
    } else if share < LEAST_AGREEMENT {
        Some(format!(
            "Replaying this recording under its own settings, the model of the allocator places only {} of {} where they \
             really were: {worthless}",
            Count(check.allocs.agreeing),
            counted(check.allocs.recorded, "allocation"),
        ))
    } else if forged > 0 {
        Some(format!(
            "Replaying this recording under its own settings, the model of the allocator refuses {} that the recording \
             served: {worthless}",
            counted(forged, "request")
        ))
    } else {
        None
    }
}

/// Compares the peak from empty with the real one.
pub(super) fn from_empty(error: ModelError) -> String {
    let off = off(error.from_empty_error_bytes, error.from_empty_share());
    match error.from_empty_error_bytes {
        0 => "Beginning empty, as here, and with the recorded settings, the model's peak is exactly the real one.".to_owned(),
        _ => format!("Beginning empty, as here, and with the recorded settings, the model's peak is {off} the real one: other settings may be off by as much."),
    }
}

/// Compares the peak from the recorded start with the real one.
pub(super) fn from_start(error: ModelError, check: &Check) -> String {
    let off = off(error.error_bytes, error.share());
    let is_trivial = check.segment_events.recorded == 0 && check.extra_segment_events == 0;
    match error.error_bytes {
        0 if is_trivial => "Beginning as recorded, it is exactly the real one, which proves little: nothing was obtained from CUDA meanwhile.".to_owned(),
        0 => "Beginning as recorded, it is exactly the real one.".to_owned(),
        _ => format!("Beginning as recorded, it is {off} the real one."),
    }
}

/// The error in words: so much above or below.
fn off(error_bytes: i64, share: f64) -> String {
    let bytes = Bytes(error_bytes.unsigned_abs());
    let side = if error_bytes > 0 { "above" } else { "below" };
    format!("{bytes} ({:.1} %) {side}", share.abs() * 100.0)
}

/// How closely the model follows the recording event by event.
pub(super) fn agreement(check: &Check) -> String {
    let allocs = match check.allocs {
        Agreement { recorded: 0, .. } => "the recording has no allocation to compare".to_owned(),
        allocs => format!(
            "{} lie where the model puts them",
            part(allocs, "allocation")
        ),
    };
    let segments = match check.segment_events {
        Agreement { recorded: 0, .. } if check.extra_segment_events == 0 => {
            "the recording has no segment event to compare".to_owned()
        }
        Agreement { recorded: 0, .. } => format!(
            "the recording has no segment event, the model {}",
            Count(check.extra_segment_events)
        ),
        events if check.extra_segment_events == 0 => {
            format!("{} are the model's too", part(events, "segment event"))
        }
        events => format!(
            "{} are the model's too, which has {} more",
            part(events, "segment event"),
            Count(check.extra_segment_events)
        ),
    };
    let last = match check.final_segments {
        Agreement { recorded: 0, .. } => String::new(),
        segments => format!(
            "; of the final segments, {} of {}",
            Count(segments.agreeing),
            Count(segments.recorded)
        ),
    };
    let left_out = match check.events_left_out {
        0 => String::new(),
        events => format!(
            " After too many differences, {} were not compared.",
            counted(events, "event")
        ),
    };
    format!("Event by event beside the recording: {allocs}; {segments}{last}.{left_out}")
}

fn part(agreement: Agreement, what: &str) -> String {
    let all = counted(agreement.recorded, what);
    if agreement.is_full() {
        format!("all of {all}")
    } else {
        format!("{} of {all}", Count(agreement.agreeing))
    }
}

/// The requests that were served but that the replay from empty refuses.
pub(super) fn refused_from_empty(own: &WhatIf) -> Option<String> {
    let refused = own.refused_though_served;
    (refused > 0).then(|| {
        format!(
            "Beginning empty, the model refuses {} that the recording served, and goes on without: its peak under the file's own \
             settings is too low by as much as they would have taken.",
            counted(refused, "request")
        )
    })
}

/// The result of a what-if.
pub(super) fn verdict(row: &WhatIf, own: &WhatIf, error: ModelError) -> String {
    let share = row.change_bytes as f64 / own.peak_reserved_bytes.max(1) as f64;
    let bytes = Bytes(row.change_bytes.unsigned_abs());
    let percent = format!("{:.1} %", share.abs() * 100.0);
    let peak = match row.change_bytes {
        0 => "The same peak as with the recorded settings.".to_owned(),
        1.. => format!("{bytes} more reserved at the peak (+{percent})."),
        _ => format!("{bytes} less reserved at the peak (−{percent})."),
    };
    match row.verdict {
        Verdict::WithinError => format!(
            "{peak} On this recording the model may be wrong by {}: take it for no difference.",
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
        _ => peak,
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
    let version = match settings.large_segment_bytes != recorded.large_segment_bytes
        && recorded.is_old()
    {
        true => {
            " large_segment_size_mb is new in torch of 2026; this file seems to be of an older one, which refuses it."
        }
        false => "",
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
    fn what_is_refused() {
        let mut check = Check::default();
        assert_eq!(refusal(ERROR, &check, 0), None);
        assert!(refusal(ERROR, &check, 2).unwrap().contains("2 requests"));
        check.allocs = Agreement {
            recorded: 100,
            agreeing: 94,
        };
        assert!(refusal(ERROR, &check, 0).unwrap().contains("94 of 100"));
        let off = ModelError {
            error_bytes: -51,
            ..ERROR
        };
        assert!(refusal(off, &Check::default(), 0).is_some());
    }

    #[test]
    fn what_a_saving_is_and_what_not() {
        let mut row = WhatIf {
            verdict: Verdict::OutOfMemory,
            refused: 2,
            change_bytes: -500,
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
