//! Finds the steps of a training run among the named and the inferred ranges.
//!
//! The result includes the evidence. The profiler's own steps are the best evidence, then ranges named step, iteration,
//! batch or epoch with a number, then repeated ranges with such a name but without a number. Otherwise each optimizer
//! step ends a step, annotated or else inferred from stacks. An optimizer that allocates nothing cannot be seen; then
//! each backward pass ends a step.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{LaneKind, LaneRange, Lanes, RangeName};
use crate::Snapshot;
use crate::analysis::time::history::History;
use crate::analysis::time::phase::Phase;
use crate::analysis::time::range_totals::{RangeSums, RangeTotals};
use crate::analysis::time::selection::Moments;
use crate::ids::StringId;
use crate::model::{NO_TIME, StringTable};

/// The evidence for the steps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepsBy {
    /// `ProfilerStep#N`.
    Profiler,
    /// A name such as `train_step 12`, as an annotation.
    Numbered,
    /// A name such as `train_step 12`, as user metadata.
    NumberedMetadata,
    /// A name such as `training_step`, more than once.
    Repeated,
    /// Each step ends with an optimizer step.
    Optimizer,
    /// Each step ends with a step of the optimizer, inferred from stacks.
    InferredOptimizer,
    /// Each step ends with a backward pass, inferred from stacks.
    InferredBackward,
    /// Each step begins with the same code, and the code after it repeats.
    InferredRepetition,
    /// Each step begins with a forward pass, inferred from stacks; for programs in which nothing else repeats.
    InferredForward,
}

impl StepsBy {
    /// Whether the steps are inferred, because the program names neither steps nor optimizer.
    #[must_use]
    pub fn is_inferred(self) -> bool {
        self >= Self::InferredOptimizer
    }
}

/// One step.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Step {
    /// The name given by the program. For steps found by the optimizer, the name of the optimizer step.
    pub name: RangeName,
    /// The number in its name, or else its index.
    pub number: u64,
    /// The moments before its first event and after its last one.
    pub moments: Moments,
    /// µs since the Unix epoch; `None` when the trace has no times.
    pub start_us: Option<i64>,
    /// µs since the Unix epoch; `None` when the trace has no times.
    pub end_us: Option<i64>,
    /// Whether its beginning and its end were recorded.
    pub is_whole: bool,
    /// Totals of the live bytes during it.
    pub totals: RangeTotals,
}

impl Step {
    /// Its name, or its number if it has no name.
    #[must_use]
    pub fn title(&self, strings: &StringTable) -> String {
        match self.name {
            RangeName::Step => format!("step {}", self.number),
            name => name.text(strings).to_owned(),
        }
    }
}

/// The steps of one device in order of time, without overlaps.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Steps {
    /// The evidence.
    pub by: StepsBy,
    /// Their common name, with `#` for numbers.
    pub pattern: String,
    /// The steps; at least one.
    pub steps: Vec<Step>,
}

impl Steps {
    /// The same steps with totals of another history over the same moments. `sums` must be made from that history.
    #[must_use]
    pub fn totalled(&self, history: &History, sums: &RangeSums) -> Self {
        let step = |step: &Step| Step {
            totals: sums.totals(history, step.moments),
            ..step.clone()
        };
        Self {
            steps: self.steps.iter().map(step).collect(),
            ..self.clone()
        }
    }
}

/// The training steps of `history`'s device, if any range looks like one. `lanes` and `sums` must come from the same
/// history.
#[must_use]
pub fn steps(
    snapshot: &Snapshot,
    history: &History,
    lanes: &Lanes,
    sums: &RangeSums,
) -> Option<Steps> {
    let mut groups: BTreeMap<Key, Vec<Candidate>> = BTreeMap::new();
    let mut names = Names::new(snapshot);
    // If some annotations cannot be placed, steps may be among them.
    let annotations = (lanes.unplaced == 0).then_some(LaneKind::Annotations);
    let of_events = [LaneKind::UserMetadata, LaneKind::Inferred];
    for kind in annotations.into_iter().chain(of_events) {
        for (lane, row, range) in ranges_of(lanes, kind) {
            let Some((by, rank, number, pattern)) = names.evidence(kind, range.name) else {
                continue;
            };
            let key = (by, rank, row, pattern.to_owned(), lane);
            let range = *range;
            let candidate = Candidate { range, number };
            groups.entry(key).or_default().push(candidate);
        }
    }
    let needs_several = |by: StepsBy| by == StepsBy::Repeated || by.is_inferred();
    groups.retain(|key, ranges| !needs_several(key.0) || ranges.len() > 1);
    let best = groups.keys().map(|key| (key.0, key.1, key.2)).next()?;
    // Among equally good names, the one with the most ranges wins.
    let (key, candidates) = groups
        .into_iter()
        .filter(|(key, _)| (key.0, key.1, key.2) == best)
        .rev()
        .max_by_key(|(_, ranges)| ranges.len())?;
    let spans = match key.0 {
        StepsBy::Optimizer | StepsBy::InferredOptimizer | StepsBy::InferredBackward => {
            between_ends(history, &candidates)
        }
        StepsBy::NumberedMetadata => joined(&candidates),
        _ => apart(&candidates),
    };
    let steps = (0..).zip(spans);
    let steps = steps.map(|(place, span)| span.step(place, history, sums));
    Some(Steps {
        by: key.0,
        pattern: key.3,
        steps: steps.collect(),
    })
}

/// Steps that begin where a program repeats itself, given by the moment before each; `None` without any. The last step
/// lasts to the end. `by` is the repeated work: [`StepsBy::InferredRepetition`] or [`StepsBy::InferredForward`].
#[must_use]
pub fn repeated_steps(
    history: &History,
    sums: &RangeSums,
    by: StepsBy,
    begins: &[u32],
) -> Option<Steps> {
    let ends = begins.iter().skip(1).map(|&next| (next, false));
    let ends = ends.chain([(history.event_count, true)]);
    let time = |moment: u32| history.moment_start_us.get(moment);
    let spans = begins
        .iter()
        .zip(ends)
        .map(|(&from, (to, is_open_end))| Span {
            range: LaneRange {
                name: RangeName::Step,
                from,
                to,
                start_us: time(from + 1).unwrap_or(NO_TIME),
                end_us: time(to).unwrap_or(NO_TIME),
                is_open_start: false,
                is_open_end,
                mark: None,
            },
            number: None,
        });
    let steps = (0..).zip(spans);
    let steps: Vec<Step> = steps
        .map(|(place, span)| span.step(place, history, sums))
        .collect();
    (!steps.is_empty()).then(|| Steps {
        by,
        pattern: match by {
            StepsBy::InferredForward => "forward pass",
            _ => "repeated code",
        }
        .to_owned(),
        steps,
    })
}

/// The evidence, the rank of the word (0 is best), the row, the name with `#` for numbers, and the lane.
type Key = (StepsBy, usize, usize, String, usize);

/// Ranges of a kind, each with the index of its lane within the kind, and of its row.
fn ranges_of(lanes: &Lanes, kind: LaneKind) -> impl Iterator<Item = (usize, usize, &LaneRange)> {
    let rows = lanes.of_kind(kind).enumerate().flat_map(|(lane, it)| {
        it.rows
            .iter()
            .enumerate()
            .map(move |(row, ranges)| (lane, row, ranges))
    });
    rows.flat_map(|(lane, row, ranges)| ranges.iter().map(move |range| (lane, row, range)))
}

#[derive(Clone, Copy)]
struct Candidate {
    range: LaneRange,
    number: Option<u64>,
}

/// A step without its figures.
struct Span {
    range: LaneRange,
    number: Option<u64>,
}

impl Span {
    fn step(self, place: u64, history: &History, sums: &RangeSums) -> Step {
        let range = self.range;
        let time = |us: i64| (us != NO_TIME).then_some(us);
        Step {
            name: range.name,
            number: self.number.unwrap_or(place),
            moments: range.moments(),
            start_us: time(range.start_us),
            end_us: time(range.end_us),
            is_whole: !range.is_open_start && !range.is_open_end,
            totals: sums.totals(history, range.moments()),
        }
    }
}

/// The candidates as spans, without those that begin within the previous one. Events at the time at which one ends and
/// the next begins belong to the first.
fn apart(candidates: &[Candidate]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for &Candidate { mut range, number } in candidates {
        if let Some(Span { range: last, .. }) = spans.last() {
            if range.start_us < last.end_us || range.to < last.to {
                continue;
            }
            range.from = range.from.max(last.to);
        }
        spans.push(Span { range, number });
    }
    spans
}

/// The candidates as spans, where neighbours of the same number are joined.
fn joined(candidates: &[Candidate]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for &Candidate { range, number } in candidates {
        match spans.last_mut().filter(|last| last.number == number) {
            Some(last) => {
                last.range.to = range.to;
                last.range.end_us = range.end_us;
            }
            None => spans.push(Span { range, number }),
        }
    }
    spans
}

/// Spans from the end of each optimizer step to the end of the next. What lies before the first and after the last end
/// is an incomplete step.
fn between_ends(history: &History, candidates: &[Candidate]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let first_us = history.moment_start_us.first();
    let (mut from, mut start_us) = (0, first_us.unwrap_or(NO_TIME));
    let (mut is_open_start, mut name) = (true, None);
    for Candidate { range, .. } in candidates.iter().filter(|it| !it.range.is_open_end) {
        if range.to < from {
            continue;
        }
        // An inferred phase ends a step, but does not name it.
        let range_name = match range.name {
            RangeName::Phase(_) => RangeName::Step,
            name => name,
        };
        let range = LaneRange {
            name: range_name,
            from,
            start_us,
            is_open_start,
            mark: None,
            ..*range
        };
        (from, start_us, is_open_start) = (range.to, range.end_us, false);
        name = Some(range.name);
        let number = None;
        spans.push(Span { range, number });
    }
    if let Some(name) = name.filter(|_| from < history.event_count) {
        let range = LaneRange {
            name,
            from,
            to: history.event_count,
            start_us,
            end_us: history.moment_start_us.last().unwrap_or(NO_TIME),
            is_open_start,
            is_open_end: true,
            mark: None,
        };
        let number = None;
        spans.push(Span { range, number });
    }
    spans
}

/// A cache of the evidence in names, so that each name is read once.
struct Names<'a> {
    snapshot: &'a Snapshot,
    read: BTreeMap<StringId, Option<Reading>>,
}

/// The evidence in a name.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Reading {
    kind: Word,
    rank: usize,
    number: Option<u64>,
    pattern: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    Profiler,
    Step,
    Optimizer,
}

impl<'a> Names<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let read = BTreeMap::new();
        Self { snapshot, read }
    }

    /// The evidence in the name of a range: its kind, the rank of the word, the number, and the name with `#` for it.
    fn evidence(
        &mut self,
        kind: LaneKind,
        name: RangeName,
    ) -> Option<(StepsBy, usize, Option<u64>, &str)> {
        match name {
            RangeName::Recorded(name) => {
                let found = self.read(name)?;
                Some((found.by(kind)?, found.rank, found.number, &found.pattern))
            }
            RangeName::Phase(Phase::Optimizer) => {
                Some((StepsBy::InferredOptimizer, 0, None, "optimizer step"))
            }
            RangeName::Phase(Phase::Backward) => {
                Some((StepsBy::InferredBackward, 0, None, "backward pass"))
            }
            RangeName::Phase(Phase::Forward) | RangeName::Step => None,
        }
    }

    fn read(&mut self, name: StringId) -> Option<&Reading> {
        let text = self.snapshot.strings.get(name);
        self.read
            .entry(name)
            .or_insert_with(|| read_name(text))
            .as_ref()
    }
}

impl Reading {
    fn by(&self, kind: LaneKind) -> Option<StepsBy> {
        let is_metadata = kind == LaneKind::UserMetadata;
        match (self.kind, self.number) {
            (Word::Profiler, _) => Some(StepsBy::Profiler),
            (Word::Step, Some(_)) if is_metadata => Some(StepsBy::NumberedMetadata),
            (Word::Step, Some(_)) => Some(StepsBy::Numbered),
            _ if is_metadata => None,
            (Word::Step, None) => Some(StepsBy::Repeated),
            (Word::Optimizer, _) => Some(StepsBy::Optimizer),
        }
    }
}

/// Longest name of a step that is recognised.
const LONGEST_NAME: usize = 400;

/// Words at the end of a step's name, the best first.
const WORDS: [&str; 9] = [
    "step",
    "steps",
    "iteration",
    "iter",
    "it",
    "minibatch",
    "batch",
    "epochs",
    "epoch",
];

fn read_name(name: &str) -> Option<Reading> {
    if name.len() > LONGEST_NAME {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    if let Some(number) = name.strip_prefix("ProfilerStep#") {
        return Some(Reading {
            kind: Word::Profiler,
            rank: 0,
            number: number.parse().ok(),
            pattern: "ProfilerStep#".to_owned(),
        });
    }
    // zero_grad does not count, because it begins as many loops as it ends.
    let is_optimizer = lower.contains("optimizer") && !lower.contains("zero_grad");
    if is_optimizer && (lower.contains("step") || lower.trim_matches(['#', ' ']) == "optimizer") {
        return Some(Reading {
            kind: Word::Optimizer,
            rank: 0,
            number: None,
            pattern: name.to_owned(),
        });
    }
    let is_number = |c: char| c.is_ascii_digit();
    let last_digit = lower.rfind(is_number);
    let numbered = last_digit.and_then(|last| {
        let before = lower[..=last].trim_end_matches(is_number);
        let rank = rank_of_last_word(before)?;
        Some((rank, lower[before.len()..=last].parse().ok()?))
    });
    let (rank, number) = match numbered {
        Some((rank, number)) => (rank, Some(number)),
        None => (rank_of_last_word(&lower)?, None),
    };
    Some(Reading {
        kind: Word::Step,
        rank,
        number,
        pattern: with_marks(name),
    })
}

/// The index in [`WORDS`] of the last word of `text`, which may be followed by characters other than letters.
fn rank_of_last_word(text: &str) -> Option<usize> {
    let text = text.trim_end_matches(|c: char| !c.is_alphabetic());
    let start = text
        .char_indices()
        .rev()
        .find(|(_, c)| !c.is_alphabetic())
        .map_or(0, |(at, c)| at + c.len_utf8());
    let word = &text[start..];
    WORDS.iter().position(|known| {
        // `trainstep` counts, and so does `footstep`. But `bit` must not match `it`, nor `filter` match `iter`.
        word == *known
            || (known.len() > 4 && word.ends_with(known))
            || word == format!("train{known}")
    })
}

fn with_marks(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for c in name.chars() {
        match (c.is_ascii_digit(), pattern.ends_with('#')) {
            (false, _) => pattern.push(c),
            (true, false) => pattern.push('#'),
            (true, true) => {}
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_steps() {
        let read = |name: &str| {
            let reading = read_name(name)?;
            Some((reading.kind, reading.number, reading.pattern))
        };
        let step = |number, pattern: &str| Some((Word::Step, number, pattern.to_owned()));
        assert_eq!(read("train_step 12"), step(Some(12), "train_step #"));
        assert_eq!(
            read("epoch 1/Iteration_3"),
            step(Some(3), "epoch #/Iteration_#")
        );
        assert_eq!(
            read("{\"phase\":\"fwd\",\"step\":7}"),
            step(Some(7), "{\"phase\":\"fwd\",\"step\":#}")
        );
        assert_eq!(read("training_step"), step(None, "training_step"));
        assert_eq!(
            read("[pl][profile]run_training_batch"),
            step(None, "[pl][profile]run_training_batch")
        );
        assert_eq!(read("ProfilerStep#4").unwrap().0, Word::Profiler);
        assert_eq!(
            read("Optimizer.step#Adam8bit.step").unwrap().0,
            Word::Optimizer
        );
        assert_eq!(read("## optimizer ##").unwrap().0, Word::Optimizer);
        for other in [
            "forward",
            "layer 3",
            "Optimizer.zero_grad#AdamW.zero_grad",
            "bit 3",
            "filter 2",
            "",
            "7",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
