//! Places ranks on a common axis.

use serde::{Deserialize, Serialize};
use vramscope_core::fleet::{Curve, Fleet, Rank};

use super::{Along, Look, Memory};

/// The unit of the axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Unit {
    /// A microsecond.
    #[default]
    Time,
    /// An event, if no file has times.
    Events,
    /// A [`Unit::PER_STEP`]th of a step.
    Steps,
}

impl Unit {
    /// Units of a step.
    pub const PER_STEP: u64 = 1000;
}

/// A stretch of the axis with the most bytes in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cell {
    pub(super) from: u64,
    /// The unit after its last one.
    pub(super) to: u64,
    pub(super) bytes: u64,
    /// Both ends on the rank's own axis, in µs or events since its first event.
    own: (u64, u64),
}

/// The kind of event that a row marks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum MarkKind {
    /// The peak began.
    Peak,
    /// A request failed.
    Oom,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mark {
    pub(super) at: u64,
    pub(super) kind: MarkKind,
    /// The moment in the rank's snapshot.
    pub(super) moment: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Row {
    pub(super) cells: Vec<Cell>,
    pub(super) marks: Vec<Mark>,
}

/// All ranks of a fleet on one axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The layout's options: as requested, or the nearest possible ones.
    pub look: Look,
    /// The unit of the axis.
    pub unit: Unit,
    /// The left end: µs since the Unix epoch by clock, the number of the first step by step, else 0.
    pub start: i64,
    /// Length of the axis in units, at least 1.
    pub length: u64,
    /// The highest value anywhere.
    pub highest_bytes: u64,
    /// A row for each rank of the fleet, in its order.
    pub(super) rows: Vec<Row>,
}

/// Which data the files of a fleet have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Offers {
    /// Some files have times.
    pub clock: bool,
    /// Some files have steps.
    pub steps: bool,
    /// Some files have segments.
    pub reserved: bool,
}

impl Offers {
    /// Checks which data this fleet's files have.
    #[must_use]
    pub fn of(fleet: &Fleet) -> Self {
        let any = |has: fn(&Curve) -> bool| fleet.ranks.iter().any(|rank| has(&rank.curve));
        Self {
            clock: any(|curve| curve.start_us.is_some()),
            steps: any(|curve| !curve.steps.is_empty()),
            reserved: any(|curve| !curve.reserved.is_empty()),
        }
    }

    /// `look`, with options that lack data replaced by the nearest possible ones.
    #[must_use]
    pub fn nearest(self, look: Look) -> Look {
        Look {
            memory: if self.reserved {
                look.memory
            } else {
                Memory::Active
            },
            along: match look.along {
                Along::Clock if !self.clock => Along::Start,
                Along::Step if !self.steps && self.clock => Along::Clock,
                Along::Step if !self.steps => Along::Start,
                along => along,
            },
        }
    }
}

impl Layout {
    /// Lays out all ranks.
    #[must_use]
    pub fn of(fleet: &Fleet, look: Look) -> Self {
        let offers = Offers::of(fleet);
        let look = offers.nearest(look);
        let (start, unit) = match look.along {
            Along::Clock => (first_us(fleet), Unit::Time),
            Along::Step => (first_step(fleet), Unit::Steps),
            Along::Start if offers.clock => (0, Unit::Time),
            Along::Start => (0, Unit::Events),
        };
        let rows: Vec<Row> = (fleet.ranks.iter())
            .map(|rank| match unit {
                Unit::Steps => by_step(rank, look.memory, start),
                // A file without times has no position among those with times.
                Unit::Time if rank.curve.start_us.is_none() => Row::default(),
                Unit::Time | Unit::Events => {
                    let own = rank.curve.start_us.filter(|_| look.along == Along::Clock);
                    over_time(rank, look.memory, own.map_or(0, |own| own.abs_diff(start)))
                }
            })
            .collect();
        let cells = || rows.iter().flat_map(|row| &row.cells);
        Self {
            look,
            unit,
            start,
            length: cells().map(|cell| cell.to).max().unwrap_or(0).max(1),
            highest_bytes: cells().map(|cell| cell.bytes).max().unwrap_or(0),
            rows,
        }
    }

    /// Whether a rank, given by its index in the fleet, has nothing to show on this axis.
    #[must_use]
    pub fn is_blank(&self, rank: u32) -> bool {
        (self.rows.get(rank as usize)).is_none_or(|row| row.cells.is_empty())
    }

    /// The range of a rank's own axis shown at a position, in µs or events since its first event; `None` where the rank has
    /// no data.
    #[must_use]
    pub fn own_range(&self, rank: u32, at: u64) -> Option<(u64, u64)> {
        let row = self.rows.get(rank as usize)?;
        let mut cells = row.cells.iter();
        let cell = cells.find(|cell| (cell.from..cell.to).contains(&at))?;
        Some(cell.own)
    }
}

fn first_us(fleet: &Fleet) -> i64 {
    let starts = fleet.ranks.iter().filter_map(|rank| rank.curve.start_us);
    starts.min().unwrap_or(0)
}

fn first_step(fleet: &Fleet) -> i64 {
    let steps = fleet.ranks.iter().flat_map(|rank| &rank.curve.steps);
    let first = steps.map(|step| step.number).min().unwrap_or(0);
    i64::try_from(first).unwrap_or(i64::MAX)
}

fn levels(curve: &Curve, memory: Memory) -> &[u16] {
    match memory {
        Memory::Active => &curve.highest,
        Memory::Reserved => &curve.reserved,
    }
}

/// The bins of a curve as cells, each covering all units that it touches.
fn cells(curve: &Curve, memory: Memory, start: u64) -> Vec<Cell> {
    let levels = levels(curve, memory);
    let bins = levels.len().max(1) as u128;
    let edge = |bin: u128| bin * u128::from(curve.length);
    let cell = |(bin, &level): (u128, &u16)| {
        // At most `length`, because `bin` is less than `bins`.
        let from = (edge(bin) / bins) as u64;
        let to = (edge(bin + 1).div_ceil(bins) as u64).max(from.saturating_add(1));
        Cell {
            from: start.saturating_add(from),
            to: start.saturating_add(to),
            bytes: curve.bytes(level),
            own: (from, to),
        }
    };
    (0..).zip(levels).map(cell).collect()
}

/// Positions of the peak and of failed requests on a rank's own axis.
fn own_marks(rank: &Rank) -> impl Iterator<Item = Mark> {
    let start = rank.curve.start_us;
    let last = rank.curve.length.saturating_sub(1);
    let peak = (MarkKind::Peak, rank.peak_time_us, rank.peak_moment);
    let failures = rank.failures.iter();
    let failures = failures.map(|failed| (MarkKind::Oom, failed.time_us, failed.moment));
    [peak]
        .into_iter()
        .chain(failures)
        .map(move |(kind, time_us, moment)| {
            let place = match (time_us, start) {
                (Some(time_us), Some(start)) => time_us.saturating_sub(start).max(0) as u64,
                _ => moment.into(),
            };
            let at = place.min(last);
            Mark { at, kind, moment }
        })
}

fn over_time(rank: &Rank, memory: Memory, start: u64) -> Row {
    let marks = own_marks(rank).map(|mark| Mark {
        at: start.saturating_add(mark.at),
        ..mark
    });
    let cells = cells(&rank.curve, memory, start);
    Row {
        marks: marks.filter(|_| !cells.is_empty()).collect(),
        cells,
    }
}

fn by_step(rank: &Rank, memory: Memory, first: i64) -> Row {
    let curve = &rank.curve;
    let first = first.unsigned_abs();
    let left = |number: u64| number.saturating_sub(first).saturating_mul(Unit::PER_STEP);
    let bins = cells(curve, memory, 0);
    let next = |place: usize| {
        curve
            .steps
            .get(place + 1)
            .map_or(curve.length, |it| it.from)
    };
    let cells = curve.steps.iter().enumerate().map(|(place, step)| {
        let end = next(place).max(step.from.saturating_add(1));
        let within = bins.iter();
        let within = within.filter(|bin| bin.from < end && bin.to > step.from);
        let bytes = match memory {
            Memory::Active => curve.bytes(step.highest),
            Memory::Reserved => within.map(|bin| bin.bytes).max().unwrap_or(0),
        };
        let from = left(step.number);
        let to = from.saturating_add(Unit::PER_STEP);
        let own = (step.from, end);
        Cell {
            from,
            to,
            bytes,
            own,
        }
    });
    let is_known = memory == Memory::Active || !bins.is_empty();
    let cells: Vec<Cell> = cells.filter(|_| is_known).collect();
    let place = |mark: Mark| {
        let place = (curve.steps.iter()).rposition(|step| step.from <= mark.at)?;
        let step = curve.steps.get(place)?;
        let length = u128::from(next(place).saturating_sub(step.from).max(1));
        let within = u128::from(mark.at - step.from) * u128::from(Unit::PER_STEP) / length;
        let within = within.min(u128::from(Unit::PER_STEP - 1)) as u64;
        let at = left(step.number).saturating_add(within);
        Some(Mark { at, ..mark })
    };
    Row {
        marks: own_marks(rank)
            .filter(|_| is_known)
            .filter_map(place)
            .collect(),
        cells,
    }
}
