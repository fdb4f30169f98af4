//! Tells parameters and optimizer state apart among what is older than the recording, by sizes that recur.
//!
//! An optimizer keeps tensors as large as the parameters: 291 sizes that occur three times each are the parameters
//! and Adam's two moments. How often each size occurs once is known from the gradients that the recording shows, or
//! from what it adds to older ones; without any, from the number by which all sizes occur. Parameters were made first, so
//! they lie at the lowest addresses. Gradients came next, but into what activations left behind, as the state did after
//! them: where both are older, nothing tells one from the other.

use super::gradients::Gradients;
use super::role::Role;
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

/// Gives roles to rows that are older than the recording and never freed.
pub(super) fn copies(
    table: &AllocationTable,
    mut rows: Vec<u32>,
    gradients: &Gradients,
) -> Vec<(u32, Role)> {
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
    let number = number(&classes, gradients);
    let of_class = |class: &Class<'_>| match (class.gradients, number) {
        (Some(_), Some(number)) => (class.len() / number, rest_of_copies(gradients, number)),
        (Some(_), None) if gradients.are_older => (0, Role::Unknown),
        (Some(count), None) => (count, Role::OptimizerState),
        (None, _) if is_double(class, gradients) => (0, Role::OptimizerState),
        (None, Some(number)) if gradients.counts.is_empty() => {
            (class.len() / number, Role::OptimizerState)
        }
        (None, _) if may_have_any_size(gradients) => (0, Role::Unknown),
        (None, _) => (class.len(), Role::Parameter),
    };
    let found = classes.iter().flat_map(|class| {
        let (parameters, others) = of_class(class);
        let (first, rest) = class.rows.split_at(parameters.min(class.len()) as usize);
        let first = first.iter().map(|&row| (row, Role::Parameter));
        first.chain(rest.iter().map(move |&row| (row, others)))
    });
    found.collect()
}

/// What the others are if so many older allocations have the size of each parameter, one of which is the parameter.
fn rest_of_copies(gradients: &Gradients, number: u32) -> Role {
    match number {
        // The moments leave no room for gradients of their own: they lie in buckets.
        3 if gradients.have_moments => Role::OptimizerState,
        2 if !gradients.have_ranks => Role::Gradient,
        _ => Role::Unknown,
    }
}

/// Whether it is a copy of parameters in twice the precision.
fn is_double(class: &Class<'_>, gradients: &Gradients) -> bool {
    class.bytes.is_multiple_of(2) && gradients.counts.contains_key(&(class.bytes / 2))
}

/// Whether what has no gradient's size need not be parameters that are not trained: gradients of several ranks may lie in
/// buckets, and what is kept of sharded parameters may be cut anywhere.
fn may_have_any_size(gradients: &Gradients) -> bool {
    gradients.are_older && gradients.have_ranks
        || gradients.are_sharded && !gradients.counts.is_empty()
}

/// The number of times that nearly all sizes occur, by bytes and by number; `None` if there is none. Where gradients are
/// older, the least that explains all that is added to them.
fn number(classes: &[Class<'_>], gradients: &Gradients) -> Option<u32> {
    if gradients.are_older {
        let least = if gradients.have_ranks { 1 } else { 2 };
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
    } else if gradients.counts.is_empty() {
        let fits = |number| move |class: &Class<'_>| class.len().is_multiple_of(number);
        let mut numbers = (LEAST_COPIES..=MOST_COPIES).rev();
        numbers.find(|&number| are_nearly_all(classes.iter(), fits(number)))
    } else {
        None
    }
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

    /// How many rows of a size have each role, in the order of addresses.
    fn roles(sizes: &[(u64, u32)], gradients: &Gradients, bytes: u64) -> Vec<(Role, usize)> {
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
        assert_eq!(roles(&once, &none, 4 << 20), [(Role::Parameter, 96)]);
        let thrice = once.map(|(bytes, count)| (bytes, 3 * count));
        let third = [(Role::Parameter, 96), (Role::OptimizerState, 192)];
        assert_eq!(roles(&thrice, &none, 4 << 20), third);
        // A batch and an allocation for a library.
        let more = [&thrice[..], &[(8 << 10, 1), (1 << 20, 2)]].concat();
        assert_eq!(roles(&more, &none, 4 << 20), third);
        assert_eq!(copies(&AllocationTable::default(), Vec::new(), &none), []);
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
        let roles_of = |sizes, gradients: &Gradients, bytes| roles(sizes, gradients, bytes);
        let third = [(Role::Parameter, 2), (Role::Unknown, 4)];
        assert_eq!(roles_of(&with_momentum, &gradients, 8 << 20), third);
        let frozen = [(Role::Parameter, 1)];
        assert_eq!(roles_of(&with_momentum, &gradients, 1 << 10), frozen);
        let stateless = [(8 << 20, 4), (3 << 20, 2)];
        let half = [(Role::Parameter, 2), (Role::Gradient, 2)];
        assert_eq!(roles_of(&stateless, &gradients, 8 << 20), half);
        // An optimizer that keeps its moments elsewhere.
        gradients.have_moments = true;
        assert_eq!(roles_of(&stateless, &gradients, 8 << 20), half);
        gradients.have_moments = false;
        // Among several ranks, the second may be state, and gradients lie in buckets.
        gradients.have_ranks = true;
        let half = [(Role::Parameter, 2), (Role::Unknown, 2)];
        assert_eq!(roles_of(&stateless, &gradients, 8 << 20), half);
        let with_buckets = [&stateless[..], &[(19 << 20, 1)]].concat();
        let buckets = [(Role::Unknown, 1)];
        assert_eq!(roles_of(&with_buckets, &gradients, 19 << 20), buckets);
        // Adam's moments leave none of the others for gradients.
        gradients.have_moments = true;
        let third = [(Role::Parameter, 2), (Role::OptimizerState, 4)];
        assert_eq!(roles_of(&with_momentum, &gradients, 8 << 20), third);
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
            for (role, _) in roles(&sizes, &gradients, 8 << 20) {
                let is_honest = matches!(role, Role::Parameter | Role::Unknown);
                assert!(is_honest, "{parameters} x {copies}: {role:?}");
            }
        }
    }

    #[test]
    fn gradients_tell_how_many_parameters_have_a_size() {
        let mut table = AllocationTable::default();
        for (address, bytes) in [(50, 8), (10, 8), (30, 8), (20, 16), (90, 16), (40, 5)] {
            table.address.push(address);
            table.bytes.push(bytes);
        }
        let gradients = Gradients {
            counts: SizeCounts::from([(8, 1)]),
            ..Gradients::default()
        };
        let mut found = copies(&table, (0..6).collect(), &gradients);
        found.sort_unstable();
        let state = [Role::OptimizerState; 4];
        // The lowest of its size, and what has no size of a gradient or twice that.
        let parameters = [(1, Role::Parameter), (5, Role::Parameter)];
        let mut expected: Vec<_> = [0, 2, 3, 4]
            .into_iter()
            .zip(state)
            .chain(parameters)
            .collect();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
