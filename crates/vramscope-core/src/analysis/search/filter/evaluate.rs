//! Evaluates a filter on the allocations of one device.

use std::ops::RangeInclusive;

use super::Filter;
use super::keys::Flag;
use super::moments;
use super::number::{shown_bytes, shown_us};
use super::term::{Expression, LengthField, LengthUnit, Live, PoolMatch, Term, Test, WhenField};
use super::texts;
use crate::analysis::properties::{Kind, Property, Values, values};
use crate::analysis::recording::Device;
use crate::analysis::time::history::NEVER;
use crate::analysis::time::selection::{Moments, Selection};
use crate::bitset::BitSet;

/// The user's cursor and selection, which filters can refer to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pointed {
    /// The moment at the cursor; `None` without a cursor.
    pub cursor: Option<u32>,
    /// The selected range; `None` if nothing is selected.
    pub range: Option<Moments>,
}

/// The result of evaluating a filter.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Matches {
    /// The allocations that match.
    pub set: BitSet,
    /// For each term that cannot match anything in this file, a sentence that says why, in the order of the terms.
    pub notes: Vec<String>,
}

/// Evaluates a filter on a device. A term that refers to something missing (the selected range without a selection,
/// times in a file without them) matches nothing, and [`Matches::notes`] says why.
#[must_use]
pub fn matches(filter: &Filter, device: Device<'_>, pointed: Pointed) -> Matches {
    let mut evaluation = Evaluation {
        device,
        pointed,
        notes: Vec::new(),
    };
    let set = evaluation.expression(&filter.expression);
    Matches {
        set,
        notes: evaluation.notes,
    }
}

struct Evaluation<'a> {
    device: Device<'a>,
    pointed: Pointed,
    notes: Vec<String>,
}

impl Evaluation<'_> {
    fn len(&self) -> usize {
        self.device.history.allocations.len()
    }

    fn note(&mut self, term: impl std::fmt::Display, why: &str) {
        let note = format!("{term} finds nothing: {why}.");
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The recursion is as deep as the filter's parentheses, which the parser limits.
    fn expression(&mut self, expression: &Expression) -> BitSet {
        match expression {
            Expression::All => BitSet::full(self.len()),
            Expression::Term(term) => self.term(term),
            Expression::Not(inner) => {
                let mut set = self.expression(inner);
                set.complement();
                set
            }
            Expression::And(parts) => {
                let mut set = BitSet::full(self.len());
                for part in parts {
                    set.intersect_with(&self.expression(part));
                }
                set
            }
            Expression::Or(parts) => {
                let mut set = BitSet::new(self.len());
                for part in parts {
                    set.union_with(&self.expression(part));
                }
                set
            }
        }
    }

    fn term(&mut self, term: &Term) -> BitSet {
        match term {
            Term::Text(place, pattern) => texts::matching(self.device, *place, pattern),
            Term::Address(address) => texts::by_address(self.device, *address),
            Term::Stream(stream) => self.stream(*stream),
            Term::Pool(pool) => self.pool(*pool),
            Term::Number(property, test) => self.number(*property, *test),
            Term::Length(field, unit, test) => self.length(term, *field, *unit, *test),
            Term::When(field, test) => {
                match moments::passing(*test, self.device.history, self.pointed.cursor) {
                    Some((from, to)) => self.when(*field, from..=to),
                    None => self.no_moment(term),
                }
            }
            Term::Range(field) => self.in_range(term, *field),
            Term::Live(live) => self.live(term, live),
            Term::Flag(flag) => self.flag(*flag),
        }
    }

    /// The allocations for which `keep` returns true, given `born` and `died`.
    fn lives(&self, mut keep: impl FnMut(u32, u32) -> bool) -> BitSet {
        let table = &self.device.history.allocations;
        BitSet::from_fn(table.len(), |row| keep(table.born[row], table.died[row]))
    }

    fn stream(&mut self, stream: i64) -> BitSet {
        let known = self.device.recording.streams().handles();
        let numbered = usize::try_from(stream).ok().and_then(|at| known.get(at));
        let handle = numbered.copied().unwrap_or(stream);
        if !known.contains(&handle) {
            let why = match known.len() {
                1 => "everything is on the default stream, number 0".to_owned(),
                count => format!("streams are numbered 0 to {}", count - 1),
            };
            self.note(Term::Stream(stream), &why);
        }
        let streams = self.device.stream_of();
        BitSet::from_fn(streams.len(), |row| streams[row] == Some(handle))
    }

    fn pool(&mut self, pool: PoolMatch) -> BitSet {
        let pools = self.device.pool_of();
        let is_meant = |row: usize| pools[row].is_some_and(|id| pool.matches(id));
        let set = BitSet::from_fn(pools.len(), is_meant);
        if pools.iter().all(Option::is_none) {
            let why = "the file names no pools (torch writes them since 2.1)";
            self.note(Term::Pool(pool), why);
        }
        set
    }

    fn number(&self, property: Property, test: Test<u64>) -> BitSet {
        let (first, last) = match property.kind() {
            Kind::Bytes => accepted(test, shown_bytes),
            _ => accepted(test, |number| (number, number)),
        };
        match values(self.device, property) {
            Values::Numbers(number) => BitSet::from_fn(self.len(), |row| {
                number(row).is_some_and(|number| first <= number && number <= last)
            }),
            Values::Names(_) => BitSet::new(self.len()),
        }
    }

    fn length(
        &mut self,
        term: &Term,
        field: LengthField,
        unit: LengthUnit,
        test: Test<u64>,
    ) -> BitSet {
        let history = self.device.history;
        if unit == LengthUnit::Us && history.moment_start_us.is_empty() {
            self.note(term, "the file has no times; count events, such as 1000ev");
            return BitSet::new(self.len());
        }
        let (first, last) = match unit {
            LengthUnit::Events => accepted(test, |events| (events, events)),
            LengthUnit::Us => accepted(test, shown_us),
        };
        let between = |from: u32, to: u32| match unit {
            LengthUnit::Events => u64::from(to.saturating_sub(from)),
            LengthUnit::Us => {
                let time = |moment: u32| history.moment_start_us.get(moment);
                let us = time(to).zip(time(from));
                us.map_or(0, |(to, from)| {
                    to.saturating_sub(from).max(0).cast_unsigned()
                })
            }
        };
        // If an allocation began before the recording or did not end in it, only a lower bound of the length is known.
        // It matches only if every greater length matches, too.
        let passes = |length: u64, is_bound: bool| {
            first <= length && length <= last && !(is_bound && last != u64::MAX)
        };
        let end = history.event_count;
        let now = self.pointed.cursor.unwrap_or(end).min(end);
        let table = &history.allocations;
        BitSet::from_fn(table.len(), |row| {
            let (born, died) = (table.born[row], table.died[row]);
            match field {
                LengthField::Lifetime => {
                    passes(between(born, died.min(end)), born == 0 || died == NEVER)
                }
                LengthField::Age => born <= now && passes(between(born, now), born == 0),
                LengthField::Pending => {
                    let freed = table.free_requested[row];
                    freed != NEVER
                        && passes(between(freed, died.min(end)), freed == 0 || died == NEVER)
                }
            }
        })
    }

    fn when(&self, field: WhenField, moments: RangeInclusive<u32>) -> BitSet {
        self.lives(|born, died| match field {
            WhenField::Born => moments.contains(&born),
            WhenField::Died => died != NEVER && moments.contains(&died),
        })
    }

    fn in_range(&mut self, term: &Term, field: Option<WhenField>) -> BitSet {
        let Some(range @ (from, to)) = self.pointed.range else {
            self.note(term, "no range is selected");
            return BitSet::new(self.len());
        };
        match field {
            None => self.lives(|born, died| born <= to && died > from),
            Some(WhenField::Born) => {
                self.lives(|born, died| Selection::AllocatedIn(range).holds(born, died))
            }
            Some(WhenField::Died) => {
                self.lives(|born, died| Selection::FreedIn(range).holds(born, died))
            }
        }
    }

    fn live(&mut self, term: &Term, live: &Live) -> BitSet {
        match live {
            Live::At(when) => {
                let Some(moment) = moments::moment(*when, self.device.history, self.pointed.cursor)
                else {
                    return self.no_moment(term);
                };
                let last = self.device.history.event_count;
                match u32::try_from(moment).ok().filter(|&moment| moment <= last) {
                    Some(moment) => {
                        self.lives(|born, died| Selection::LiveAt(moment).holds(born, died))
                    }
                    None => {
                        self.note(term, &format!("the recording ends with event {last}"));
                        BitSet::new(self.len())
                    }
                }
            }
            Live::Oom => self.flag(Flag::Oom),
            Live::Range => self.in_range(term, None),
            Live::Named(pattern) => {
                let (stretches, exists) = moments::named(pattern, self.device);
                if !exists {
                    self.note(term, "no annotated range of this device has this name");
                }
                self.lives(|born, died| moments::touches(&stretches, born, died))
            }
        }
    }

    fn flag(&mut self, flag: Flag) -> BitSet {
        match flag {
            Flag::Freed => self.lives(|_, died| died != NEVER),
            Flag::Live => self.lives(|_, died| died == NEVER),
            Flag::Before => self.lives(|born, _| born == 0),
            Flag::Pending => {
                let table = &self.device.history.allocations;
                BitSet::from_fn(table.len(), |row| {
                    table.free_requested[row] != NEVER && table.died[row] == NEVER
                })
            }
            Flag::Oom => {
                let ooms = self.device.oom_moments();
                if ooms.is_empty() {
                    self.note("oom", "no allocation of this device failed");
                }
                self.lives(|born, died| {
                    let next = ooms.partition_point(|&moment| moment < born);
                    ooms.get(next).is_some_and(|&moment| moment < died)
                })
            }
        }
    }

    fn no_moment(&mut self, term: &Term) -> BitSet {
        let has_times = self.device.has_times();
        let why = if has_times {
            "there is no cursor"
        } else {
            "the file has no times, or there is no cursor"
        };
        self.note(term, why);
        BitSet::new(self.len())
    }
}

/// The least and the greatest number that pass a test. If no number passes, the first is greater than the second.
/// `shown` returns the range of numbers that print the same as its argument.
fn accepted(test: Test<u64>, shown: impl Fn(u64) -> (u64, u64)) -> (u64, u64) {
    const NONE: (u64, u64) = (1, 0);
    match test {
        Test::Shown(number) => shown(number),
        Test::Equal(number) => (number, number),
        Test::Below(number) => number.checked_sub(1).map_or(NONE, |last| (0, last)),
        Test::AtMost(number) => (0, number),
        Test::Above(number) => number
            .checked_add(1)
            .map_or(NONE, |first| (first, u64::MAX)),
        Test::AtLeast(number) => (number, u64::MAX),
        Test::Between(from, to) => (from, to),
    }
}
