//! Named ranges of a device's recording, as lanes with rows: annotations, the user's metadata, regions of
//! `torch.compile`, and inferred phases.
//!
//! Annotations have times. Only captures of vramscope-capture record their thread; then each thread, and each NVTX
//! domain in it, has a lane of its own, and so has each stream that orders annotations. Metadata and compile contexts
//! are texts of every event, so a run of equal texts makes a range. Annotations by torch itself (guard lookups,
//! collectives) have a lane of their own. The ranges of a row never overlap, so the visible ones are found by
//! bisection. [`range_totals`](super::range_totals) computes their memory use.

mod growth;
mod name;
mod rows;
mod steps;
mod threads;

pub use growth::{FEW_STEPS, StepGrowth, WARM_UP};
pub use name::RangeName;
pub use steps::{Step, Steps, StepsBy, repeated_steps, steps};
use threads::Owner;
pub use threads::thread_names;

use serde::{Deserialize, Serialize};

use super::annotations::{NamedRange, named_ranges};
use super::history::History;
use super::phase::PhaseRange;
use super::selection::Moments;
use crate::Snapshot;
use crate::ids::{EventId, StringId};
use crate::model::{Action, Annotation, Context, NO_TIME, Profile};
use crate::sorting::SortFew;

/// The source of a lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneKind {
    /// `external_annotations`: `record_function`, optimizer steps, profiler steps.
    Annotations,
    /// `external_annotations` made by torch itself.
    Internal,
    /// `user_metadata` of the events.
    UserMetadata,
    /// `compile_context` of the events.
    CompileContext,
    /// Phases inferred from stacks, where no annotation names them.
    Inferred,
}

impl LaneKind {
    /// The kind's name in all outputs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Annotations => "annotation",
            Self::Internal => "internal",
            Self::UserMetadata => "user_metadata",
            Self::CompileContext => "compile_context",
            Self::Inferred => "inferred",
        }
    }

    /// All kinds, in display order.
    pub const ALL: [Self; 5] = [
        Self::Annotations,
        Self::Inferred,
        Self::UserMetadata,
        Self::CompileContext,
        Self::Internal,
    ];
}

/// A named range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LaneRange {
    /// Its name.
    pub name: RangeName,
    /// The moment before its first event.
    pub from: u32,
    /// The moment after its last event; equal to `from` if it contains no event.
    pub to: u32,
    /// µs since the Unix epoch; [`NO_TIME`] when the trace has no times.
    pub start_us: i64,
    /// µs since the Unix epoch, not before `start_us`; [`NO_TIME`] when the trace has no times.
    pub end_us: i64,
    /// Whether its start was not recorded. It then starts with the recording.
    pub is_open_start: bool,
    /// Whether its end was not recorded. It then lasts to the end of the recording.
    pub is_open_end: bool,
    /// Row of its mark in the snapshot's annotations; `None` if it is not an annotation.
    pub mark: Option<u32>,
}

impl LaneRange {
    /// Its moments.
    #[must_use]
    pub fn moments(&self) -> Moments {
        (self.from, self.to)
    }

    /// The annotation that began it.
    #[must_use]
    pub fn annotation<'a>(&self, snapshot: &'a Snapshot) -> Option<&'a Annotation> {
        snapshot.annotations.rows.get(self.mark? as usize)
    }
}

/// Ranges of one kind. Annotations with a known thread or domain have a lane per thread (or stream) and domain.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Lane {
    /// The kind of its ranges.
    pub kind: LaneKind,
    /// The domain and the thread or stream; empty if neither is known.
    pub name: String,
    /// Rows from the outermost to the innermost ranges, each in order of time. No row is empty. The ranges of a row do
    /// not overlap, except in the last of [`MAX_ROWS`].
    pub rows: Vec<Vec<LaneRange>>,
}

impl Lane {
    /// Number of its ranges.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.iter().map(Vec::len).sum()
    }

    /// Its name, or else its kind.
    #[must_use]
    pub fn title(&self) -> &str {
        if self.name.is_empty() {
            self.kind.word()
        } else {
            &self.name
        }
    }

    /// Whether it has no ranges.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Most rows of a lane. Deeper ranges share the last row.
pub const MAX_ROWS: usize = 32;

/// Most lanes of a kind. Annotations of further threads share a lane named [`OTHER_THREADS`].
pub const MAX_LANES: usize = 32;

/// The name of the last lane if there are too many threads.
pub const OTHER_THREADS: &str = "other threads";

/// All lanes of one device.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Lanes {
    /// The lanes with at least one range, in the order of [`LaneKind::ALL`], then by first start.
    pub lanes: Vec<Lane>,
    /// Number of annotations of the device that lie wholly before or after the recorded events.
    pub outside: u64,
    /// Number of annotations of the device that cannot be placed: they or the events have no times, or the clock was
    /// set back during them.
    pub unplaced: u64,
}

impl Lanes {
    /// The recorded lanes of `history`'s device. An annotation without a device belongs to every device.
    #[must_use]
    pub fn of(snapshot: &Snapshot, history: &History) -> Self {
        let mut lanes = Self::default();
        let (own, internal) = lanes.placed_annotations(snapshot, history);
        let own = threads::apart(snapshot, &own);
        let internal = threads::apart(snapshot, &internal);
        // In a profile, the metadata is the inputs of a single operator.
        let is_profile = Profile::of(snapshot).is_some();
        let metadata = |context: &Context| context.user_metadata.filter(|_| !is_profile);
        let region = |context: &Context| context.compile_context;
        for kind in LaneKind::ALL {
            let of_threads = |threads: &[(String, Vec<LaneRange>)]| {
                let lanes = threads.iter();
                let lanes = lanes.map(|(name, ranges)| (name.clone(), rows::packed(ranges)));
                lanes.collect()
            };
            let found = match kind {
                LaneKind::Annotations => of_threads(&own),
                LaneKind::Internal => of_threads(&internal),
                LaneKind::UserMetadata => row_of(runs(snapshot, history, metadata)),
                LaneKind::CompileContext => row_of(runs(snapshot, history, region)),
                LaneKind::Inferred => Vec::new(),
            };
            let new = found.into_iter();
            let new = new.map(|(name, rows)| Lane { kind, name, rows });
            lanes.lanes.extend(new);
        }
        lanes
    }

    /// Adds a lane of inferred phases, which must be in order of time.
    #[must_use]
    pub fn with_phases(
        mut self,
        history: &History,
        phases: impl Iterator<Item = PhaseRange>,
    ) -> Self {
        let range = |phase: PhaseRange| LaneRange {
            name: RangeName::Phase(phase.phase),
            from: phase.from,
            to: phase.to,
            start_us: time_of(history, phase.from + 1),
            end_us: time_of(history, phase.to),
            is_open_start: phase.from == 0,
            is_open_end: phase.to == history.event_count,
            mark: None,
        };
        let kind = LaneKind::Inferred;
        let mut above = self.lanes.iter();
        let above = above.rposition(|lane| lane.kind == LaneKind::Annotations);
        let new = row_of(phases.map(range).collect());
        for (name, rows) in new {
            let place = above.map_or(0, |last| last + 1);
            self.lanes.insert(place, Lane { kind, name, rows });
        }
        self
    }

    /// The lanes of a kind with at least one range. There is at most one unless threads or domains are known.
    pub fn of_kind(&self, kind: LaneKind) -> impl DoubleEndedIterator<Item = &Lane> {
        self.lanes.iter().filter(move |lane| lane.kind == kind)
    }

    /// The ranges around the event before a moment, the outermost of each lane first.
    pub fn around<'a>(&'a self, moment: u32) -> impl Iterator<Item = (LaneKind, &'a LaneRange)> {
        let of_lane = |lane: &'a Lane| {
            let ranges = lane.rows.iter().flatten();
            ranges.map(|range| (lane.kind, range))
        };
        let ranges = self.lanes.iter().flat_map(of_lane);
        ranges.filter(move |(_, range)| range.from < moment && moment <= range.to)
    }

    /// The user's and torch's own annotations by start. Counts those that cannot be placed.
    fn placed_annotations(
        &mut self,
        snapshot: &Snapshot,
        history: &History,
    ) -> (Vec<Placed>, Vec<Placed>) {
        let (mut own, mut internal) = (Vec::new(), Vec::new());
        for range in named_ranges(snapshot) {
            if range.device >= 0 && u32::try_from(range.device) != Ok(history.device) {
                continue;
            }
            match place(history, &range) {
                Placement::Inside(placed) => {
                    let is_internal = is_internal(snapshot.strings.get(range.name));
                    let ranges = if is_internal { &mut internal } else { &mut own };
                    ranges.push(((Owner::of(&range), range.domain), placed));
                }
                Placement::Outside => self.outside += 1,
                Placement::Unplaced => self.unplaced += 1,
            }
        }
        for ranges in [&mut own, &mut internal] {
            ranges.sort_few_by_key(|(_, range)| (range.start_us, std::cmp::Reverse(range.end_us)));
        }
        (own, internal)
    }
}

/// A range with its owner and domain.
type Placed = ((Owner, Option<StringId>), LaneRange);

enum Placement {
    Inside(LaneRange),
    Outside,
    Unplaced,
}

fn place(history: &History, range: &NamedRange) -> Placement {
    let times = &history.moment_start_us;
    let (Some(first), Some(last)) = (times.first(), times.last()) else {
        return Placement::Unplaced;
    };
    if range.start_us.is_none() && range.end_us.is_none() {
        return Placement::Unplaced;
    }
    if !range.is_clear(times) {
        return Placement::Unplaced;
    }
    let start_us = range
        .start_us
        .unwrap_or(first.min(range.end_us.unwrap_or(first)));
    let end_us = range.end_us.unwrap_or(last.max(start_us)).max(start_us);
    if end_us < first || start_us > last {
        return Placement::Outside;
    }
    // Moment m > 0 begins with event m.
    let from = times.events_before(|time| time < start_us);
    let to = times.events_before(|time| time <= end_us);
    Placement::Inside(LaneRange {
        name: RangeName::Recorded(range.name),
        from,
        to,
        start_us,
        end_us,
        is_open_start: range.start_us.is_none(),
        is_open_end: range.end_us.is_none(),
        mark: Some(range.mark),
    })
}

/// Whether torch itself makes such annotations and users would call them noise. torch also annotates optimizer steps
/// and the data loader, but these show what the program is doing.
fn is_internal(name: &str) -> bool {
    const BEGINNINGS: [&str; 15] = [
        "TorchDynamo",
        "Torch-Compiled Region",
        "AOTDispatcher",
        "Pregraph bytecode",
        "## Call CompiledFxGraph",
        "CompiledFxGraph",
        "CompiledFunction",
        "CachingAutotuner",
        "inductor",
        "record_param_comms",
        "nccl:",
        "gloo:",
        "c10d::",
        "aten::",
        "autograd::engine",
    ];
    let starts = BEGINNINGS
        .iter()
        .any(|beginning| name.starts_with(beginning));
    starts || name.ends_with("(dynamo_timed)")
}

/// A lane of one row, without a name.
fn row_of(ranges: Vec<LaneRange>) -> Vec<(String, Vec<Vec<LaneRange>>)> {
    if ranges.is_empty() {
        return Vec::new();
    }
    vec![(String::new(), vec![ranges])]
}

/// Runs of the same text over a device's allocs and frees. Segment events, snapshots and the like neither begin nor end
/// a run; an alloc or free without the text ends it. Texts belong to threads, so the runs of two busy threads
/// alternate.
fn runs(
    snapshot: &Snapshot,
    history: &History,
    text_of: impl Fn(&Context) -> Option<StringId>,
) -> Vec<LaneRange> {
    let is_text = |&id: &StringId| !matches!(snapshot.strings.get(id), "" | "N/A");
    let contexts = snapshot.contexts.rows().iter();
    let texts: Vec<_> = contexts.map(|row| text_of(row).filter(is_text)).collect();
    if texts.iter().all(Option::is_none) {
        return Vec::new();
    }
    let mut ranges: Vec<LaneRange> = Vec::new();
    let mut current = None;
    for (moment, event) in (1..=history.event_count).map(|moment| {
        let event = EventId(history.first_event.saturating_add(moment - 1));
        (moment, event.index())
    }) {
        let (Some(action), Some(context)) = (
            snapshot.events.action.get(event),
            snapshot.events.context.get(event),
        ) else {
            break;
        };
        if !matches!(
            action,
            Action::Alloc | Action::FreeRequested | Action::FreeCompleted
        ) {
            continue;
        }
        let text = texts.get(context.index()).copied().flatten();
        let time_us = time_of(history, moment);
        match (text, ranges.last_mut()) {
            (Some(_), Some(range)) if current == text => {
                range.to = moment;
                range.end_us = time_us;
            }
            (Some(name), _) => ranges.push(LaneRange {
                name: RangeName::Recorded(name),
                from: moment - 1,
                to: moment,
                start_us: time_us,
                end_us: time_us,
                is_open_start: false,
                is_open_end: false,
                mark: None,
            }),
            (None, _) => {}
        }
        current = text;
    }
    ranges
}

fn time_of(history: &History, moment: u32) -> i64 {
    let time = history.moment_start_us.get(moment);
    time.unwrap_or(NO_TIME)
}

#[cfg(test)]
mod tests;
