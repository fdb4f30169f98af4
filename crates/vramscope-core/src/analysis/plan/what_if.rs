//! What the allocator would have reserved under other settings, beside the same replay under the file's own.
//!
//! A comparison is only as good as the model, so that it stands beside what the model gets wrong of the recording itself:
//! its peak beginning empty, as all what-ifs do, beside the real one, and its way event by event from the recorded start.
//! Where the latter is too far off, there is no comparison. The replay under the file's own settings begins empty too, so
//! that all differ by settings alone.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::places::{PlaceKey, StreamNumbers};
use super::trust;
pub use super::trust::ModelError;
use super::words::no_model;
use crate::analysis::allocator_model::{
    Check, CheckRun, ModelSettings, Outcome, Run, Start, lower_limit,
};
use crate::analysis::allocator_state::Recording;
use crate::analysis::compare::delta;
use crate::analysis::overview::SegmentsKnown;
use crate::model::Action;

/// One replay of a recording, from an empty allocator.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WhatIf {
    /// What is changed, as the user or the list has it: `expandable_segments:True`; empty for the file's own settings.
    pub changes: String,
    /// All settings that differ from torch's defaults, as `PYTORCH_CUDA_ALLOC_CONF` has them.
    pub settings: String,
    /// What CUDA has for the process; `None` = no limit.
    pub capacity_bytes: Option<u64>,
    /// What the process lets itself take; `None` = no limit.
    pub allowed_bytes: Option<u64>,
    /// The most reserved.
    pub peak_reserved_bytes: u64,
    /// The first moment of it.
    pub peak_moment: u32,
    /// The most reserved by each pool and stream, at different moments as it may be; the largest first.
    pub places: Vec<PlacePeak>,
    /// The peak less that under the file's own settings.
    pub change_bytes: i64,
    /// Bytes of free blocks at that moment.
    pub free_bytes_at_peak: u64,
    /// Bytes by which blocks are larger than what was asked for, at that moment.
    pub rounding_bytes_at_peak: u64,
    /// Requests that are refused.
    pub refused: u64,
    /// Those of them that the recording served.
    pub refused_though_served: u64,
    /// The first of them: the moment that begins with it, and its bytes.
    pub first_refused: Option<(u32, u64)>,
    /// Where that decides and the limit is near: requests that are refused with as much less to have as the model may be
    /// wrong by, or, if too many are refused, with as much more; `None` = not looked at.
    pub refused_within_error: Option<u64>,
    /// Requests that failed in the recording and would be served.
    pub rescued: u64,
    /// Requests for which cached segments were given back to CUDA because memory was short.
    pub retries: u64,
    /// Bytes of all segments, as steps: (first moment, bytes from then on), ascending; the first is moment 0.
    pub reserved_steps: Vec<(u32, u64)>,
    /// What is to be made of it, beside the file's own settings.
    pub verdict: Verdict,
    /// The same in a sentence or two; empty for the file's own settings.
    pub says: String,
    /// What else there is to say of these settings, in sentences; mostly empty.
    pub remark: String,
}

/// The most that the model reserves for one pool on one stream.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlacePeak {
    /// Which.
    pub key: PlaceKey,
    /// Its name: `default pool, stream 2`.
    pub label: String,
    /// How much.
    pub peak_reserved_bytes: u64,
    /// That, less what it is under the file's own settings.
    pub change_bytes: i64,
}

fn place_peaks(recording: Recording<'_>, outcome: &Outcome) -> Vec<PlacePeak> {
    let numbers = StreamNumbers::of(recording.snapshot);
    let peaks = outcome.arena_peaks.iter();
    let peaks = peaks.map(|&(arena, peak_reserved_bytes)| {
        let key = PlaceKey {
            pool: arena.pool,
            stream: Some(arena.stream),
        };
        PlacePeak {
            key,
            label: key.label(&numbers),
            peak_reserved_bytes,
            change_bytes: 0,
        }
    });
    peaks.collect()
}

/// What is to be made of a what-if.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The same peak.
    #[default]
    Same,
    /// A lower one.
    Less,
    /// A higher one.
    More,
    /// Another one, but the model may be wrong by as much.
    WithinError,
    /// It fits or not, but the other way round with as much less or more to have as the model may be wrong by.
    TooClose,
    /// More requests fail, whatever the peak is.
    OutOfMemory,
}

impl Verdict {
    /// In a word or two.
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
    /// The part of the peak that is free then.
    #[must_use]
    pub fn free_share(&self) -> f64 {
        self.free_bytes_at_peak as f64 / self.peak_reserved_bytes.max(1) as f64
    }

    /// The lower of both limits.
    #[must_use]
    pub fn limit_bytes(&self) -> Option<u64> {
        lower_limit(self.capacity_bytes, self.allowed_bytes)
    }

    /// Rows that nobody ordered go by this: what is served before what may not be and what is not, and then the lowest
    /// peak first.
    #[must_use]
    pub fn rank(&self) -> (u8, u64) {
        let fails = match self.verdict {
            Verdict::OutOfMemory => 2,
            Verdict::TooClose => 1,
            _ => 0,
        };
        (fails, self.peak_reserved_bytes)
    }

    /// From a replay's outcome, not yet judged.
    fn of(
        recording: Recording<'_>,
        changes: &str,
        settings: &ModelSettings,
        outcome: Outcome,
    ) -> Self {
        let first = outcome.refused.first();
        Self {
            changes: changes.to_owned(),
            settings: settings.conf(),
            capacity_bytes: settings.capacity_bytes,
            allowed_bytes: settings.allowed_bytes(),
            peak_reserved_bytes: outcome.peak_reserved_bytes,
            peak_moment: outcome.peak_moment,
            places: place_peaks(recording, &outcome),
            free_bytes_at_peak: outcome.free_bytes_at_peak,
            rounding_bytes_at_peak: outcome.rounding_bytes_at_peak,
            refused: outcome.refused.len() as u64,
            refused_though_served: refused_though_served(recording, &outcome),
            first_refused: first.map(|refused| (refused.moment, refused.bytes)),
            rescued: outcome.rescued.len() as u64,
            retries: outcome.retries,
            reserved_steps: outcome.reserved_steps,
            ..Self::default()
        }
    }

    /// Beside the file's own settings.
    fn judge(&mut self, baseline: &Baseline, settings: &ModelSettings, is_close: bool) {
        let (own, error) = (&baseline.own, baseline.error);
        self.change_bytes = delta(own.peak_reserved_bytes, self.peak_reserved_bytes);
        let change = self.change_bytes.unsigned_abs();
        let is_failing = (baseline.own()).fails(self.refused, self.refused_though_served);
        self.verdict = match self.change_bytes {
            _ if is_close => Verdict::TooClose,
            _ if is_failing => Verdict::OutOfMemory,
            0 => Verdict::Same,
            _ if change <= error.largest_bytes() => Verdict::WithinError,
            1.. => Verdict::More,
            _ => Verdict::Less,
        };
        let recorded = own.places.iter();
        let recorded: HashMap<_, _> = recorded
            .map(|place| (place.key, place.peak_reserved_bytes))
            .collect();
        for place in &mut self.places {
            let before = recorded.get(&place.key).copied().unwrap_or(0);
            place.change_bytes = delta(before, place.peak_reserved_bytes);
        }
        self.says = trust::verdict(self, own, error);
        self.remark = trust::remark(self, own, &baseline.settings, settings);
    }
}

/// Requests that were refused and had been served in the recording.
fn refused_though_served(recording: Recording<'_>, outcome: &Outcome) -> u64 {
    let first = recording.history.first_event as usize;
    let actions = &recording.snapshot.events.action;
    let was_served = |moment: u32| match (moment as usize).checked_sub(1) {
        Some(event) => actions.get(first + event) != Some(&Action::Oom),
        None => true,
    };
    let refused = outcome.refused.iter();
    refused.filter(|refused| was_served(refused.moment)).count() as u64
}

/// What what-ifs of one device are compared with; `segments`: what is known of them.
///
/// # Errors
/// Why there is no model of this device, as a sentence.
pub fn baseline(recording: Recording<'_>, segments: SegmentsKnown) -> Result<Baseline, String> {
    if let Some(why) = no_model(recording, segments) {
        return Err(why);
    }
    let mut work = BaselineWork::new(recording);
    loop {
        work = work.go_on(recording, &mut || false);
        if let BaselineWork::Done(baseline) = work {
            return Ok(*baseline);
        }
    }
}

/// A baseline on its way: both replays under the file's own settings, then the way event by event.
pub(super) enum BaselineWork {
    FromEmpty(ModelSettings, Box<Run>),
    FromStart(ModelSettings, Box<WhatIf>, Box<Run>),
    Check(ModelSettings, Box<(WhatIf, Outcome)>, Box<CheckRun>),
    Done(Box<Baseline>),
}

impl BaselineWork {
    pub(super) fn new(recording: Recording<'_>) -> Self {
        let settings = ModelSettings::of_device(recording);
        let run = Run::new(recording, &settings, Start::Afresh);
        Self::FromEmpty(settings, Box::new(run))
    }

    /// Works until `is_over`, or until the next stage.
    pub(super) fn go_on(self, recording: Recording<'_>, is_over: &mut dyn FnMut() -> bool) -> Self {
        match self {
            Self::FromEmpty(settings, mut run) => {
                if !run.run(recording, is_over) {
                    return Self::FromEmpty(settings, run);
                }
                let own = WhatIf::of(recording, "", &settings, run.into_outcome());
                let run = Run::new(recording, &settings, Start::AsRecorded);
                Self::FromStart(settings, Box::new(own), Box::new(run))
            }
            Self::FromStart(settings, own, mut run) => {
                if !run.run(recording, is_over) {
                    return Self::FromStart(settings, own, run);
                }
                let check = CheckRun::new(recording, &settings);
                let outcome = run.into_outcome();
                Self::Check(settings, Box::new((*own, outcome)), Box::new(check))
            }
            Self::Check(settings, replays, mut check) => {
                if !check.run(recording, is_over) {
                    return Self::Check(settings, replays, check);
                }
                let (own, outcome) = *replays;
                let check = check.into_check(recording, own.peak_reserved_bytes);
                let baseline = Baseline::of(recording, settings, own, &outcome, check);
                Self::Done(Box::new(baseline))
            }
            Self::Done(_) => self,
        }
    }
}

/// What what-ifs of one device are compared with.
#[derive(Clone, PartialEq, Debug)]
pub struct Baseline {
    /// The file's own settings.
    settings: ModelSettings,
    /// The replay under the file's own settings, from an empty allocator.
    pub own: WhatIf,
    /// How far its peaks are off.
    pub error: ModelError,
    /// How closely it follows the recording, event by event.
    pub check: Check,
    /// How far to trust it, as sentences: its peaks, and how closely it follows the recording.
    pub trust: Vec<String>,
    /// Why what-ifs are not to be given, as a sentence; `None` where they are.
    pub refusal: Option<String>,
    /// What bears on memory and is not modelled, as sentences.
    pub notes: Vec<String>,
    /// Settings worth a try: each the `changes` of a what-if.
    pub suggestions: Vec<String>,
}

impl Baseline {
    /// From both replays under the file's own settings, and the check.
    fn of(
        recording: Recording<'_>,
        settings: ModelSettings,
        own: WhatIf,
        from_start: &Outcome,
        check: Check,
    ) -> Self {
        let modelled = from_start.peak_reserved_bytes;
        let error = ModelError::of(check.recorded_peak_bytes, modelled, own.peak_reserved_bytes);
        let forged = refused_though_served(recording, from_start);
        let mut notes = ModelSettings::not_modelled(recording.snapshot);
        notes.extend(trust::refused_from_empty(&own));
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

    /// The replay under the file's settings with changes, such as `expandable_segments:True,max_split_size_mb:128`.
    ///
    /// # Errors
    /// As [`trial`](Self::trial).
    pub fn what_if(&self, recording: Recording<'_>, changes: &str) -> Result<WhatIf, String> {
        let mut trial = self.trial(recording, changes)?;
        while !trial.run(recording, &mut || false) {}
        Ok(trial.into_what_if(recording, self))
    }

    /// The same in slices.
    ///
    /// # Errors
    /// Why there is none: what is wrong with the changes, or that the model is too far off.
    pub fn trial(&self, recording: Recording<'_>, changes: &str) -> Result<Trial, String> {
        let settings = self.settings.with_changes(changes)?;
        match &self.refusal {
            Some(refusal) => Err(refusal.clone()),
            None => Ok(Trial {
                changes: changes.to_owned(),
                run: Run::new(recording, &settings, Start::Afresh),
                own: self.own(),
                second: None,
                settings,
            }),
        }
    }

    fn own(&self) -> Own {
        Own {
            refused: self.own.refused,
            refused_though_served: self.own.refused_though_served,
            rescued: self.own.rescued,
            limit_bytes: self.settings.limit_bytes(),
            error_bytes: self.error.largest_bytes(),
        }
    }
}

/// A what-if on its way.
pub struct Trial {
    changes: String,
    settings: ModelSettings,
    run: Run,
    own: Own,
    /// The same once more with less or more to have, where the model's error decides whether it fits.
    second: Option<Run>,
}

/// What a [`Trial`] knows of its [`Baseline`].
#[derive(Clone, Copy)]
struct Own {
    refused: u64,
    refused_though_served: u64,
    rescued: u64,
    limit_bytes: Option<u64>,
    error_bytes: u64,
}

impl Own {
    /// Whether more requests fail than under the file's own settings, or others: a program may have ended at the first.
    fn fails(&self, refused: u64, refused_though_served: u64) -> bool {
        refused > self.refused || refused_though_served > self.refused_though_served
    }
}

impl Trial {
    /// Goes on until `is_over`, or until the next stage; whether it is at its end. `recording` is the one that it was made of.
    pub fn run(&mut self, recording: Recording<'_>, is_over: &mut dyn FnMut() -> bool) -> bool {
        if let Some(second) = &mut self.second {
            return second.run(recording, is_over);
        }
        if !self.run.run(recording, is_over) {
            return false;
        }
        let other = self.doubt(recording);
        self.second = other.map(|settings| Run::new(recording, &settings, Start::Afresh));
        self.second.is_none()
    }

    /// With which settings to look again: where what fits would not with as much less to have as the model may be wrong by,
    /// or the other way round.
    fn doubt(&self, recording: Recording<'_>) -> Option<ModelSettings> {
        let (limit, error) = (self.settings.limit_bytes()?, self.own.error_bytes);
        let outcome = self.run.outcome();
        let fails = self.fails(recording, outcome);
        let is_asked = fails
            || Some(limit) != self.own.limit_bytes
            || outcome.rescued.len() as u64 > self.own.rescued;
        let is_near = fails || outcome.peak_reserved_bytes > limit.saturating_sub(error);
        let is_in_doubt = error > 0 && is_asked && is_near;
        is_in_doubt.then(|| match fails {
            true => self
                .settings
                .with_limits(|limit| limit.saturating_add(error)),
            false => self
                .settings
                .with_limits(|limit| limit.saturating_sub(error)),
        })
    }

    fn fails(&self, recording: Recording<'_>, outcome: &Outcome) -> bool {
        let refused = outcome.refused.len() as u64;
        let though_served = refused_though_served(recording, outcome);
        self.own.fails(refused, though_served)
    }

    /// The answer, once it is at its end; `baseline` is the one that it was made by.
    #[must_use]
    pub fn into_what_if(self, recording: Recording<'_>, baseline: &Baseline) -> WhatIf {
        let failing = |run: &Run| self.fails(recording, run.outcome());
        let second = self.second.as_ref();
        let is_close = second.is_some_and(|second| failing(second) != failing(&self.run));
        let refused = second.map(|second| second.outcome().refused.len() as u64);
        let outcome = self.run.into_outcome();
        let mut row = WhatIf::of(recording, &self.changes, &self.settings, outcome);
        row.refused_within_error = refused;
        row.judge(baseline, &self.settings, is_close);
        row
    }
}

/// Changes of the file's settings that often help, or that are often tried.
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
