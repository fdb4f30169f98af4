//! What the allocator would have reserved under other settings, beside the same replay under the file's own.
//!
//! A comparison is only as good as the model: it stands beside what the model gets wrong of the recording itself, and
//! where that is too much, or there is nothing to compare with, there is none. All what-ifs begin with an empty
//! allocator, also the one under the file's own settings, so that they differ by settings alone.

use serde::{Deserialize, Serialize};

use super::words::no_model;
use crate::analysis::allocator_model::{ModelSettings, Outcome, Run, Start, replay};
use crate::analysis::allocator_state::Recording;
use crate::analysis::capacity::capacity;
use crate::analysis::compare::delta;
use crate::analysis::overview::SegmentsKnown;
use crate::units::Bytes;

/// By which part of what was really reserved the model may be wrong before nothing is said on its word.
const LARGEST_ERROR: f64 = 0.05;

/// One replay of a recording, from an empty allocator.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WhatIf {
    /// What is changed, as the user or the list has it: `expandable_segments:True`; empty for the file's own settings.
    pub changes: String,
    /// All settings that differ from torch's defaults, as `PYTORCH_CUDA_ALLOC_CONF` has them.
    pub settings: String,
    /// The most reserved.
    pub peak_reserved_bytes: u64,
    /// The first moment of it.
    pub peak_moment: u32,
    /// The peak less that under the file's own settings.
    pub change_bytes: i64,
    /// Bytes of free blocks at that moment.
    pub free_bytes_at_peak: u64,
    /// Bytes by which blocks are larger than what was asked for, at that moment.
    pub rounding_bytes_at_peak: u64,
    /// Requests that are refused.
    pub refused: u64,
    /// The first of them: the moment that begins with it, and its bytes.
    pub first_refused: Option<(u32, u64)>,
    /// Requests that failed in the recording and would be served.
    pub rescued: u64,
    /// Requests for which cached segments were given back to CUDA because memory was short.
    pub retries: u64,
    /// Bytes of all segments, as steps: (first moment, bytes from then on), ascending; the first is moment 0.
    pub reserved_steps: Vec<(u32, u64)>,
}

impl WhatIf {
    /// The part of the peak that is free then.
    #[must_use]
    pub fn free_share(&self) -> f64 {
        self.free_bytes_at_peak as f64 / self.peak_reserved_bytes.max(1) as f64
    }

    /// From the outcome of the replay under the file's own settings.
    pub(super) fn of_own(settings: &ModelSettings, outcome: Outcome) -> Self {
        let own_peak_bytes = outcome.peak_reserved_bytes;
        Self::of("", settings, outcome, own_peak_bytes)
    }

    fn of(changes: &str, settings: &ModelSettings, outcome: Outcome, own_peak_bytes: u64) -> Self {
        let first = outcome.refused.first();
        Self {
            changes: changes.to_owned(),
            settings: settings.to_string(),
            peak_reserved_bytes: outcome.peak_reserved_bytes,
            peak_moment: outcome.peak_moment,
            change_bytes: delta(own_peak_bytes, outcome.peak_reserved_bytes),
            free_bytes_at_peak: outcome.free_bytes_at_peak,
            rounding_bytes_at_peak: outcome.rounding_bytes_at_peak,
            refused: outcome.refused.len() as u64,
            first_refused: first.map(|refused| (refused.moment, refused.bytes)),
            rescued: outcome.rescued.len() as u64,
            retries: outcome.retries,
            reserved_steps: outcome.reserved_steps,
        }
    }
}

/// How far the model can be trusted on one recording: its replay from the recorded start against the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ModelError {
    /// The most that the model reserved.
    pub modelled_bytes: u64,
    /// The most that was really reserved.
    pub reserved_bytes: u64,
    /// The first less the second.
    pub error_bytes: i64,
}

impl ModelError {
    /// From the outcome of that replay and the most that was really reserved.
    pub(super) fn of(outcome: &Outcome, reserved_bytes: u64) -> Self {
        Self {
            modelled_bytes: outcome.peak_reserved_bytes,
            reserved_bytes,
            error_bytes: delta(reserved_bytes, outcome.peak_reserved_bytes),
        }
    }

    /// The part of what was really reserved by which the model is wrong: 0.01 for 1 % too much.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.error_bytes as f64 / self.reserved_bytes.max(1) as f64
    }
}

/// What what-ifs of one device are compared with; `segments`: what is known of them.
///
/// # Errors
/// Why there is no model of this device, as a sentence.
pub fn baseline(recording: Recording<'_>, segments: SegmentsKnown) -> Result<Baseline, String> {
    if let Some(why) = no_model(recording, segments) {
        return Err(why);
    }
    let steps = recording.history.reserved_steps.iter();
    let reserved = steps.map(|&(_, bytes)| bytes).max().unwrap_or(0);
    let settings = ModelSettings::of_device(recording);
    let of = |start| replay(recording, &settings, start);
    let error = ModelError::of(&of(Start::AsRecorded), reserved);
    let own = WhatIf::of_own(&settings, of(Start::Afresh));
    Ok(Baseline::of(recording, own, error))
}

/// What what-ifs of one device are compared with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Baseline {
    /// The replay under the file's own settings, from an empty allocator.
    pub own: WhatIf,
    /// How far to trust it.
    pub error: ModelError,
    /// Why what-ifs are not to be given, as a sentence; `None` where they are.
    pub refusal: Option<String>,
    /// What bears on memory and is not modelled, as sentences.
    pub notes: Vec<String>,
    /// Settings worth a try: each the `changes` of a what-if.
    pub suggestions: Vec<String>,
}

impl Baseline {
    /// From both replays under the file's own settings.
    pub(super) fn of(recording: Recording<'_>, own: WhatIf, error: ModelError) -> Self {
        let refusal = (error.share().abs() > LARGEST_ERROR).then(|| {
            format!(
                "Replaying this recording under its own settings, the model of the allocator reserves {} where {} were really \
                 reserved: what it says about other settings would be worth nothing.",
                Bytes(error.modelled_bytes),
                Bytes(error.reserved_bytes)
            )
        });
        let mut notes = ModelSettings::not_modelled(recording.snapshot);
        let from_before = delta(own.peak_reserved_bytes, error.reserved_bytes);
        if refusal.is_none() && from_before.unsigned_abs() > error.reserved_bytes / 100 {
            notes.push(format!(
                "To compare settings the model begins empty; the recording did not. Beginning empty, it reserves {} under the \
                 file's own settings, {} {} than was really reserved: compare with that.",
                Bytes(own.peak_reserved_bytes),
                Bytes(from_before.unsigned_abs()),
                if from_before > 0 { "less" } else { "more" },
            ));
        }
        Self {
            own,
            error,
            refusal,
            notes,
            suggestions: suggestions(recording),
        }
    }

    /// The replay under the file's settings with changes, such as `expandable_segments:True,max_split_size_mb:128`.
    ///
    /// # Errors
    /// As [`trial`](Self::trial).
    pub fn what_if(&self, recording: Recording<'_>, changes: &str) -> Result<WhatIf, String> {
        let mut trial = self.trial(recording, changes)?;
        trial.run(recording, &mut || false);
        Ok(trial.into_what_if())
    }

    /// The same in slices.
    ///
    /// # Errors
    /// Why there is none: what is wrong with the changes, or that the model is too far off.
    pub fn trial(&self, recording: Recording<'_>, changes: &str) -> Result<Trial, String> {
        let settings = ModelSettings::of_device(recording).with_changes(changes)?;
        match &self.refusal {
            Some(refusal) => Err(refusal.clone()),
            None => Ok(Trial {
                changes: changes.to_owned(),
                run: Run::new(recording, &settings, Start::Afresh),
                settings,
                own_peak_bytes: self.own.peak_reserved_bytes,
            }),
        }
    }
}

/// A what-if on its way.
pub struct Trial {
    changes: String,
    settings: ModelSettings,
    run: Run,
    own_peak_bytes: u64,
}

impl Trial {
    /// Goes on until `is_over`; whether it is at its end. `recording` is the one that it was made of.
    pub fn run(&mut self, recording: Recording<'_>, is_over: &mut dyn FnMut() -> bool) -> bool {
        self.run.run(recording, is_over)
    }

    /// The answer, once it is at its end.
    #[must_use]
    pub fn into_what_if(self) -> WhatIf {
        let outcome = self.run.into_outcome();
        WhatIf::of(&self.changes, &self.settings, outcome, self.own_peak_bytes)
    }
}

/// Changes of the file's settings that often help, or that are often tried.
fn suggestions(recording: Recording<'_>) -> Vec<String> {
    let own = ModelSettings::of_device(recording);
    let mut list = vec![format!(
        "expandable_segments:{}",
        if own.expandable_segments {
            "False"
        } else {
            "True"
        }
    )];
    let others = [
        "large_segment_size_mb:64",
        "expandable_segments:True,large_segment_size_mb:64",
        "max_split_size_mb:128",
        "max_split_size_mb:512",
        "roundup_power2_divisions:8",
    ];
    list.extend(others.map(str::to_owned));
    // Garbage is only collected where the process is told how much it may take.
    if let Some(capacity) = capacity(recording.snapshot, recording.history) {
        let bytes = capacity.bytes;
        list.push(format!(
            "garbage_collection_threshold:0.8,capacity={bytes},allowed={bytes}"
        ));
    }
    list.retain(|changes| {
        own.with_changes(changes)
            .is_ok_and(|changed| changed != own)
    });
    list
}
