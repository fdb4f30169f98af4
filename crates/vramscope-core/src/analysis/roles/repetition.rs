//! Steps of programs without names, an optimizer or a backward pass: the same code again and again.
//!
//! Code that runs once per step has a stack of its own. Between two of its allocations is one step, so the stacks in
//! between are nearly the same each time. A loop over layers, or over the files of a checkpoint, looks the same. So the
//! beginning of a step must not be within a model, the spans must hold most of the recording, and they must free what
//! they allocate.

use std::collections::HashMap;

use super::phases::phase_of;
use super::signals::{Signals, StackSignals};
use crate::Snapshot;
use crate::analysis::time::history::History;
use crate::ids::StackId;
use crate::model::Action;
use crate::sorting::SortFew;

/// Fewer repetitions prove nothing.
const FEWEST: usize = 4;
/// Fewest allocations of a step.
const LEAST_ALLOCATIONS: usize = 4;
/// Number of stacks to try among those that occur equally often, the earliest first.
const STACKS_PER_COUNT: usize = 4;

/// The moments before which a program begins anew, ascending; empty if it does not repeat itself. Among nested loops,
/// the innermost one that holds most of the recording. Takes linear time in events.
#[must_use]
pub fn repetitions(snapshot: &Snapshot, history: &History, signals: &StackSignals) -> Vec<u32> {
    let code = Code::of(snapshot, history);
    let mut candidates = code.candidates(signals);
    candidates.sort_few_by_key(|places| std::cmp::Reverse(places.len()));
    let found = candidates.into_iter().find(|places| {
        code.is_regular(places) && gives_back(history, code.moment(places[0]), code.last(places))
    });
    let begins = found.into_iter().flatten();
    begins.map(|place| code.moment(place) - 1).collect()
}

/// The allocations with a stack, in order.
struct Code {
    /// The moment after each, and its stack.
    allocs: Vec<(u32, StackId)>,
    /// For each place the wrapping sum of a hash of the stacks before it: two spans with the same multiset of stacks
    /// have the same difference.
    sums: Vec<u64>,
}

impl Code {
    fn of(snapshot: &Snapshot, history: &History) -> Self {
        let first = history.first_event as usize;
        let stacks = (1..=history.event_count).filter_map(|moment| {
            let row = first + moment as usize - 1;
            let stack = snapshot.events.stack[row];
            let is_alloc = snapshot.events.action[row] == Action::Alloc;
            (is_alloc && stack.has_frames()).then_some((moment, stack))
        });
        let allocs: Vec<(u32, StackId)> = stacks.collect();
        let mut sum = 0_u64;
        let mut sums = vec![0];
        sums.extend(allocs.iter().map(|&(_, stack)| {
            sum = sum.wrapping_add(hash(stack));
            sum
        }));
        Self { allocs, sums }
    }

    fn moment(&self, place: usize) -> u32 {
        self.allocs[place].0
    }

    fn last(&self, places: &[usize]) -> u32 {
        places.last().map_or(0, |&place| self.moment(place))
    }

    /// The places of each stack that may begin a step.
    fn candidates(&self, signals: &StackSignals) -> Vec<Vec<usize>> {
        let mut counts: HashMap<StackId, usize> = HashMap::new();
        for &(_, stack) in &self.allocs {
            *counts.entry(stack).or_default() += 1;
        }
        let most = self.allocs.len() / LEAST_ALLOCATIONS;
        let mut of_count: HashMap<usize, usize> = HashMap::new();
        let mut chosen: HashMap<StackId, Option<usize>> = HashMap::new();
        let mut candidates: Vec<Vec<usize>> = Vec::new();
        for (place, &(_, stack)) in self.allocs.iter().enumerate() {
            let slot = *chosen.entry(stack).or_insert_with(|| {
                let count = counts[&stack];
                let made = signals.get(stack);
                let may_begin = phase_of(made).is_none() && !made.has(Signals::BUILD);
                if !may_begin || !(FEWEST..=most).contains(&count) {
                    return None;
                }
                let same = of_count.entry(count).or_default();
                *same += 1;
                (*same <= STACKS_PER_COUNT).then(|| {
                    candidates.push(Vec::with_capacity(count));
                    candidates.len() - 1
                })
            });
            if let Some(slot) = slot {
                candidates[slot].push(place);
            }
        }
        candidates
    }

    /// Whether the spans between places hold half of all allocations and, except for the first, which may set things
    /// up, are about equally long, half of them with exactly the same stacks.
    fn is_regular(&self, places: &[usize]) -> bool {
        let (Some(first), Some(last)) = (places.first(), places.last()) else {
            return false;
        };
        let settled = places.windows(2).skip(1);
        let mut spans: Vec<(usize, u64)> = settled
            .map(|ends| {
                let stacks = self.sums[ends[1]].wrapping_sub(self.sums[ends[0]]);
                (ends[1] - ends[0], stacks)
            })
            .collect();
        spans.sort_few_by(Ord::cmp);
        let Some(&(median, _)) = spans.get(spans.len() / 2) else {
            return false;
        };
        let is_near =
            |&(length, _): &(usize, u64)| 3 * median <= 4 * length && 4 * length <= 5 * median;
        let same = spans.chunk_by(|a, b| a == b).map(<[_]>::len).max();
        median >= LEAST_ALLOCATIONS
            && spans.iter().all(is_near)
            && same.unwrap_or(0) * 2 >= spans.len()
            && (last - first) * 2 >= self.allocs.len()
    }
}

/// Spreads the ids of stacks over all bits (the finalizer of SplitMix64).
fn hash(stack: StackId) -> u64 {
    let mixed = (stack.index() as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Whether at least half of the bytes allocated after `from` and before `to` are freed by then.
fn gives_back(history: &History, from: u32, to: u32) -> bool {
    let table = &history.allocations;
    let rows = table.born.partition_point(|&born| born < from)
        ..table.born.partition_point(|&born| born < to);
    let (mut all, mut freed) = (0_u128, 0_u128);
    for row in rows {
        let bytes = u128::from(table.bytes[row]);
        all += bytes;
        freed += if table.died[row] <= to { bytes } else { 0 };
    }
    freed * 2 >= all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;
    use vramscope_synth::snapshot::Producer;
    use vramscope_synth::text;

    fn begins(story: &str) -> Vec<u32> {
        let bytes = text::pickle(story, Producer::Python(2, 10)).unwrap();
        let snapshot = decode(&bytes[..]).unwrap();
        let history = History::of(&snapshot, 0);
        repetitions(&snapshot, &history, &StackSignals::of(&snapshot))
    }

    /// A server that answers requests; each passes through four layers.
    fn server(requests: usize) -> String {
        let mut story = "alloc w 400MiB serve.py:1:load\n".to_owned();
        for request in 0..requests {
            story += &format!("alloc q{request} 1MiB serve.py:5:read\n");
            for layer in 0..4 {
                story += &format!(
                    "alloc t{request}_{layer} 8MiB serve.py:7:layer\nalloc u{request}_{layer} 8MiB serve.py:8:layer\n\
                     free t{request}_{layer}\nfree u{request}_{layer}\n"
                );
            }
            story += &format!(
                "alloc o{request} 2MiB serve.py:9:answer\nfree q{request}\nfree o{request}\n"
            );
        }
        story
    }

    #[test]
    fn requests_repeat_and_layers_do_not() {
        let begins_of_six = begins(&server(6));
        assert_eq!(begins_of_six.len(), 6);
        // 10 allocations and 10 frees of two events each. The first request takes segments, too.
        let apart = begins_of_six
            .windows(2)
            .skip(1)
            .all(|pair| pair[1] - pair[0] == 30);
        assert!(apart, "{begins_of_six:?}");
        assert_eq!(begins(&server(3)), [0_u32; 0], "too few");
    }

    #[test]
    fn a_model_that_is_loaded_is_no_loop() {
        let mut story = String::new();
        for layer in 0..12 {
            for part in ["q", "k", "v", "o", "up", "down"] {
                story += &format!("alloc {part}{layer} 8MiB load.py:{}:{part}\n", part.len());
            }
        }
        assert_eq!(begins(&story), [0_u32; 0]);
    }
}
