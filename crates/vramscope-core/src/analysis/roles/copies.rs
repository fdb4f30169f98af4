//! Distinguishes parameters and optimizer state among memory that is older than the recording and kept to the end, by
//! recurring sizes.
//!
//! An optimizer keeps tensors as large as the parameters: 291 sizes that occur three times each are the parameters and
//! Adam's two moments. The number of parameters of each size is known from the gradients in the recording, or from
//! tensors that are added to older gradients; otherwise from the number of times that all sizes occur. Parameters were
//! made first, so they have the lowest addresses, and state has the highest. Gradients came between, but into memory
//! that activations left behind, as did the state after them; if both are older, they cannot be distinguished. Shards
//! of parameters take the place of whole parameters, as does their state; these cannot be distinguished, either. If
//! there are more tensors than the optimizer would keep, some may belong to a second model: a reference, a teacher or
//! an average; [`order`](super::order) finds some of these, and caches.

use std::collections::HashSet;

use super::gradients::Gradients;
use super::order::{may_be_caches, models};
use crate::analysis::time::history::AllocationTable;

/// Most copies of each parameter to look for: parameter, gradient and Adam's two moments, or a copy of higher precision
/// instead of the gradient.
const MOST_COPIES: u32 = 4;
/// Fewest copies that can be recognised by sizes alone.
const LEAST_COPIES: u32 = 3;
/// Most copies if gradients are known to be among them: Adam's variants keep three moments, and a copy of higher
/// precision.
const MOST_COPIES_WITH_GRADIENT: u32 = 6;

/// Share of the bytes, and of the allocations, whose sizes must occur that many times, in percent. Layers repeat, too,
/// so most sizes of a model with 24 layers occur a multiple of three times; but its embedding and its last norm do not.
const ENOUGH_PERCENT: u128 = 99;

/// All allocations of one size, the lowest address first.
struct Class<'a> {
    bytes: u64,
    rows: &'a [u32],
    /// Number of gradients of this size, if any.
    gradients: Option<u32>,
}

impl Class<'_> {
    fn len(&self) -> u32 {
        self.rows.len() as u32
    }

    fn bytes_of(&self, count: u32) -> u128 {
        u128::from(self.bytes) * u128::from(count)
    }
}

/// What sizes reveal about memory that is older than the recording and kept to the end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum OlderCopy {
    /// A parameter.
    Parameter,
    /// A gradient.
    Gradient,
    /// One of Adam's two moments.
    Moment,
    /// One of Adam's two moments, if state has the highest addresses of its size.
    LastMoment,
    /// The single moment that the optimizer keeps.
    Momentum,
    /// A parameter or moment in twice the precision of the gradients.
    Double,
    /// Not a parameter, but of a size that occurs three times, as nearly all sizes do.
    Recurring,
    /// A gradient or a moment.
    GradientOrState,
    /// A parameter of another model, or something else of the size.
    SecondModel,
    /// Part of a shard, or of the optimizer's state for it.
    Shard,
    /// A weight, or a part of a cache.
    WeightOrCache,
}
use OlderCopy::{
    Double, Gradient, GradientOrState, LastMoment, Moment, Momentum, Parameter, Recurring,
    SecondModel, Shard, WeightOrCache,
};

/// The kinds of a class's rows from the lowest address up: so many of a kind, then the rest.
type Parts = [(u32, OlderCopy); 3];

/// What is known about the rows that are older than the recording and kept to the end.
pub(super) struct Copies {
    /// Each row with its kind.
    pub copies: Vec<(u32, OlderCopy)>,
    /// Whether none of the rows can be a gradient as large as a parameter.
    pub leaves_no_room: bool,
}

/// Classifies rows that are older than the recording and kept to the end.
pub(super) fn copies(table: &AllocationTable, mut rows: Vec<u32>, gradients: &Gradients) -> Copies {
    let bytes = |row: u32| table.bytes[row as usize];
    rows.sort_unstable_by_key(|&row| (bytes(row), table.address[row as usize], row));
    let classes = rows.chunk_by(|&a, &b| bytes(a) == bytes(b));
    let classes = classes.filter_map(|rows| {
        let bytes = bytes(*rows.first()?);
        Some(Class {
            bytes,
            rows,
            gradients: gradients.counts.get(&bytes).copied(),
        })
    });
    let classes: Vec<Class<'_>> = classes.collect();
    let others = Others::of(&classes, gradients, table, &rows);
    let found = classes.iter().flat_map(|class| {
        let parts = match class.gradients {
            Some(count) => others.beside_gradients(class, count, gradients),
            None => others.without_gradients(class, gradients),
        };
        let kinds = parts
            .into_iter()
            .flat_map(|(count, kind)| (0..count).map(move |_| kind));
        class.rows.iter().copied().zip(kinds)
    });
    let leaves_no_room = match others.number {
        _ if classes.is_empty() => true,
        Some(3) => gradients.have_moments,
        number => number == Some(1),
    };
    Copies {
        copies: found.collect(),
        leaves_no_room,
    }
}

/// The whole class is of one kind.
fn all(kind: OlderCopy) -> Parts {
    [(u32::MAX, kind), (0, kind), (0, kind)]
}

/// So many parameters, then another kind.
fn after(parameters: u32, rest: OlderCopy) -> Parts {
    [(parameters, Parameter), (u32::MAX, rest), (0, rest)]
}

/// What all classes together reveal.
struct Others {
    /// Number of older allocations per parameter, itself included, if nearly all parameters have the same number.
    number: Option<u32>,
    /// Whether any class has a size of gradients.
    have_gradients: bool,
    /// The kind of the remaining shards without a gradient of their size, if together they are as large as the
    /// optimizer's state.
    are_state: Option<OlderCopy>,
    /// Number of models one after another, by the order of their tensors; 0 if the order shows none.
    models: u32,
    /// The sizes of tensors that may be caches as well as weights.
    may_be_caches: HashSet<u64>,
}

impl Others {
    fn of(
        classes: &[Class<'_>],
        gradients: &Gradients,
        table: &AllocationTable,
        rows: &[u32],
    ) -> Self {
        let own = |class: &Class<'_>| class.len().min(class.gradients.unwrap_or(0));
        let parameters = classes.iter().map(|class| class.bytes_of(own(class)));
        let parameters: u128 = parameters.sum();
        let sum: u128 = classes
            .iter()
            .map(|class| class.bytes_of(class.len()))
            .sum();
        let copies = match (gradients.have_moments, gradients.have_momentum) {
            (true, false) => 2,
            (false, true) => 1,
            _ => 0,
        };
        // State does not have the padding at the ends of shards.
        let (state, most) = (sum - parameters, copies * parameters);
        let is_state = state <= most && state * 50 >= most * 49 && state > 0;
        Self {
            number: number(classes, gradients),
            have_gradients: parameters > 0,
            are_state: (gradients.are_sharded && is_state).then_some(if copies == 1 {
                Momentum
            } else {
                Moment
            }),
            models: models(table, rows, &gradients.counts),
            may_be_caches: if gradients.counts.is_empty() {
                may_be_caches(table, rows)
            } else {
                HashSet::new()
            },
        }
    }

    /// Classifies a class whose size is a size of gradients.
    fn beside_gradients(&self, class: &Class<'_>, count: u32, gradients: &Gradients) -> Parts {
        let is_one_each = class.len() <= count;
        let is_adam = gradients.have_moments && !gradients.have_momentum;
        match self.number {
            _ if is_one_each && !gradients.are_older => all(Parameter),
            _ if gradients.are_sharded => all(Shard),
            Some(number) if gradients.are_older => {
                let is_exact = class.len() == number * count;
                let rest = beside_older_gradients(gradients, number, is_exact);
                after(class.len() / number, rest)
            }
            None if gradients.are_older => all(GradientOrState),
            _ if self.models > 1 => self.behind_models(class, count, gradients),
            _ if gradients.state_is_made => after(count, SecondModel),
            Some(3) if class.len() == 3 * count && is_adam => after(count, Moment),
            Some(2) if class.len() == 2 * count && gradients.have_momentum => {
                after(count, Momentum)
            }
            _ if gradients.have_moments && class.len() > 3 * count => [
                (count, Parameter),
                (class.len() - 3 * count, SecondModel),
                (u32::MAX, LastMoment),
            ],
            _ => after(count, SecondModel),
        }
    }

    /// Classifies a class if several models are followed by the optimizer's state, where the state is older than the
    /// recording.
    fn behind_models(&self, class: &Class<'_>, count: u32, gradients: &Gradients) -> Parts {
        let state = if gradients.state_is_made { 0 } else { 2 };
        let is_told = gradients.have_moments && class.len() == (self.models + state) * count;
        if is_told {
            after(self.models * count, LastMoment)
        } else {
            after(count, SecondModel)
        }
    }

    /// Classifies a class whose size no gradient has.
    fn without_gradients(&self, class: &Class<'_>, gradients: &Gradients) -> Parts {
        let halves = class.bytes.is_multiple_of(2).then_some(class.bytes / 2);
        let halves = halves.and_then(|bytes| gradients.counts.get(&bytes).copied());
        match (self.number, halves, self.are_state) {
            // Parameters in higher precision, Adam's moments, or both.
            (_, Some(count), _) if (1..=3).any(|number| class.len() == number * count) => {
                all(Double)
            }
            (_, Some(_), _) => all(SecondModel),
            (Some(3), ..) if gradients.counts.is_empty() => after(class.len() / 3, Recurring),
            (Some(number), ..) if gradients.counts.is_empty() => {
                after(class.len() / number, GradientOrState)
            }
            (.., Some(state)) => all(state),
            _ if gradients.are_sharded && !gradients.counts.is_empty() => all(Shard),
            // With several ranks, gradients may be in buckets, and state in one buffer for all parameters.
            _ if gradients.have_ranks && !gradients.counts.is_empty() => all(GradientOrState),
            _ if !self.have_gradients && !gradients.counts.is_empty() => all(GradientOrState),
            _ if self.may_be_caches.contains(&class.bytes) => all(WeightOrCache),
            _ => all(Parameter),
        }
    }
}

/// The kind of allocations other than the parameter, if gradients are older and each parameter's size occurs `number`
/// times.
fn beside_older_gradients(gradients: &Gradients, number: u32, is_exact: bool) -> OlderCopy {
    match number {
        // The moments leave no room for gradients of their own: these are in buckets, one of which may be as large.
        3 if gradients.have_moments && is_exact => Moment,
        2 if !gradients.have_ranks => Gradient,
        _ => GradientOrState,
    }
}

/// The number of times that nearly all sizes occur, by bytes and by number; `None` if there is no such number. If
/// gradients are known, the smallest number that explains nearly all bytes of their sizes: many small tensors may be
/// buffers, not copies.
fn number(classes: &[Class<'_>], gradients: &Gradients) -> Option<u32> {
    if gradients.counts.is_empty() {
        let fits = |number| move |class: &Class<'_>| class.len().is_multiple_of(number);
        let mut numbers = (LEAST_COPIES..=MOST_COPIES).rev();
        return numbers.find(|&number| are_nearly_all(classes.iter(), fits(number), true));
    }
    let least = if gradients.are_older && !gradients.have_ranks {
        2
    } else {
        1
    };
    let counted = || classes.iter().filter(|class| class.gradients.is_some());
    // A few other tensors may have the size of a parameter, but fewer than would make a copy.
    let explains = |number: u32| {
        move |class: &Class<'_>| {
            class.gradients.is_some_and(|gradients| {
                let others = (number - 1).min(gradients / 2);
                class.len() <= number.saturating_mul(gradients).saturating_add(others)
            })
        }
    };
    let mut numbers = least..=MOST_COPIES_WITH_GRADIENT;
    numbers.find(|&number| are_nearly_all(counted(), explains(number), false))
}

/// Whether nearly all allocations, by bytes and optionally also by number, are in classes that fit.
fn are_nearly_all<'a>(
    classes: impl Iterator<Item = &'a Class<'a>>,
    fits: impl Fn(&Class<'_>) -> bool,
    by_number: bool,
) -> bool {
    let (mut all, mut fitting) = ([0_u128; 2], [0_u128; 2]);
    for class in classes {
        let sums = [class.bytes_of(class.len()), u128::from(class.len())];
        let is_fitting = fits(class);
        for at in 0..2 {
            all[at] += sums[at];
            fitting[at] += if is_fitting { sums[at] } else { 0 };
        }
    }
    let measures = 0..=usize::from(by_number);
    measures
        .into_iter()
        .all(|at| fitting[at] * 100 >= all[at] * ENOUGH_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::roles::gradients::SizeCounts;

    /// A table with this many rows of each size, and the row numbers.
    fn of_sizes(sizes: &[(u64, u32)]) -> (AllocationTable, Vec<u32>) {
        let mut table = AllocationTable::default();
        for &(bytes, count) in sizes {
            for _ in 0..count {
                table.address.push(table.bytes.len() as u64);
                table.bytes.push(bytes);
            }
        }
        let rows = 0..table.bytes.len() as u32;
        (table, rows.collect())
    }

    /// The number of rows of a size by kind, in the order of addresses.
    fn kinds(sizes: &[(u64, u32)], gradients: &Gradients, bytes: u64) -> Vec<(OlderCopy, usize)> {
        let (table, rows) = of_sizes(sizes);
        let mut found = copies(&table, rows, gradients).copies;
        found.retain(|&(row, _)| table.bytes[row as usize] == bytes);
        found.sort_by_key(|&(row, _)| table.address[row as usize]);
        let runs = found.chunk_by(|a, b| a.1 == b.1);
        runs.map(|run| (run[0].1, run.len())).collect()
    }

    #[test]
    fn layers_that_repeat_are_no_copies() {
        // 24 layers with four matrices of attention and three others, two norms each and a last one, an embedding.
        let once = [(4 << 20, 96), (16 << 20, 72), (4 << 10, 49), (40 << 20, 1)];
        let none = Gradients::default();
        assert_eq!(kinds(&once, &none, 4 << 20), [(Parameter, 96)]);
        let thrice = once.map(|(bytes, count)| (bytes, 3 * count));
        let third = [(Parameter, 96), (Recurring, 192)];
        assert_eq!(kinds(&thrice, &none, 4 << 20), third);
        // A batch, and workspace of a library.
        let more = [&thrice[..], &[(8 << 10, 1), (1 << 20, 2)]].concat();
        assert_eq!(kinds(&more, &none, 4 << 20), third);
        assert_eq!(
            copies(&AllocationTable::default(), Vec::new(), &none).copies,
            []
        );
        // Nothing shows what a fourth copy is.
        let four_times = once.map(|(bytes, count)| (bytes, 4 * count));
        let fourth = [(Parameter, 96), (GradientOrState, 288)];
        assert_eq!(kinds(&four_times, &none, 4 << 20), fourth);
    }

    #[test]
    fn older_gradients_are_not_told_from_state() {
        // A tensor as large as a parameter is counted as a second gradient.
        let mut gradients = Gradients {
            counts: SizeCounts::from([(8 << 20, 2), (3 << 20, 2)]),
            are_older: true,
            ..Gradients::default()
        };
        let with_momentum = [(8 << 20, 6), (3 << 20, 3), (1 << 10, 1)];
        let third = [(Parameter, 2), (GradientOrState, 4)];
        assert_eq!(kinds(&with_momentum, &gradients, 8 << 20), third);
        let frozen = [(Parameter, 1)];
        assert_eq!(kinds(&with_momentum, &gradients, 1 << 10), frozen);
        let stateless = [(8 << 20, 4), (3 << 20, 2)];
        let half = [(Parameter, 2), (Gradient, 2)];
        assert_eq!(kinds(&stateless, &gradients, 8 << 20), half);
        // An optimizer that keeps its moments elsewhere.
        gradients.have_moments = true;
        assert_eq!(kinds(&stateless, &gradients, 8 << 20), half);
        gradients.have_moments = false;
        // With several ranks, the second may be state, and gradients are in buckets.
        gradients.have_ranks = true;
        let half = [(Parameter, 2), (GradientOrState, 2)];
        assert_eq!(kinds(&stateless, &gradients, 8 << 20), half);
        let with_buckets = [&stateless[..], &[(19 << 20, 1)]].concat();
        let buckets = [(GradientOrState, 1)];
        assert_eq!(kinds(&with_buckets, &gradients, 19 << 20), buckets);
        // Adam's moments leave no row for gradients.
        gradients.have_moments = true;
        let third = [(Parameter, 2), (Moment, 4)];
        assert_eq!(kinds(&with_momentum, &gradients, 8 << 20), third);
    }

    #[test]
    fn older_gradients_of_sizes_that_occur_once_or_twice_are_not_told_from_state() {
        for (parameters, copies) in [(1, 3), (1, 4), (2, 4)] {
            let gradients = Gradients {
                counts: SizeCounts::from([(8 << 20, parameters), (3 << 20, parameters)]),
                are_older: true,
                have_moments: copies == 4,
                ..Gradients::default()
            };
            let sizes = [
                (8 << 20, parameters * copies),
                (3 << 20, parameters * copies),
            ];
            for (kind, _) in kinds(&sizes, &gradients, 8 << 20) {
                let is_honest = matches!(kind, Parameter | GradientOrState);
                assert!(is_honest, "{parameters} x {copies}: {kind:?}");
            }
        }
    }

    /// A model with gradients of three sizes, this many older tensors of each size, and one of another size.
    fn beside(number: u32, gradients: &Gradients) -> Vec<(OlderCopy, usize)> {
        let sizes = [(8, 4 * number), (16, 2 * number), (24, number), (5, 1)];
        kinds(&sizes, gradients, 8)
    }

    #[test]
    fn state_is_what_the_optimizer_that_is_seen_would_keep() {
        let unseen = Gradients {
            counts: SizeCounts::from([(8, 4), (16, 2), (24, 1)]),
            ..Gradients::default()
        };
        let adam = || Gradients {
            have_moments: true,
            counts: unseen.counts.clone(),
            ..Gradients::default()
        };
        let sgd = Gradients {
            have_momentum: true,
            counts: unseen.counts.clone(),
            ..Gradients::default()
        };
        assert_eq!(beside(1, &adam()), [(Parameter, 4)]);
        assert_eq!(beside(3, &adam()), [(Parameter, 4), (Moment, 8)]);
        // It could also be a teacher and a momentum.
        assert_eq!(beside(3, &unseen), [(Parameter, 4), (SecondModel, 8)]);
        // A reference, a teacher or an average: one more model.
        let with_reference = [(Parameter, 4), (SecondModel, 4), (LastMoment, 8)];
        assert_eq!(beside(4, &adam()), with_reference);
        assert_eq!(beside(4, &unseen), [(Parameter, 4), (SecondModel, 12)]);
        assert_eq!(beside(2, &adam()), [(Parameter, 4), (SecondModel, 4)]);
        assert_eq!(beside(2, &unseen), [(Parameter, 4), (SecondModel, 4)]);
        assert_eq!(beside(2, &sgd), [(Parameter, 4), (Momentum, 4)]);
        assert_eq!(beside(3, &sgd), [(Parameter, 4), (SecondModel, 8)]);
        // State made in the recording is not older.
        let made = Gradients {
            state_is_made: true,
            ..adam()
        };
        assert_eq!(beside(3, &made), [(Parameter, 4), (SecondModel, 8)]);
        assert_eq!(beside(1, &made), [(Parameter, 4)]);
    }

    #[test]
    fn what_is_twice_as_large_as_gradients_is_state_if_as_many_are() {
        let gradients = Gradients {
            counts: SizeCounts::from([(8, 4)]),
            ..Gradients::default()
        };
        let of = |count| kinds(&[(8, 4), (16, count)], &gradients, 16);
        for number in 1..=3 {
            assert_eq!(of(4 * number), [(Double, 4 * number as usize)]);
        }
        assert_eq!(of(5), [(SecondModel, 5)]);
    }

    #[test]
    fn shards_are_told_from_their_state_by_size_alone() {
        let mut gradients = Gradients {
            counts: SizeCounts::from([(800, 4)]),
            have_moments: true,
            are_sharded: true,
            ..Gradients::default()
        };
        assert_eq!(kinds(&[(800, 12)], &gradients, 800), [(Shard, 12)]);
        // The moments have no padding.
        let sizes = [(800, 4), (796, 8)];
        assert_eq!(kinds(&sizes, &gradients, 800), [(Parameter, 4)]);
        assert_eq!(kinds(&sizes, &gradients, 796), [(Moment, 8)]);
        // A shard that needs no padding has moments as large as itself.
        gradients.counts.insert(400, 1);
        let mixed = [&sizes[..], &[(400, 3)]].concat();
        assert_eq!(kinds(&mixed, &gradients, 796), [(Moment, 8)]);
        assert_eq!(kinds(&mixed, &gradients, 400), [(Shard, 3)]);
        gradients.have_moments = false;
        assert_eq!(kinds(&sizes, &gradients, 796), [(Shard, 8)]);
    }
}
