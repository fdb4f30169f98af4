//! What the order of addresses reveals about memory that is older than the recording and never freed.
//!
//! The allocator serves a program's requests at ascending addresses, as long as nothing is freed. A model is made layer
//! by layer, so each weight is followed by weights of other sizes; a cache of keys and values is made at once, so its
//! parts are side by side. A second model made after the first repeats the sizes of all its small tensors in order.
//! Optimizer state does not: Adam makes the two moments of each parameter in turn.

use std::collections::{HashMap, HashSet};

use super::gradients::SizeCounts;
use crate::analysis::time::history::AllocationTable;

/// PyTorch's allocator keeps requests of up to this many bytes in segments of their own.
const SMALL_BYTES: u64 = 1 << 20;
/// Most tensors of one size side by side in a layer, such as queries, keys, values and outputs, averaged over a model.
const MOST_IN_RUN: u32 = 6;
/// Tensors this small fill a segment in the order in which they are made.
const TINY_BYTES: u64 = 64 << 10;
/// Fewest tiny tensors of a model whose order cannot be chance.
const FEWEST_TINY: usize = 8;

/// The sizes of tensors that may be caches as well as weights, in a program without visible gradients: those not among
/// weights of other sizes, as layers are, if there are layers; else those that hold more than all others.
pub(super) fn may_be_caches(table: &AllocationTable, rows: &[u32]) -> HashSet<u64> {
    let sizes = in_order(table, rows, |bytes| bytes > SMALL_BYTES);
    let mut classes: HashMap<u64, [u32; 2]> = HashMap::new();
    for run in sizes.chunk_by(|a, b| a == b) {
        let [count, runs] = classes.entry(run[0]).or_default();
        *count += run.len() as u32;
        *runs += 1;
    }
    let sum = |bytes: u64, count: u32| u128::from(bytes) * u128::from(count);
    let lies_among =
        |[count, runs]: [u32; 2]| runs > 1 && runs.saturating_mul(MOST_IN_RUN) >= count;
    let all = classes
        .iter()
        .map(|(&bytes, &[count, _])| sum(bytes, count));
    let all: u128 = all.sum();
    let layers = classes.iter().filter(|&(_, &class)| lies_among(class));
    let layers: u128 = layers.map(|(&bytes, &[count, _])| sum(bytes, count)).sum();
    let may_be_cache = |&(&bytes, &class): &(&u64, &[u32; 2])| {
        let own = sum(bytes, class[0]);
        !lies_among(class)
            && if layers > 0 {
                class[0] > 1 || own * 2 > layers
            } else {
                own < all && own * 2 > all
            }
    };
    let caches = classes.iter().filter(may_be_cache);
    caches.map(|(&bytes, _)| bytes).collect()
}

/// Number of models one after another, by their tiny tensors: how often the same sizes follow in the same order, from
/// the lowest address up, with as many of each size as there are gradients. 0 if the order shows none.
pub(super) fn models(table: &AllocationTable, rows: &[u32], gradients: &SizeCounts) -> u32 {
    let is_tiny = |bytes: u64| bytes <= TINY_BYTES && gradients.contains_key(&bytes);
    let sizes = in_order(table, rows, is_tiny);
    let tiny = gradients.iter().filter(|&(&bytes, _)| is_tiny(bytes));
    let number: usize = tiny.map(|(_, &count)| count as usize).sum();
    let Some(first) = sizes
        .get(..number)
        .filter(|first| first.len() >= FEWEST_TINY)
    else {
        return 0;
    };
    let mut counts = SizeCounts::new();
    for &bytes in first {
        *counts.entry(bytes).or_default() += 1;
    }
    // If all have one size, any order is the same.
    let is_model = counts.len() > 1
        && counts
            .iter()
            .all(|(bytes, count)| gradients.get(bytes) == Some(count));
    if !is_model {
        return 0;
    }
    sizes
        .chunks(number)
        .take_while(|part| part == &first)
        .count() as u32
}

/// The sizes of rows in the order of their addresses.
fn in_order(table: &AllocationTable, rows: &[u32], of: impl Fn(u64) -> bool) -> Vec<u64> {
    let bytes = |row: u32| table.bytes[row as usize];
    let mut rows: Vec<u32> = rows.iter().copied().filter(|&row| of(bytes(row))).collect();
    rows.sort_unstable_by_key(|&row| (table.address[row as usize], row));
    rows.into_iter().map(bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn of_sizes(sizes: &[u64]) -> (AllocationTable, Vec<u32>) {
        let mut table = AllocationTable::default();
        for &bytes in sizes {
            table.address.push(table.bytes.len() as u64);
            table.bytes.push(bytes);
        }
        let rows = 0..sizes.len() as u32;
        (table, rows.rev().collect())
    }

    fn caches(sizes: &[u64]) -> Vec<u64> {
        let sizes: Vec<u64> = sizes.iter().map(|mib| mib * MIB).collect();
        let (table, rows) = of_sizes(&sizes);
        let found = may_be_caches(&table, &rows);
        let mut found: Vec<u64> = found.into_iter().map(|bytes| bytes / MIB).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn layers_lie_among_others_and_caches_side_by_side() {
        let layers = |number: usize| [32, 32, 32, 32, 86, 86, 86].repeat(number);
        let model = [&[250][..], &layers(8), &[250]].concat();
        assert!(caches(&model).is_empty());
        // Keys and values of each layer, between the weights and later allocations.
        let served = [&model[..7], &[64; 16], &model[7..]].concat();
        assert_eq!(caches(&served), [64]);
        // A single cache for all layers, larger than an embedding would be.
        let alone = [&model[..], &[6000]].concat();
        assert_eq!(caches(&alone), [6000]);
        assert!(caches(&[&model[..], &[500]].concat()).is_empty());
        // Something must be the weights.
        assert!(caches(&[16; 12]).is_empty());
        assert_eq!(caches(&[16, 8, 4, 90]), [90]);
    }

    #[test]
    fn a_model_after_another_has_its_sizes_in_the_same_order() {
        let model = [8, 24, 8, 8, 32, 8, 24, 8, 8, 32, 8];
        let gradients = SizeCounts::from([(8, 7), (24, 2), (32, 2), (90 * MIB, 1)]);
        let found = |parts: &[&[u64]]| {
            let (table, rows) = of_sizes(&parts.concat());
            models(&table, &rows, &gradients)
        };
        let pairs: Vec<u64> = model.iter().flat_map(|&bytes| [bytes; 2]).collect();
        assert_eq!(found(&[&model, &pairs]), 1);
        // Other tensors in between are not part of the models.
        assert_eq!(found(&[&model, &[90 * MIB, 12], &model, &pairs]), 2);
        assert_eq!(found(&[&model, &model, &model]), 3);
        assert!(found(&[&pairs, &pairs]) < 2);
        assert_eq!(found(&[&model[..5]]), 0);
        // One size alone has no order.
        let (table, rows) = of_sizes(&[8; 30]);
        assert_eq!(models(&table, &rows, &SizeCounts::from([(8, 10)])), 0);
    }
}
