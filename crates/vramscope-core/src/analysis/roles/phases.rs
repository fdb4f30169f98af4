//! The phases of a training or inference program, inferred from the stacks of its events: forward, backward, optimizer.
//!
//! Each event with an informative stack is in a phase. Neighbours of the same phase make a range. If stacks are
//! Python-only, the backward pass has none: its thread runs no Python. Events without a stack then belong to it once
//! Python has started it; if no stack shows the start but the program trains, they belong to it after a forward pass.
//! Events without any stack, or with only operators on it, are in the phase named by the innermost annotation around
//! them.

use super::signals::{Signals, StackSignals};
use crate::Snapshot;
use crate::analysis::time::history::History;
use crate::analysis::time::lanes::{LaneKind, LaneRange, Lanes};
use crate::analysis::time::phase::PhasePeak;
pub use crate::analysis::time::phase::{Phase, PhaseRange};
use crate::model::Action;
use crate::sorting::SortFew;

/// A position among the phases: `2 i + 1` is in range `i`, `2 i` is between it and the previous range.
pub(super) type Place = u32;

/// The place of an end that never comes.
pub(super) const NEVER_PLACE: Place = u32::MAX;

/// Number of moments per entry of the index of ranges.
const BLOCK: usize = 256;

/// Fewer forward passes do not make a loop.
const FEWEST_PASSES: usize = 4;

/// The phases of a device in order of time, without overlaps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Phases {
    /// The ranges. Two neighbours of the same phase are both [`Phase::Forward`], with other code between them.
    pub ranges: Vec<PhaseRange>,
    /// For each phase, the number of its ranges before each range, and finally the total.
    counts: [Vec<u32>; 3],
    /// For each [`BLOCK`] of moments, the number of ranges that end before it.
    ended: Vec<u32>,
    /// For each phase, whether annotations name it.
    is_named: [bool; 3],
}

impl Phases {
    /// The moments before the forward passes of a program with several of them and no other phase; `None` for other
    /// programs.
    #[must_use]
    pub fn forward_passes(&self) -> Option<Vec<u32>> {
        let is_forward = |range: &PhaseRange| range.phase == Phase::Forward;
        let are_alone = self.ranges.len() >= FEWEST_PASSES && self.ranges.iter().all(is_forward);
        are_alone.then(|| self.ranges.iter().map(|range| range.from).collect())
    }

    /// Infers the phases of `history`'s device in one pass over its events. `frees_tell`: whether frees have stacks of
    /// their own, not those of the allocations.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        history: &History,
        lanes: &Lanes,
        signals: &StackSignals,
        frees_tell: bool,
    ) -> Self {
        let annotated = annotated(snapshot, lanes);
        let is_named = Phase::ALL.map(|phase| annotated.iter().any(|range| range.phase == phase));
        let mut annotated = annotated.iter().peekable();
        let mut reader = Reader::new(snapshot, history, signals, frees_tell);
        let mut ranges = Ranges {
            is_without_modules: !signals.show_phase(Phase::Forward),
            ..Ranges::default()
        };
        for moment in 1..=history.event_count {
            let hint = match reader.hint(moment) {
                Hint::Unknown => {
                    while annotated.next_if(|range| range.to < moment).is_some() {}
                    let around = annotated.peek().filter(|range| range.from < moment);
                    around.map_or(Hint::Unknown, |range| Hint::In(range.phase))
                }
                hint => hint,
            };
            ranges.add(moment, hint);
        }
        let phases = Self::with(ranges.done);
        Self { is_named, ..phases }
    }

    /// The ranges of phases that no annotation names.
    pub fn unnamed(&self) -> impl Iterator<Item = PhaseRange> {
        let ranges = self.ranges.iter().copied();
        ranges.filter(|range| !self.is_named[range.phase as usize])
    }

    /// The phase of a moment; `None` between phases. The moment between two phases belongs to the first.
    #[must_use]
    pub fn at(&self, moment: u32) -> Option<Phase> {
        self.phase(self.place(moment))
    }

    /// The phase of a moment, or else the last one before it; `None` before the first.
    #[must_use]
    pub fn last_at(&self, moment: u32) -> Option<Phase> {
        let last = (self.place(moment) as usize).div_ceil(2).checked_sub(1)?;
        self.ranges.get(last).map(|range| range.phase)
    }

    /// Number of ranges that end before a moment.
    #[must_use]
    pub fn ended_before(&self, moment: u32) -> usize {
        self.place(moment) as usize / 2
    }

    /// The peak of each phase in the recording, in the order of a training step.
    #[must_use]
    pub fn peaks(&self, history: &History) -> Vec<PhasePeak> {
        let mut peaks: [Option<PhasePeak>; 3] = [None; 3];
        for &PhaseRange { phase, from, to } in &self.ranges {
            let peak = &mut peaks[phase as usize];
            for moment in from + 1..=to {
                let active_bytes = history.active_bytes_at(moment);
                if peak.is_none_or(|peak| active_bytes > peak.active_bytes) {
                    *peak = Some(PhasePeak {
                        phase,
                        moment,
                        active_bytes,
                    });
                }
            }
        }
        peaks.into_iter().flatten().collect()
    }

    fn with(ranges: Vec<PhaseRange>) -> Self {
        let counts = Phase::ALL.map(|phase| {
            let mut count = 0;
            let mut before = vec![0];
            before.extend(ranges.iter().map(|range| {
                count += u32::from(range.phase == phase);
                count
            }));
            before
        });
        let mut ended = Vec::new();
        for (at, range) in ranges.iter().enumerate() {
            ended.resize(range.to as usize / BLOCK + 1, at as u32);
        }
        Self {
            ranges,
            counts,
            ended,
            is_named: [false; 3],
        }
    }

    /// The place of the event before a moment.
    pub(super) fn place(&self, moment: u32) -> Place {
        let block = moment as usize / BLOCK;
        let ended = |block| {
            let ended = self.ended.get(block).map(|&ended| ended as usize);
            ended.unwrap_or(self.ranges.len())
        };
        let (first, last) = (ended(block), ended(block + 1));
        let at = first + self.ranges[first..last].partition_point(|range| range.to < moment);
        let is_inside = self.ranges.get(at).is_some_and(|range| range.from < moment);
        2 * at as Place + Place::from(is_inside)
    }

    /// The phase of a place; `None` between phases.
    pub(super) fn phase(&self, place: Place) -> Option<Phase> {
        let at = place.checked_sub(1).filter(|even| even % 2 == 0)? / 2;
        self.ranges.get(at as usize).map(|range| range.phase)
    }

    /// Number of ranges of a phase between two places, both included.
    pub(super) fn count(&self, phase: Phase, from: Place, to: Place) -> u32 {
        let before = &self.counts[phase as usize];
        let until = |place: Place| before[(place as usize).min(before.len() - 1)];
        until(to / 2 + to % 2).saturating_sub(until(from / 2))
    }

    /// Whether the recording ends in this place, if it is a phase.
    pub(super) fn is_last(&self, place: Place) -> bool {
        place as usize + 1 == 2 * self.ranges.len()
    }
}

/// What an event reveals about its phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hint {
    /// It is in a phase.
    In(Phase),
    /// It is in a phase if it follows that phase: a name alone does not begin one.
    StillIn(Phase),
    /// Code ran that belongs to no phase.
    Outside,
    /// A free by unknown code; taken to be in the phase before it.
    Same,
    /// Nothing is known.
    Unknown,
}

struct Reader<'a> {
    snapshot: &'a Snapshot,
    signals: &'a StackSignals,
    first_event: usize,
    frees_tell: bool,
    /// Whether most recorded allocations, and most frees, have stacks.
    has_stacks: [bool; 2],
    /// Whether a stack of the device shows where a backward pass starts.
    shows_starts: bool,
    /// Whether some stack shows training.
    trains: bool,
    /// Whether autograd's thread, which Python's stacks do not show, may be running.
    may_be_autograd: bool,
}

impl<'a> Reader<'a> {
    fn new(
        snapshot: &'a Snapshot,
        history: &History,
        signals: &'a StackSignals,
        frees_tell: bool,
    ) -> Self {
        let first_event = history.first_event as usize;
        let rows = first_event..first_event + history.event_count as usize;
        let mut counts = [[0_u32; 2]; 2];
        let mut shows_starts = false;
        for row in rows {
            if let Some(kind) = kind(snapshot.events.action[row]) {
                let stack = snapshot.events.stack[row];
                counts[kind][usize::from(stack.has_frames())] += 1;
                shows_starts |= signals.get(stack).has(Signals::STARTS_BACKWARD);
            }
        }
        Self {
            snapshot,
            signals,
            first_event,
            frees_tell,
            has_stacks: counts.map(|[without, with]| with > without / 4),
            shows_starts,
            trains: signals.show(TRAINING),
            may_be_autograd: false,
        }
    }

    fn hint(&mut self, moment: u32) -> Hint {
        let row = self.first_event + moment as usize - 1;
        let Some(kind) = kind(self.snapshot.events.action[row]) else {
            return Hint::Unknown;
        };
        if kind == FREE && !self.frees_tell && self.has_stacks[ALLOC] {
            return Hint::Same;
        }
        let stack = self.snapshot.events.stack[row];
        if stack.has_frames() {
            let signals = self.signals.get(stack);
            let phase = phase_of(signals);
            self.may_be_autograd = match phase {
                Some(Phase::Backward) => true,
                Some(Phase::Forward) => self.trains && !self.shows_starts,
                Some(Phase::Optimizer) => false,
                None => self.may_be_autograd,
            };
            return match phase {
                Some(phase) => Hint::In(phase),
                None if signals.has(Signals::NAMED_FORWARD) => Hint::StillIn(Phase::Forward),
                None if self.signals.are_operators() => Hint::Unknown,
                None => Hint::Outside,
            };
        }
        if self.has_stacks[kind] && self.signals.is_python_only() && self.may_be_autograd {
            return Hint::In(Phase::Backward);
        }
        Hint::Unknown
    }
}

/// Signals that only training gives.
const TRAINING: Signals = Signals::STARTS_BACKWARD
    .and(Signals::BACKWARD)
    .and(Signals::RECOMPUTE)
    .and(Signals::STEP)
    .and(Signals::ZERO_GRAD);

const ALLOC: usize = 0;
const FREE: usize = 1;

/// [`ALLOC`] or [`FREE`]; `None` for other events.
fn kind(action: Action) -> Option<usize> {
    match action {
        Action::Alloc => Some(ALLOC),
        Action::FreeRequested | Action::FreeCompleted => Some(FREE),
        _ => None,
    }
}

/// The phase that a stack shows. An optimizer's step may call the other passes as its closure, and the backward pass
/// repeats parts of the forward pass.
pub(super) fn phase_of(signals: Signals) -> Option<Phase> {
    if signals.has(Signals::BACKWARD) || signals.has(Signals::RECOMPUTE) {
        Some(Phase::Backward)
    } else if signals.has(Signals::FORWARD) {
        Some(Phase::Forward)
    } else if signals.has(Signals::STEP) {
        Some(Phase::Optimizer)
    } else {
        None
    }
}

/// Ranges under construction, event by event.
#[derive(Default)]
struct Ranges {
    done: Vec<PhaseRange>,
    /// Whether code that belongs to no phase ran since the last range.
    is_interrupted: bool,
    /// Whether no stack shows a forward pass.
    is_without_modules: bool,
}

impl Ranges {
    /// Whether other code between two events of a phase divides it. Other threads may interrupt a pass, but between two
    /// forward passes without a backward pass the program uses the first one's outputs. A forward pass that runs no
    /// modules is other code, too.
    fn splits(&self, phase: Phase) -> bool {
        match phase {
            Phase::Forward => true,
            Phase::Backward => self.is_without_modules,
            Phase::Optimizer => false,
        }
    }

    fn add(&mut self, moment: u32, hint: Hint) {
        let is_divided =
            self.is_interrupted && matches!(hint, Hint::In(phase) if self.splits(phase));
        match (hint, self.done.last_mut()) {
            (Hint::Same, Some(last)) if !self.is_interrupted => last.to = moment,
            (Hint::StillIn(phase), Some(last)) if last.phase == phase && !self.is_interrupted => {
                last.to = moment;
            }
            (Hint::Unknown | Hint::Same, _) => {}
            (Hint::Outside | Hint::StillIn(_), _) => self.is_interrupted = true,
            (Hint::In(phase), Some(last)) if last.phase == phase && !is_divided => {
                last.to = moment;
                self.is_interrupted = false;
            }
            (Hint::In(phase), _) => {
                let from = moment - 1;
                self.done.push(PhaseRange {
                    phase,
                    from,
                    to: moment,
                });
                self.is_interrupted = false;
            }
        }
    }
}

/// Annotated ranges named after a phase, cut so that each moment is only in the innermost, in order of time.
fn annotated(snapshot: &Snapshot, lanes: &Lanes) -> Vec<PhaseRange> {
    let lanes = lanes.of_kind(LaneKind::Annotations);
    let ranges = lanes.flat_map(|lane| lane.rows.iter().flatten());
    let named = |range: &LaneRange| {
        let phase = named_phase(range.name.text(&snapshot.strings))?;
        let (from, to) = range.moments();
        (from < to).then_some(PhaseRange { phase, from, to })
    };
    innermost(ranges.filter_map(named).collect())
}

/// Cuts overlapping ranges: a moment belongs to the range around it that began last.
fn innermost(mut ranges: Vec<PhaseRange>) -> Vec<PhaseRange> {
    ranges.sort_few_by_key(|range| (range.from, std::cmp::Reverse(range.to)));
    let mut cut = Vec::new();
    let mut open: Vec<PhaseRange> = Vec::new();
    let mut done = 0;
    // Closes the ranges that end by a moment, and gives the time before it to the innermost.
    let mut pass = |open: &mut Vec<PhaseRange>, moment: u32| {
        while let Some(&PhaseRange { phase, to, .. }) = open.last() {
            let end = to.min(moment);
            if done < end {
                cut.push(PhaseRange {
                    phase,
                    from: done,
                    to: end,
                });
                done = end;
            }
            if to > moment {
                break;
            }
            open.pop();
        }
        done = done.max(moment);
    };
    for range in ranges {
        pass(&mut open, range.from);
        open.push(range);
    }
    pass(&mut open, u32::MAX);
    cut
}

/// The phase in a name given by the program.
fn named_phase(name: &str) -> Option<Phase> {
    const WORDS: [(&str, Phase); 6] = [
        ("optimizer.step", Phase::Optimizer),
        ("optimizer_step", Phase::Optimizer),
        ("forward", Phase::Forward),
        ("fwd", Phase::Forward),
        ("backward", Phase::Backward),
        ("bwd", Phase::Backward),
    ];
    if name.len() > 200 {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let mut phases = WORDS.iter().filter(|(word, _)| lower.contains(word));
    let &(_, phase) = phases.next()?;
    // "forward_backward" names both, so it is ambiguous.
    phases.all(|&(_, other)| other == phase).then_some(phase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranges() -> impl Strategy<Value = Vec<PhaseRange>> {
        let range = (0_u32..200, 1_u32..200, 0_usize..3);
        prop::collection::vec(range, 0..12).prop_map(|parts| {
            let mut now = 0;
            let parts = parts.into_iter();
            let range = |(gap, length, phase): (u32, u32, usize)| {
                let from = now + gap;
                now = from + length;
                PhaseRange {
                    phase: Phase::ALL[phase],
                    from,
                    to: now,
                }
            };
            parts.map(range).collect()
        })
    }

    proptest! {
        #[test]
        fn places_count_ranges_as_a_walk_does(ranges in ranges(), from in 1_u32..2_500, length in 0_u32..2_500) {
            let phases = Phases::with(ranges.clone());
            let at = |moment: u32| ranges.iter().find(|it| it.from < moment && moment <= it.to);
            let (first, last) = (phases.place(from), phases.place(from + length));
            prop_assert_eq!(phases.phase(first), at(from).map(|it| it.phase));
            for phase in Phase::ALL {
                let during = |it: &&PhaseRange| it.phase == phase && it.to >= from && it.from < from + length;
                let slow = ranges.iter().filter(during).count() as u32;
                prop_assert_eq!(phases.count(phase, first, last), slow);
                let after = ranges.iter().filter(|it| it.phase == phase && it.to >= from).count();
                prop_assert_eq!(phases.count(phase, first, NEVER_PLACE), after as u32);
            }
        }
    }

    proptest! {
        #[test]
        fn of_ranges_within_one_another_the_innermost_counts(parts in prop::collection::vec((0_u32..60, 1_u32..60, 0_usize..3), 0..12)) {
            let ranges: Vec<PhaseRange> = parts.iter().map(|&(from, length, phase)| PhaseRange { phase: Phase::ALL[phase], from, to: from + length }).collect();
            let mut sorted = ranges.clone();
            sorted.sort_by_key(|range| (range.from, std::cmp::Reverse(range.to)));
            let cut = innermost(ranges);
            for moment in 1..=125 {
                let around = |range: &&PhaseRange| range.from < moment && moment <= range.to;
                let expected = sorted.iter().rfind(around).map(|range| range.phase);
                let found: Vec<Phase> = cut.iter().filter(around).map(|range| range.phase).collect();
                prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
            }
            prop_assert!(cut.windows(2).all(|pair| pair[0].to <= pair[1].from));
        }
    }

    #[test]
    fn names_that_tell_a_phase() {
        assert_eq!(
            named_phase("Optimizer.step#AdamW.step"),
            Some(Phase::Optimizer)
        );
        assert_eq!(named_phase("## Forward ##"), Some(Phase::Forward));
        assert_eq!(named_phase("bwd_pass"), Some(Phase::Backward));
        for name in [
            "forward_backward",
            "Optimizer.zero_grad#AdamW.zero_grad",
            "step 3",
            "",
        ] {
            assert_eq!(named_phase(name), None, "{name}");
        }
    }
}
