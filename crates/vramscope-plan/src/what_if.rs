//! Predicts what the allocator would have reserved with other settings, compared with a replay with the file's own.
//!
//! All these replays start empty, including the one with the file's own settings, so they differ by settings alone. A
//! comparison is only as good as the model. So the model's error on the recording itself is given too: the error of its
//! peak from empty, and its agreement with the recording event by event from the recorded start. If the latter is too low,
//! there is no comparison.

mod conclusion;
mod words;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

pub use self::conclusion::{concluded, conclusion, replays};
use super::problems::ArenaKey;
use super::trust;
pub use super::trust::ModelError;
use super::words::no_model;
use crate::allocator_model::{Check, ModelSettings, Outcome, Start, compare, lower_limit, replay};
use vramscope_core::analysis::compare::changes::delta;
use vramscope_core::analysis::recording::Device;
use vramscope_core::analysis::report::overview::SegmentsKnown;

/// The result of one replay that starts with an empty allocator.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WhatIf {
    /// The changed settings as the user or the suggestion wrote them, for example `expandable_segments:True`; empty
    /// for the file's own settings.
    pub changes: String,
    /// All settings that differ from torch's defaults, in the syntax of `PYTORCH_CUDA_ALLOC_CONF`.
    pub settings: String,
    /// Bytes that CUDA has for the process; `None` = no limit.
    pub capacity_bytes: Option<u64>,
    /// Bytes that the process allows itself; `None` = no limit.
    pub allowed_bytes: Option<u64>,
    /// Peak of reserved bytes.
    pub peak_reserved_bytes: u64,
    /// The first moment of that peak.
    pub peak_moment: u32,
    /// Peak of each pool and stream, possibly at different moments; largest first.
    pub arenas: Vec<ArenaPeak>,
    /// The peak minus the measured one, including the model's error.
    pub change_bytes: i64,
    /// Bytes of free blocks at the peak.
    pub free_bytes_at_peak: u64,
    /// Bytes by which blocks exceed their requests at the peak.
    pub rounding_bytes_at_peak: u64,
    /// Number of refused requests.
    pub refused: u64,
    /// Number of refused requests that the recording served.
    pub refused_though_served: u64,
    /// The first refused request: the moment that begins with it, and its bytes.
    pub first_refused: Option<(u32, u64)>,
    /// Number of refused requests if the limit is lowered by the model's error, or raised by it if requests fail. Only
    /// computed if the limit decides and is near; `None` otherwise.
    pub refused_within_error: Option<u64>,
    /// Number of requests that failed in the recording and would be served.
    pub rescued: u64,
    /// Number of requests for which cached segments were returned to CUDA because memory was short.
    pub retries: u64,
    /// Bytes of all segments as steps of (first moment, bytes from then on), ascending; the first is at moment 0.
    pub reserved_steps: Vec<(u32, u64)>,
    /// The verdict, compared with the file's own settings.
    pub verdict: Verdict,
    /// The verdict in a sentence or two; empty for the file's own settings.
    pub says: String,
    /// Whether the torch that wrote the file seems to refuse one of these settings, because it is newer.
    pub needs_newer_torch: bool,
    /// Further remarks on these settings, in sentences; mostly empty.
    pub remark: String,
}

/// Peak of the bytes that the model reserves for one pool on one stream.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ArenaPeak {
    /// The pool and stream.
    pub key: ArenaKey,
    /// Its name: `default pool, stream 2`.
    pub label: String,
    /// The peak in bytes.
    pub peak_reserved_bytes: u64,
    /// The peak minus the peak with the file's own settings.
    pub change_bytes: i64,
}

fn arena_peaks(device: Device<'_>, outcome: &Outcome) -> Vec<ArenaPeak> {
    let recording = device.recording;
    let peaks = outcome.arena_peaks.iter();
    let peaks = peaks.map(|&(arena, peak_reserved_bytes)| {
        let key = ArenaKey {
            pool: arena.pool,
            stream: Some(arena.stream),
        };
        ArenaPeak {
            key,
            label: key.label(recording),
            peak_reserved_bytes,
            change_bytes: 0,
        }
    });
    peaks.collect()
}

/// The verdict on a what-if.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The same peak.
    #[default]
    Same,
    /// A lower peak.
    Less,
    /// A higher peak.
    More,
    /// Another peak, but the difference is within the model's error.
    WithinError,
    /// Whether it fits depends on less than the model's error.
    TooClose,
    /// More requests fail, whatever the peak is.
    OutOfMemory,
}

impl Verdict {
    /// A short label.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Less => "less",
            Self::More => "more",
            Self::WithinError => "within the error",
            Self::TooClose => "too close to tell",
            Self::OutOfMemory => "out of memory",
        }
    }
}

impl WhatIf {
    /// The share of the peak that is free, 0 to 1.
    #[must_use]
    pub fn free_share(&self) -> f64 {
        self.free_bytes_at_peak as f64 / self.peak_reserved_bytes.max(1) as f64
    }

    /// The same without its [`reserved_steps`](Self::reserved_steps) and [`arenas`](Self::arenas), which can be many.
    #[must_use]
    pub fn brief(&self) -> Self {
        Self {
            changes: self.changes.clone(),
            settings: self.settings.clone(),
            capacity_bytes: self.capacity_bytes,
            allowed_bytes: self.allowed_bytes,
            peak_reserved_bytes: self.peak_reserved_bytes,
            peak_moment: self.peak_moment,
            arenas: Vec::new(),
            change_bytes: self.change_bytes,
            free_bytes_at_peak: self.free_bytes_at_peak,
            rounding_bytes_at_peak: self.rounding_bytes_at_peak,
            refused: self.refused,
            refused_though_served: self.refused_though_served,
            first_refused: self.first_refused,
            refused_within_error: self.refused_within_error,
            rescued: self.rescued,
            retries: self.retries,
            reserved_steps: Vec::new(),
            verdict: self.verdict,
            says: self.says.clone(),
            needs_newer_torch: self.needs_newer_torch,
            remark: self.remark.clone(),
        }
    }

    /// The lower of capacity and allowance; `None` = no limit.
    #[must_use]
    pub fn limit_bytes(&self) -> Option<u64> {
        lower_limit(self.capacity_bytes, self.allowed_bytes)
    }

    /// The verdict in a few words. If requests failed in the recording, whether they still do comes first.
    #[must_use]
    pub fn verdict_label(&self) -> &'static str {
        match self.verdict {
            Verdict::OutOfMemory | Verdict::TooClose => self.verdict.label(),
            _ if self.refused > 0 => "fails too",
            _ if self.rescued > 0 => "serves it",
            verdict => verdict.label(),
        }
    }

    /// Sort key of suggested settings: first those that serve all requests, then doubtful ones, then those that do
    /// not, then those that the recorded torch refuses; within each the lowest peak first.
    #[must_use]
    pub fn rank(&self) -> (u8, u64) {
        let fails = match self.verdict {
            _ if self.needs_newer_torch => 3,
            Verdict::OutOfMemory => 2,
            Verdict::TooClose => 1,
            _ => 0,
        };
        (fails, self.peak_reserved_bytes)
    }

    /// From a replay's outcome, without a verdict.
    fn of(device: Device<'_>, changes: &str, settings: &ModelSettings, outcome: Outcome) -> Self {
        let first = outcome.refused.first();
        Self {
            changes: changes.to_owned(),
            settings: settings.conf(),
            capacity_bytes: settings.capacity_bytes,
            allowed_bytes: settings.allowed_bytes(),
            peak_reserved_bytes: outcome.peak_reserved_bytes,
            peak_moment: outcome.peak_moment,
            arenas: arena_peaks(device, &outcome),
            free_bytes_at_peak: outcome.free_bytes_at_peak,
            rounding_bytes_at_peak: outcome.rounding_bytes_at_peak,
            refused: outcome.refused.len() as u64,
            refused_though_served: refused_though_served(device, &outcome),
            first_refused: first.map(|refused| (refused.moment, refused.bytes)),
            rescued: outcome.rescued.len() as u64,
            retries: outcome.retries,
            reserved_steps: outcome.reserved_steps,
            ..Self::default()
        }
    }

    /// Sets the verdict and the sentences, by comparison with the file's own settings.
    fn judge(&mut self, baseline: &Baseline, settings: &ModelSettings, is_close: bool) {
        let (own, error) = (&baseline.own, baseline.error);
        self.change_bytes = delta(error.reserved_bytes, self.peak_reserved_bytes);
        // The change by the settings alone, and the change that is shown: both must exceed the model's possible error.
        let by_settings = delta(own.peak_reserved_bytes, self.peak_reserved_bytes);
        let least = (by_settings.unsigned_abs()).min(self.change_bytes.unsigned_abs());
        let is_within = least <= error.largest_bytes()
            || by_settings.is_negative() != self.change_bytes.is_negative();
        let is_failing = baseline.fails(self.refused, self.refused_though_served);
        self.verdict = match by_settings {
            _ if is_close => Verdict::TooClose,
            _ if is_failing => Verdict::OutOfMemory,
            0 => Verdict::Same,
            _ if is_within => Verdict::WithinError,
            1.. => Verdict::More,
            _ => Verdict::Less,
        };
        let recorded = own.arenas.iter();
        let recorded: HashMap<_, _> = recorded
            .map(|arena| (arena.key, arena.peak_reserved_bytes))
            .collect();
        for arena in &mut self.arenas {
            let before = recorded.get(&arena.key).copied().unwrap_or(0);
            arena.change_bytes = delta(before, arena.peak_reserved_bytes);
        }
        self.needs_newer_torch = baseline.settings.is_old()
            && settings.large_segment_bytes != baseline.settings.large_segment_bytes;
        self.says = words::verdict(self, own, error);
        self.remark = words::remark(self, own, &baseline.settings, settings);
    }
}

/// Number of refused requests that had been served in the recording.
fn refused_though_served(device: Device<'_>, outcome: &Outcome) -> u64 {
    let failed = device.failed_requests();
    let was_served = |moment: u32| failed.binary_search(&moment).is_err();
    let refused = outcome.refused.iter();
    refused.filter(|refused| was_served(refused.moment)).count() as u64
}

/// The replay that what-ifs of one device are compared with: two replays with the file's own settings, and the check of one of
/// them event by event.
///
/// # Errors
/// Why this device has no model, as a sentence.
pub fn baseline(device: Device<'_>) -> Result<Baseline, String> {
    if let Some(why) = no_model(device, SegmentsKnown::of(device)) {
        return Err(why);
    }
    let settings = ModelSettings::of_device(device);
    let from_empty = replay(device, &settings, Start::Afresh);
    let own = WhatIf::of(device, "", &settings, from_empty);
    let from_start = replay(device, &settings, Start::AsRecorded);
    let check = compare(device, &settings, own.peak_reserved_bytes);
    Ok(Baseline::of(device, settings, own, &from_start, check))
}

/// The replay that what-ifs of one device are compared with, and how far it can be trusted.
#[derive(Clone, PartialEq, Debug)]
pub struct Baseline {
    /// The file's own settings.
    settings: ModelSettings,
    /// The replay with the file's own settings, from an empty allocator.
    pub own: WhatIf,
    /// The errors of its peaks.
    pub error: ModelError,
    /// Its agreement with the recording, event by event.
    pub check: Check,
    /// Sentences on how far to trust it: its peaks, and its agreement with the recording.
    pub trust: Vec<String>,
    /// Why what-ifs are not answered, as a sentence; `None` if they are.
    pub refusal: Option<String>,
    /// Sentences on effects on memory that are not modelled.
    pub notes: Vec<String>,
    /// Settings worth trying, each as the `changes` of a what-if.
    pub suggestions: Vec<String>,
}

impl Baseline {
    /// From both replays with the file's own settings and the check.
    fn of(
        device: Device<'_>,
        settings: ModelSettings,
        own: WhatIf,
        from_start: &Outcome,
        check: Check,
    ) -> Self {
        let modelled = from_start.peak_reserved_bytes;
        let error = ModelError::of(check.recorded_peak_bytes, modelled, own.peak_reserved_bytes);
        let forged = refused_though_served(device, from_start);
        let own = WhatIf {
            change_bytes: error.from_empty_error_bytes,
            ..own
        };
        let mut notes = ModelSettings::not_modelled(device.snapshot());
        notes.extend(trust::refused_from_empty(own.refused_though_served));
        Self {
            trust: vec![
                trust::from_empty(error),
                trust::from_start(error, &check),
                trust::agreement(&check),
            ],
            refusal: trust::refusal(error, &check, forged),
            notes,
            suggestions: suggestions(&settings),
            settings,
            own,
            error,
            check,
        }
    }

    /// Replays the recording with changes to the file's settings, such as
    /// `expandable_segments:True,max_split_size_mb:128`.
    ///
    /// # Errors
    /// Why there is no answer: the changes are invalid, or the model's error is too large.
    pub fn what_if(&self, device: Device<'_>, changes: &str) -> Result<WhatIf, String> {
        let settings = self.settings.with_changes(changes)?;
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        let first = replay(device, &settings, Start::Afresh);
        let second = self.doubt(device, &settings, &first);
        let second = second.map(|settings| replay(device, &settings, Start::Afresh));
        let is_failing = |outcome: &Outcome| {
            let refused = outcome.refused.len() as u64;
            self.fails(refused, refused_though_served(device, outcome))
        };
        let is_close = (second.as_ref()).is_some_and(|of| is_failing(of) != is_failing(&first));
        let mut row = WhatIf::of(device, changes, &settings, first);
        row.refused_within_error = second.map(|second| second.refused.len() as u64);
        row.judge(self, &settings, is_close);
        Ok(row)
    }

    /// The settings for a second replay, if the first one's outcome is in doubt: with the limit lowered by the model's error if
    /// the program fits, or raised by it if not.
    fn doubt(
        &self,
        device: Device<'_>,
        settings: &ModelSettings,
        first: &Outcome,
    ) -> Option<ModelSettings> {
        let (limit, error) = (settings.limit_bytes()?, self.error.largest_bytes());
        let refused = first.refused.len() as u64;
        let fails = self.fails(refused, refused_though_served(device, first));
        let is_asked = fails
            || Some(limit) != self.settings.limit_bytes()
            || first.rescued.len() as u64 > self.own.rescued;
        let is_near = fails || first.peak_reserved_bytes > limit.saturating_sub(error);
        let is_in_doubt = error > 0 && is_asked && is_near;
        is_in_doubt.then(|| match fails {
            true => settings.with_limits(|limit| limit.saturating_add(error)),
            false => settings.with_limits(|limit| limit.saturating_sub(error)),
        })
    }

    /// Whether more requests fail than with the file's own settings, or other ones. A program may have ended at its first
    /// failure.
    fn fails(&self, refused: u64, refused_though_served: u64) -> bool {
        refused > self.own.refused || refused_though_served > self.own.refused_though_served
    }
}

/// Changes to the file's settings that often help or are often tried.
fn suggestions(own: &ModelSettings) -> Vec<String> {
    let other = if own.expandable_segments {
        "False"
    } else {
        "True"
    };
    let mut list = vec![format!("expandable_segments:{other}")];
    let others = [
        "large_segment_size_mb:64",
        "expandable_segments:True,large_segment_size_mb:64",
        "max_split_size_mb:128",
        "max_split_size_mb:512",
        "roundup_power2_divisions:8",
    ];
    list.extend(others.map(str::to_owned));
    let mut known = vec![own.clone()];
    list.retain(|changes| match own.with_changes(changes) {
        Ok(changed) if !known.contains(&changed) => {
            known.push(changed);
            true
        }
        _ => false,
    });
    list
}
