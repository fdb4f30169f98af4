//! Allocations summed by stack, stream, pool and category: the samples and labels of a pprof profile.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::turnover::Amount;
use crate::analysis::recording::Device;
use crate::analysis::time::history::StackSource;
use crate::analysis::time::selection::Selection;
use crate::ids::{AllocationId, StackId, StringId};
use crate::model::PoolId;
use crate::sorting::SortFew;

/// The allocations with the same key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackSample {
    /// The properties that they share.
    pub key: SampleKey,
    /// Those live at the given moment.
    pub live: Amount,
    /// All of them, including those from before the recording.
    pub all: Amount,
}

/// The properties to sum by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SampleKey {
    /// The stack; if none was recorded, one of the constants of [`StackId`].
    pub stack: StackId,
    /// Whether `stack` freed them; the stack that allocated them is then unknown.
    pub is_freed_at: bool,
    /// The stream's handle, a `cudaStream_t` as a number.
    pub stream: Option<i64>,
    /// The memory pool.
    pub pool: Option<PoolId>,
    /// The profiler's category.
    pub category: Option<StringId>,
}

/// Computes the samples of a device in one pass over its allocations. Sorted by bytes live at `moment`, then by all
/// bytes, both descending.
#[must_use]
pub fn stack_samples(device: Device<'_>, moment: u32) -> Vec<StackSample> {
    let (snapshot, history) = (device.snapshot(), device.history);
    let (streams, pools) = (device.stream_of(), device.pool_of());
    let frees_tell_allocs = device.call_sites().frees_carry_alloc_stacks();
    let mut rows: HashMap<SampleKey, usize> = HashMap::new();
    let mut samples: Vec<StackSample> = Vec::new();
    let table = &history.allocations;
    for id in (0..table.len()).map(AllocationId::from_index) {
        let at = id.index();
        let (stack, source) = history.stack(snapshot, id);
        let category = device.context(id).and_then(|context| context.category);
        let key = SampleKey {
            stack,
            is_freed_at: source == StackSource::Free && stack.has_frames() && !frees_tell_allocs,
            stream: streams[at],
            pool: pools[at],
            category: category.filter(|&text| text != StringId(0)),
        };
        let row = *rows.entry(key).or_insert_with(|| {
            samples.push(StackSample {
                key,
                live: Amount::default(),
                all: Amount::default(),
            });
            samples.len() - 1
        });
        let one = Amount {
            bytes: table.bytes[at],
            count: 1,
        };
        let sample = &mut samples[row];
        sample.all.add(one);
        if Selection::LiveAt(moment).holds(table.born[at], table.died[at]) {
            sample.live.add(one);
        }
    }
    samples.sort_few_by_key(|sample| {
        let bytes = (sample.live.bytes, sample.all.bytes);
        (Reverse(bytes), sample.key)
    });
    samples
}
