//! Tells parameters and optimizer state apart among what is older than the recording, by sizes that recur.
//!
//! An optimizer keeps tensors as large as the parameters: 291 sizes that occur three times each are the parameters
//! and Adam's two moments. How often each size occurs once is known from the gradients that the recording shows, or
//! from what it adds to older ones; without any, from the number by which all sizes occur. Parameters were made first, so
//! they lie at the lowest addresses, and the state last. Gradients came between, but into what activations left behind, as
//! the state did after them: where both are older, nothing tells one from the other. Shards of parameters lie where whole
//! ones were before, as their state does: nothing tells these apart, either. And where there are more than the optimizer
//! that is seen would keep, a second model may be among them, as a reference, a teacher or an average.

use super::gradients::Gradients;
use crate::analysis::time::history::AllocationTable;

/// Most copies of each parameter that are looked for: parameter, gradient and Adam's two moments, or a copy of higher
/// precision instead of the gradient.
const MOST_COPIES: u32 = 4;
/// Fewest that sizes alone prove.
const LEAST_COPIES: u32 = 3;
/// Most where gradients are known to be among them: Adam's variants keep three moments, and a copy of higher precision.
const MOST_COPIES_WITH_GRADIENT: u32 = 6;

/// Share of the bytes, and of the allocations, whose sizes must occur so many times, in percent. Layers repeat, too, so
/// that most sizes of a model with 24 layers occur three times; but neither its embedding nor its last norm does.
const ENOUGH_PERCENT: u128 = 99;

/// All allocations of one size, the lowest address first.
struct Class<'a> {
    bytes: u64,
    rows: &'a [u32],
    /// How many gradients have this size, if any.
    gradients: Option<u32>,
}

impl Class<'_> {
    fn len(&self) -> u32 {
        self.rows.len() as u32
    }

    fn sum_bytes(&self) -> u128 {
        u128::from(self.bytes) * self.rows.len() as u128
    }
}

/// What sizes tell of memory that is older than the recording and never freed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum OlderCopy {
    /// A parameter.
    Parameter,
    /// A gradient.
    Gradient,
    /// One of Adam's two moments.
    Moment,
    /// One of Adam's two moments, if state lies above all else of its size.
    LastMoment,
    /// The one moment that an optimizer keeps.
    Momentum,
    /// A parameter or moment in twice the precision of the gradients.
    Double,
    /// One of those of its size that are not parameters, where nearly all sizes occur three times.
    Recurring,
    /// A gradient or a moment.
    GradientOrState,
    /// A parameter of another model, or what else has such a size.
    SecondModel,
    /// Part of a shard, or of the optimizer's state for it.
    Shard,
}
use OlderCopy::{
    Double, Gradient, GradientOrState, LastMoment, Moment, Momentum, Parameter, Recurring,
    SecondModel, Shard,
};

/// What the rows of a class are, from the lowest address up: so many, then the rest.
type Parts = [(u32, OlderCopy); 3];

/// Tells what rows are that are older than the recording and never freed.
pub(super) fn copies(
    table: &AllocationTable,
    mut rows: Vec<u32>,
    gradients: &Gradients,
) -> Vec<(u32, OlderCopy)> {
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
    let others = Others::of(&classes, gradients);
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
    found.collect()
}

/// All of a class is the same.
fn all(kind: OlderCopy) -> Parts {
    [(u32::MAX, kind), (0, kind), (0, kind)]
}

/// So many parameters, then something else.
fn after(parameters: u32, rest: OlderCopy) -> Parts {
    [(parameters, Parameter), (u32::MAX, rest), (0, rest)]
}

/// What all classes together tell.
struct Others {
    /// How many older allocations each parameter has, itself included, if that is the same of nearly all.
    number: Option<u32>,
    /// Whether what has no gradient's size is as much as Adam's moments of all that has.
    are_moments: bool,
}

impl Others {
    fn of(classes: &[Class<'_>], gradients: &Gradients) -> Self {
        let sum = |has_gradients: bool| {
            let own = classes
                .iter()
                .filter(|class| class.gradients.is_some() == has_gradients);
            own.map(Class::sum_bytes).sum::<u128>()
        };
        let (parameters, others) = (sum(true), sum(false));
        // Moments lack what shards have at their ends for alignment.
        let is_double = others <= 2 * parameters && others * 50 >= 2 * parameters * 49;
        Self {
            number: number(classes, gradients),
            are_moments: gradients.are_sharded && gradients.have_moments && is_double,
        }
    }

    /// What a class is that gradients have the size of.
    fn beside_gradients(&self, class: &Class<'_>, count: u32, gradients: &Gradients) -> Parts {
        let is_one_each = class.len() <= count;
        match self.number {
            _ if is_one_each && !gradients.are_older => all(Parameter),
            _ if gradients.are_sharded => all(Shard),
            Some(number) if gradients.are_older => after(
                class.len() / number,
                beside_older_gradients(gradients, number),
            ),
            None if gradients.are_older => all(GradientOrState),
            _ if gradients.state_is_made => after(count, SecondModel),
            Some(3) if class.len() == 3 * count && !gradients.have_momentum => after(count, Moment),
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

    /// What a class is that no gradient has the size of.
    fn without_gradients(&self, class: &Class<'_>, gradients: &Gradients) -> Parts {
        let halves = class.bytes.is_multiple_of(2).then_some(class.bytes / 2);
        let halves = halves.and_then(|bytes| gradients.counts.get(&bytes).copied());
        match (self.number, halves) {
            // Parameters in higher precision, Adam's moments, or both.
            (_, Some(count)) if (1..=3).any(|number| class.len() == number * count) => all(Double),
            (_, Some(_)) => all(SecondModel),
            (Some(3), _) if gradients.counts.is_empty() => after(class.len() / 3, Recurring),
            (Some(number), _) if gradients.counts.is_empty() => {
                after(class.len() / number, GradientOrState)
            }
            _ if self.are_moments => all(Moment),
            _ if gradients.are_sharded && !gradients.counts.is_empty() => all(Shard),
            // Gradients of several ranks may lie in buckets.
            _ if gradients.are_older && gradients.have_ranks => all(GradientOrState),
            _ => all(Parameter),
        }
    }
}

/// What the others are if so many older allocations have the size of each parameter, one of which is the parameter, and
/// gradients are older.
fn beside_older_gradients(gradients: &Gradients, number: u32) -> OlderCopy {
    match number {
        // The moments leave no room for gradients of their own: they lie in buckets.
        3 if gradients.have_moments => Moment,
        2 if !gradients.have_ranks => Gradient,
        _ => GradientOrState,
    }
}

/// The number of times that nearly all sizes occur, by bytes and by number; `None` if there is none. Where gradients are
/// known, the least that explains all of their size.
fn number(classes: &[Class<'_>], gradients: &Gradients) -> Option<u32> {
    if gradients.counts.is_empty() {
        let fits = |number| move |class: &Class<'_>| class.len().is_multiple_of(number);
        let mut numbers = (LEAST_COPIES..=MOST_COPIES).rev();
        return numbers.find(|&number| are_nearly_all(classes.iter(), fits(number)));
    }
    let least = if gradients.are_older && !gradients.have_ranks {
        2
    } else {
        1
    };
    let counted = || classes.iter().filter(|class| class.gradients.is_some());
    // Few others may have the size of a parameter, fewer than would be a copy.
    let explains = |number: u32| {
        move |class: &Class<'_>| {
            class.gradients.is_some_and(|gradients| {
                let others = (number - 1).min(gradients / 2);
                class.len() <= number.saturating_mul(gradients).saturating_add(others)
            })
        }
    };
    let mut numbers = least..=MOST_COPIES_WITH_GRADIENT;
    numbers.find(|&number| are_nearly_all(counted(), explains(number)))
}

/// Whether nearly all allocations, by bytes and by number, are in classes that fit.
fn are_nearly_all<'a>(
    classes: impl Iterator<Item = &'a Class<'a>>,
    fits: impl Fn(&Class<'_>) -> bool,
) -> bool {
    let (mut all, mut fitting) = ([0_u128; 2], [0_u128; 2]);
    for class in classes {
        let sums = [class.sum_bytes(), u128::from(class.len())];
        let is_fitting = fits(class);
        for at in 0..2 {
            all[at] += sums[at];
            fitting[at] += if is_fitting { sums[at] } else { 0 };
        }
    }
    (0..2).all(|at| fitting[at] * 100 >= all[at] * ENOUGH_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::roles::gradients::SizeCounts;

    /// A table with so many rows of each size, and the row numbers.
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

    /// How many rows of a size are what, in the order of addresses.
    fn kinds(sizes: &[(u64, u32)], gradients: &Gradients, bytes: u64) -> Vec<(OlderCopy, usize)> {
        let (table, rows) = of_sizes(sizes);
        let mut found = copies(&table, rows, gradients);
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
        // A batch and an allocation for a library.
        let more = [&thrice[..], &[(8 << 10, 1), (1 << 20, 2)]].concat();
        assert_eq!(kinds(&more, &none, 4 << 20), third);
        assert_eq!(copies(&AllocationTable::default(), Vec::new(), &none), []);
        // What a fourth copy is, nothing tells.
        let four_times = once.map(|(bytes, count)| (bytes, 4 * count));
        let fourth = [(Parameter, 96), (GradientOrState, 288)];
        assert_eq!(kinds(&four_times, &none, 4 << 20), fourth);
    }

    #[test]
    fn older_gradients_are_not_told_from_state() {
        // A tensor as large as a parameter is taken for a second gradient.
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
        // Among several ranks, the second may be state, and gradients lie in buckets.
        gradients.have_ranks = true;
        let half = [(Parameter, 2), (GradientOrState, 2)];
        assert_eq!(kinds(&stateless, &gradients, 8 << 20), half);
        let with_buckets = [&stateless[..], &[(19 << 20, 1)]].concat();
        let buckets = [(GradientOrState, 1)];
        assert_eq!(kinds(&with_buckets, &gradients, 19 << 20), buckets);
        // Adam's moments leave none of the others for gradients.
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

    /// A model with gradients of three sizes, so many older tensors as large as each, and one of another size.
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
        assert_eq!(beside(3, &unseen), [(Parameter, 4), (Moment, 8)]);
        // A reference, a teacher, an average: one model more.
        let with_reference = [(Parameter, 4), (SecondModel, 4), (LastMoment, 8)];
        assert_eq!(beside(4, &adam()), with_reference);
        assert_eq!(beside(4, &unseen), [(Parameter, 4), (SecondModel, 12)]);
        assert_eq!(beside(2, &adam()), [(Parameter, 4), (SecondModel, 4)]);
        assert_eq!(beside(2, &unseen), [(Parameter, 4), (SecondModel, 4)]);
        assert_eq!(beside(2, &sgd), [(Parameter, 4), (Momentum, 4)]);
        assert_eq!(beside(3, &sgd), [(Parameter, 4), (SecondModel, 8)]);
        // State that is made in the recording is not older.
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
        // The moments have no ends for alignment.
        let sizes = [(800, 4), (796, 8)];
        assert_eq!(kinds(&sizes, &gradients, 800), [(Parameter, 4)]);
        assert_eq!(kinds(&sizes, &gradients, 796), [(Moment, 8)]);
        gradients.have_moments = false;
        assert_eq!(kinds(&sizes, &gradients, 796), [(Shard, 8)]);
    }
}
