//! Requests that fail although nothing is too large: one story for each cause.

use crate::snapshot::Snapshot;
use crate::text;

/// A block that fits waits for another stream; the identical request after the failure is served from it.
const WAITED: &str = "\
segment 0x7f0000000000 800MiB large
alloc weights 100MiB at 0x7f0000000000 train.py:3:build > model.py:2:__init__
alloc sent 400MiB at 0x7f0006400000 train.py:12:step > comm.py:5:send > torch/distributed/distributed_c10d.py:2100:isend
alloc saved 250MiB at 0x7f001f400000 train.py:12:step > model.py:8:forward
free_requested sent train.py:12:step > model.py:9:forward > comm.py:6:wait
alloc small 40MiB at 0x7f002ee00000 train.py:12:step > model.py:9:forward
free_completed sent
oom 400MiB free=20MiB train.py:12:step
alloc retried 400MiB at 0x7f0006400000 train.py:12:step
free small train.py:13:step";

/// The settings grant half of the device, which has enough.
const LIMITED: &str = "\
setting alloc_conf=per_process_memory_fraction:0.5
alloc weights 1000MiB train.py:3:build
alloc saved 500MiB train.py:8:forward
oom 400MiB free=2000MiB train.py:12:step";

/// Another process takes what this one gave back.
const OTHERS: &str = "\
alloc weights 1000MiB train.py:3:build
alloc batch 3000MiB train.py:5:load
free batch
empty_cache
oom 2000MiB free=10MiB train.py:12:step";

/// A private pool keeps an empty segment and asks for a larger one.
const POOL: &str = "\
alloc weights 1000MiB train.py:3:build
alloc first 600MiB pool=0,1 pool.py:5:grow
free first
oom 700MiB free=200MiB pool=0,1 pool.py:5:grow";

/// The stories by name.
pub const FAILURES: [(&str, &str); 4] = [
    ("oom-waited", WAITED),
    ("oom-limited", LIMITED),
    ("oom-others", OTHERS),
    ("oom-pool", POOL),
];

/// The snapshot of one of [`FAILURES`]; `None` for another name.
#[must_use]
pub fn failure(name: &str) -> Option<Snapshot> {
    let (_, story) = FAILURES.into_iter().find(|(known, _)| *known == name)?;
    text::snapshot(story).ok()
}
