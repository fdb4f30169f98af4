//! How far the allocator model can be trusted on a recording: its errors, in figures and sentences.

use serde::{Deserialize, Serialize};

use crate::allocator_model::{Agreement, Check};
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
    /// The model's peak when it starts from the recorded state. If nothing was obtained from the device since, it equals the
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

/// Why what-ifs are not answered; `None` if they are. `forged`: number of requests that were served but that the model
/// refuses from the recorded start, which means that its peak is not the program's.
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
        0 => "Beginning empty, as here, and with the recorded settings, the model's peak is exactly the measured one.".to_owned(),
        _ => format!("Beginning empty, as here, and with the recorded settings, the model's peak is {off} the measured one: other settings may be off by as much."),
    }
}

/// Compares the peak from the recorded start with the real one.
pub(super) fn from_start(error: ModelError, check: &Check) -> String {
    let off = off(error.error_bytes, error.share());
    let is_trivial = check.segment_events.recorded == 0 && check.extra_segment_events == 0;
    match error.error_bytes {
        0 if is_trivial => "Beginning with the recorded segments, it is exactly the measured one. That proves little, as nothing was obtained from the device meanwhile.".to_owned(),
        0 => "Beginning with the recorded segments, it is exactly the measured one.".to_owned(),
        _ => format!("Beginning with the recorded segments, it is {off} the measured one."),
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
pub(super) fn refused_from_empty(refused_though_served: u64) -> Option<String> {
    (refused_though_served > 0).then(|| {
        format!(
            "Beginning empty, the model refuses {} that the recording served, and goes on without: its peak under the file's own \
             settings is too low by as much as they would have taken.",
            counted(refused_though_served, "request")
        )
    })
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
}
