//! Tells parameters from optimizer state among what is older than the recording, by sizes that recur.
//!
//! An optimizer keeps tensors as large as the parameters: 291 sizes that occur three times each are the parameters
//! and Adam's two moments. How often each size occurs once is known from the gradients that the recording shows;
//! without any, from the number by which all sizes occur. Parameters were made first, so they lie at the lowest
//! addresses.

use std::collections::HashMap;

use super::role::Role;
use crate::analysis::time::history::AllocationTable;

/// How many gradients have each size.
pub(super) type SizeCounts = HashMap<u64, u32>;

/// Most copies of each parameter that are looked for: parameter, gradient and Adam's two moments, or a copy of higher
/// precision instead of the gradient.
const MOST_COPIES: u32 = 4;
/// Fewest.
const LEAST_COPIES: u32 = 3;

/// Share of the bytes, and of the allocations, whose sizes must occur so many times, in percent. Layers repeat, too, so
/// that most sizes of a model with 24 layers occur three times; but neither its embedding nor its last norm does.
const ENOUGH_PERCENT: u128 = 99;

/// Gives parameter or optimizer state to rows that are older than the recording and never freed. `gradients` are the
/// sizes of the gradients that the recording shows, if any.
pub(super) fn copies(
    table: &AllocationTable,
    mut rows: Vec<u32>,
    gradients: &SizeCounts,
) -> Vec<(u32, Role)> {
    let key = |&row: &u32| (table.bytes[row as usize], table.address[row as usize], row);
    rows.sort_unstable_by_key(key);
    let classes: Vec<&[u32]> = rows
        .chunk_by(|&a, &b| table.bytes[a as usize] == table.bytes[b as usize])
        .collect();
    let size = |class: &[u32]| class.first().map_or(0, |&row| table.bytes[row as usize]);
    let number = if gradients.is_empty() {
        let counts: Vec<_> = classes
            .iter()
            .map(|class| (size(class), class.len() as u32))
            .collect();
        times(&counts)
    } else {
        1
    };
    let mut found = Vec::with_capacity(rows.len());
    for class in classes {
        let bytes = size(class);
        let once = match gradients.get(&bytes) {
            Some(&count) => count as usize,
            // A copy in twice the precision.
            None if bytes.is_multiple_of(2) && gradients.contains_key(&(bytes / 2)) => 0,
            None => class.len() / number as usize,
        };
        let (parameters, state) = class.split_at(once.min(class.len()));
        found.extend(parameters.iter().map(|&row| (row, Role::Parameter)));
        found.extend(state.iter().map(|&row| (row, Role::OptimizerState)));
    }
    found
}

/// The number of times that nearly all sizes occur, by bytes and by number; 1 if there is none above.
fn times(classes: &[(u64, u32)]) -> u32 {
    let sums = |classes: &mut dyn Iterator<Item = &(u64, u32)>| {
        classes.fold((0_u128, 0_u128), |(bytes, rows), &(size, count)| {
            let count = u128::from(count);
            (bytes + u128::from(size) * count, rows + count)
        })
    };
    let all = sums(&mut classes.iter());
    let is_enough = |part: u128, all: u128| part * 100 >= all * ENOUGH_PERCENT;
    let fits = |number: &u32| {
        let fitting = classes.iter();
        let mut fitting = fitting.filter(|(_, count)| count.is_multiple_of(*number));
        let (bytes, rows) = sums(&mut fitting);
        is_enough(bytes, all.0) && is_enough(rows, all.1)
    };
    let counts = (LEAST_COPIES..=MOST_COPIES).rev();
    counts.into_iter().find(fits).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_that_repeat_are_no_copies() {
        // 24 layers with four matrices of attention and three others, two norms each and a last one, an embedding.
        let once = [(4 << 20, 96), (16 << 20, 72), (4 << 10, 49), (40 << 20, 1)];
        assert_eq!(times(&once), 1);
        let thrice = once.map(|(bytes, count)| (bytes, 3 * count));
        assert_eq!(times(&thrice), 3);
        // A batch and an allocation for a library.
        assert_eq!(
            times(&[&thrice[..], &[(8 << 10, 1), (1 << 20, 2)]].concat()),
            3
        );
        assert_eq!(times(&[]), 4, "nothing to tell");
    }

    #[test]
    fn gradients_tell_how_many_parameters_have_a_size() {
        let mut table = AllocationTable::default();
        for (address, bytes) in [(50, 8), (10, 8), (30, 8), (20, 16), (90, 16), (40, 5)] {
            table.address.push(address);
            table.bytes.push(bytes);
        }
        let gradients = SizeCounts::from([(8, 1)]);
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
