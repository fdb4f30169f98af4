//! Concludes from the replays with suggested settings: one finding, or none.

use super::{Baseline, Verdict, WhatIf, baseline};
use vramscope_core::analysis::recording::Device;
use vramscope_core::analysis::report::findings::{
    Evidence, Finding, FindingKind, Replayed, SettingAdvice, Severity, counted,
};
use vramscope_core::analysis::report::first_pass::FirstPass;
use vramscope_core::analysis::report::idle::{active_then, idle_bytes, is_worth_replaying};
use vramscope_core::units::{Bytes, Percent};

/// The least share of reserved memory, in percent, that settings must save to be advised.
const LEAST_SAVED_PERCENT: u64 = 1;
/// Savings of at least this share of it, in percent, deserve a warning: a healthy program keeps some memory for its next
/// step.
const MUCH_PERCENT: u64 = 5;
/// They must also be at least this many bytes.
const MUCH_BYTES: u64 = 256 << 20;

/// The conclusion from the replays; `None` if they are refused, or were [not worth
/// it](is_worth_replaying). `tried` are the replays with the baseline's suggestions, in any order.
#[must_use]
pub fn conclusion(device: Device<'_>, baseline: &Baseline, tried: &[WhatIf]) -> Option<Finding> {
    if baseline.refusal.is_some() || tried.is_empty() || !is_worth_replaying(device) {
        return None;
    }
    let first = FirstPass::last(device);
    let case = Case {
        device,
        first,
        baseline,
        tried: tried.len() as u64,
    };
    // Serving one request of a pass that needs more than the device has helps nobody.
    let serves =
        |row: &&WhatIf| first.is_none() && row.rescued > baseline.own.rescued && row.rank().0 == 0;
    let reserved = baseline.error.reserved_bytes;
    let saves = |row: &&WhatIf| {
        let saved = saved_bytes(row);
        row.verdict == Verdict::Less
            && row.rank().0 == 0
            && is_share(saved, LEAST_SAVED_PERCENT, reserved)
    };
    Some(
        if let Some(row) = best(tried.iter().filter(serves), reserved) {
            case.serving(row)
        } else if let Some(row) =
            best(tried.iter().filter(saves), reserved).filter(|_| first.is_none())
        {
            case.saving(row)
        } else {
            case.nothing()
        },
    )
}

/// [`conclusion`], with all replays made now, which takes seconds for a million events.
#[must_use]
pub fn concluded(device: Device<'_>) -> Option<Finding> {
    let (baseline, tried) = replays(device)?;
    conclusion(device, &baseline, &tried)
}

/// The replay with the file's own settings, and those with its suggestions; `None` if they are [not worth
/// it](is_worth_replaying) or impossible.
#[must_use]
pub fn replays(device: Device<'_>) -> Option<(Baseline, Vec<WhatIf>)> {
    if !is_worth_replaying(device) {
        return None;
    }
    let baseline = baseline(device).ok()?;
    let tried = baseline.suggestions.iter();
    let tried = tried.flat_map(|changes| baseline.what_if(device, changes));
    let tried = tried.collect();
    Some((baseline, tried))
}

/// The simplest of the settings that save most: a further one must save another percent of reserved memory.
fn best<'a>(
    rows: impl Iterator<Item = &'a WhatIf> + Clone,
    reserved_bytes: u64,
) -> Option<&'a WhatIf> {
    let least = rows.clone().map(|row| row.peak_reserved_bytes).min()?;
    let enough = least.saturating_add(reserved_bytes / 100 * LEAST_SAVED_PERCENT);
    let good = rows.filter(|row| row.peak_reserved_bytes <= enough);
    good.min_by_key(|row| (row.changes.matches(',').count(), row.peak_reserved_bytes))
}

/// The reduction of the peak of reserved bytes compared with the measured peak.
fn saved_bytes(row: &WhatIf) -> u64 {
    row.change_bytes.min(0).unsigned_abs()
}

fn is_share(bytes: u64, percent: u64, whole: u64) -> bool {
    u128::from(bytes) * 100 >= u128::from(whole) * u128::from(percent)
}

/// The data that all sentences share.
struct Case<'a> {
    device: Device<'a>,
    baseline: &'a Baseline,
    /// The first pass that a failed request ended, if the rest of the pass needs more than the device has.
    first: Option<FirstPass>,
    tried: u64,
}

impl Case<'_> {
    /// Settings with which a request that failed is served.
    fn serving(&self, row: &WhatIf) -> Finding {
        let limit = row.limit_bytes();
        let limit = limit.map_or_else(String::new, |limit| format!(" of {}", Bytes(limit)));
        let title = match self.device.failed_requests().len() {
            1 => format!("Would be served with {}", row.changes),
            _ => format!(
                "{} would be served with {}",
                counted(row.rescued, "failed request"),
                row.changes
            ),
        };
        Finding {
            severity: Severity::Problem,
            seen: format!(
                "Replayed with these settings, the allocator serves {} and reserves {}{limit} at its peak. {}",
                match row.rescued {
                    1 => "the request that failed".to_owned(),
                    more => format!("{more} requests that failed"),
                },
                Bytes(row.peak_reserved_bytes),
                self.error()
            ),
            setting: Some(self.setting(row)),
            evidence: replay_of(row),
            ..self.finding(title)
        }
    }

    /// Settings that need less memory.
    fn saving(&self, row: &WhatIf) -> Finding {
        let saved = saved_bytes(row);
        let reserved = self.baseline.error.reserved_bytes;
        Finding {
            bytes: saved,
            severity: match saved >= MUCH_BYTES && is_share(saved, MUCH_PERCENT, reserved) {
                true => Severity::Warning,
                false => Severity::Note,
            },
            seen: format!(
                "{} Replayed from empty, the model reserves {}, and {} with the recorded settings. {}",
                self.idle(),
                Bytes(row.peak_reserved_bytes),
                Bytes(self.baseline.own.peak_reserved_bytes),
                self.error()
            ),
            setting: Some(self.setting(row)),
            evidence: replay_of(row),
            ..self.finding(self.replayed(row).title())
        }
    }

    /// No settings help.
    fn nothing(&self) -> Finding {
        let failed = !self.device.failed_requests().is_empty();
        let (title, advice) = if let Some(pass) = &self.first {
            (
                "No setting of the allocator serves what follows",
                pass.advice(),
            )
        } else if failed {
            (
                "No other setting of the allocator is sure to serve it",
                "Less must be live at that moment.",
            )
        } else {
            (
                "No other setting of the allocator is sure to need less",
                "What is idle was needed for requests of other sizes or at another time. Fewer different sizes, and what \
                 lives long allocated first, leave less of it.",
            )
        };
        let saves = format!("saves {LEAST_SAVED_PERCENT} % of that");
        let none = match self.baseline.error.largest_bytes() {
            _ if self.first.is_some() => "changes what is needed".to_owned(),
            _ if failed => "serves it".to_owned(),
            0 => saves,
            _ => format!("{saves} and more than the model may be wrong"),
        };
        Finding {
            severity: Severity::Note,
            seen: format!(
                "{} {} replayed: none {none}. {}",
                self.idle(),
                counted(self.tried, "setting"),
                self.error()
            ),
            to_try: vec![advice.to_owned()],
            evidence: vec![Evidence::replay("", None)],
            ..self.finding(title.to_owned())
        }
    }

    fn setting(&self, row: &WhatIf) -> SettingAdvice {
        SettingAdvice {
            advice: SETTING.to_owned(),
            replayed: Some(self.replayed(row)),
        }
    }

    fn replayed(&self, row: &WhatIf) -> Replayed {
        Replayed {
            changes: row.changes.clone(),
            serves: row.rescued > self.baseline.own.rescued,
            reserved_bytes: row.peak_reserved_bytes,
            measured_bytes: self.baseline.error.reserved_bytes,
            error_bytes: self.baseline.error.largest_bytes(),
        }
    }

    fn finding(&self, title: String) -> Finding {
        Finding {
            may_mean: "The recorded requests are given to a model of PyTorch's allocator, with the recorded settings and with others. \
                       The program itself is taken as it was."
                .to_owned(),
            ..Finding::new(FindingKind::Replay, Severity::Note, idle_bytes(self.device), title)
        }
    }

    /// The share of the reserved memory that was idle at its peak.
    fn idle(&self) -> String {
        let reserved = self.device.history.most_reserved_bytes();
        let idle = idle_bytes(self.device);
        let share = Percent {
            part: idle,
            whole: reserved,
        };
        format!(
            "When most was reserved, {}, at most {} were live: {} ({share}) were idle.",
            Bytes(reserved),
            Bytes(active_then(self.device)),
            Bytes(idle)
        )
    }

    /// The possible error of the model.
    fn error(&self) -> String {
        match self.baseline.error.largest_bytes() {
            0 => "The model is exact on this recording.".to_owned(),
            bytes => format!(
                "On this recording the model may be wrong by {}.",
                Bytes(bytes)
            ),
        }
    }
}

/// The advice next to the variable to copy.
const SETTING: &str = "Set the variable before the program starts. From torch 2.9 on it is PYTORCH_ALLOC_CONF; the \
                       older name still works, with a warning.";

fn replay_of(row: &WhatIf) -> Vec<Evidence> {
    let settings = &row.settings;
    // Quoted, because brackets have a meaning in a shell.
    let quote = if settings.contains('[') { "'" } else { "" };
    let variable = format!("PYTORCH_CUDA_ALLOC_CONF={quote}{settings}{quote}");
    vec![
        Evidence::replay(row.changes.clone(), Some(variable)),
        Evidence::replay_over_time(row.changes.clone()),
    ]
}
