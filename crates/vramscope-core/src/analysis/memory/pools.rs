//! Memory pools by name: the kind of each pool, the evidence for it, and the owner of most of its memory.
//!
//! A file has only a pair of numbers for each pool. Its form identifies the default pool and CUDA graphs' own pools;
//! all others were made by `MemPool` or `graph_pool_handle`. Which of the two, and for whom, is inferred from the
//! stacks and streams of their allocations. Inferred answers are marked as such, and may be "unknown".

mod members;

use serde::{Deserialize, Serialize};

pub(crate) use self::members::PoolMember;
use super::capture::AllocatorKind;
use crate::Snapshot;
use crate::analysis::code::call_sites::{self, CallSiteId, CallSites};
use crate::analysis::code::frames::Location;
use crate::ids::{FrameId, StringId};
use crate::model::PoolId;
use crate::sorting::SortFew;
use crate::units::{Bytes, Count, Percent};

/// The kind of a memory pool.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolKind {
    /// The pool of all requests that name no other pool.
    Default,
    /// A CUDA graph's own pool.
    Graph,
    /// A pool of CUDA graphs of compiled code.
    CompiledGraph,
    /// The pool of `torch.compile`'s trees of CUDA graphs.
    GraphTree,
    /// A pool that several CUDA graphs share, by `graph_pool_handle`.
    SharedGraph,
    /// A `torch.cuda.MemPool`.
    MemPool,
    /// A pool of symmetric memory.
    Symmetric,
    /// Any other pool.
    Private,
}

impl PoolKind {
    /// The kind in a word or two, without the pool's id: `graph pool`, `MemPool`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Default => "default pool",
            Self::Graph => "graph pool",
            Self::CompiledGraph => "compiled graph pool",
            Self::GraphTree => "graph tree pool",
            Self::SharedGraph => "shared graph pool",
            Self::MemPool => "MemPool",
            Self::Symmetric => "symmetric memory pool",
            Self::Private => "private pool",
        }
    }

    /// Why free memory in such a pool is not idle: CUDA graphs keep it. `None` for pools that serve no graph.
    #[must_use]
    pub fn kept_for(self) -> Option<&'static str> {
        match self {
            Self::Graph | Self::CompiledGraph | Self::GraphTree | Self::SharedGraph => Some(
                "kept for CUDA graphs as long as they live: their replays write there, and empty_cache() gives none of it \
                 back",
            ),
            Self::Default | Self::MemPool | Self::Symmetric | Self::Private => None,
        }
    }
}

/// The evidence for the kind of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PoolEvidence {
    /// The form of its id.
    Id,
    /// It has memory of the default stream.
    DefaultStream,
    /// The code that was running when most of its memory was allocated.
    Code {
        /// A frame of that code.
        frame: FrameId,
        /// The share of bytes with that code, among the bytes with a known stack.
        share: Percent,
    },
    /// The regions of `torch.compile` in which most of its memory was allocated.
    Region {
        /// The text of one of them.
        region: StringId,
        /// The share of bytes in such regions, among all bytes.
        share: Percent,
    },
}

/// The call site with the most bytes in a pool, over the whole recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolOwner {
    /// The call site.
    pub site: CallSiteId,
    /// Number of its allocations in the pool.
    pub count: u64,
    /// Their requested bytes in total; saturates.
    pub bytes: u64,
    /// Requested bytes of the smallest allocation.
    pub smallest_bytes: u64,
    /// Requested bytes of the largest allocation.
    pub largest_bytes: u64,
}

/// A memory pool.
#[derive(Clone, PartialEq, Debug)]
pub struct Pool {
    /// Its id in the file.
    pub id: PoolId,
    /// What it is.
    pub kind: PoolKind,
    /// The evidence for its kind.
    pub evidence: PoolEvidence,
    /// Its name in the metadata of its allocations (`{"pool": …}`), the one with the most bytes; `None` without any.
    pub name: Option<String>,
    /// The call site with the most bytes; `None` for the default pool, and if no stack is known.
    pub owner: Option<PoolOwner>,
}

impl Pool {
    /// Its name in every view: `default pool`, `graph pool (1, 0)`, `MemPool “kv_cache” (0, 2)`.
    #[must_use]
    pub fn label(&self) -> String {
        let word = self.kind.word();
        match (self.kind, &self.name) {
            (PoolKind::Default, _) => word.to_owned(),
            (_, Some(name)) => format!("{word} “{name}” {}", self.id),
            (_, None) => format!("{word} {}", self.id),
        }
    }

    /// Whether the kind is inferred from stacks or streams.
    #[must_use]
    pub fn is_inferred(&self) -> bool {
        self.evidence != PoolEvidence::Id
    }

    /// The evidence for the kind and the name, in sentences.
    #[must_use]
    pub fn because(&self, snapshot: &Snapshot) -> String {
        let mut words = self.kind_because(snapshot);
        if let Some(name) = &self.name {
            words += &format!(" The program's metadata calls it “{name}”.");
        }
        words
    }

    fn kind_because(&self, snapshot: &Snapshot) -> String {
        match (self.evidence, self.kind) {
            (PoolEvidence::DefaultStream, _) => {
                "Inferred: it has memory of the default stream, where no CUDA graph can be captured."
                    .to_owned()
            }
            (PoolEvidence::Code { frame, share }, kind) => {
                let location = Location::of(snapshot, snapshot.frames.get(frame));
                let does = match kind {
                    PoolKind::GraphTree => "where torch.compile's CUDA graphs share a pool",
                    PoolKind::Symmetric => "which allocates symmetric memory",
                    PoolKind::SharedGraph => "which captures CUDA graphs",
                    _ => "which torch.compile generated or runs",
                };
                format!(
                    "Inferred: {share} of its bytes with a stack were allocated beneath {}, {does}.",
                    call_sites::label(&location)
                )
            }
            (PoolEvidence::Region { region, share }, _) => format!(
                "Inferred: {share} of its bytes were allocated in regions that torch.compile compiled ({}).",
                snapshot.strings.get(region)
            ),
            (PoolEvidence::Id, kind) => of_id(self.id, kind, AllocatorKind::of(snapshot)).to_owned(),
        }
    }

    /// The owner of most of its memory: `24 × 865 MiB, vllm_rollout_spmd.py:114 __init__`; `None` if no stack is known.
    #[must_use]
    pub fn owner_words(&self, sites: &CallSites) -> Option<String> {
        let owner = self.owner?;
        let (count, largest) = (Count(owner.count), Bytes(owner.largest_bytes));
        let size = match owner {
            PoolOwner { count: 1, .. } => largest.to_string(),
            _ if owner.smallest_bytes == owner.largest_bytes => format!("{count} × {largest}"),
            _ => format!("{count} × up to {largest}"),
        };
        Some(format!("{size}, {}", sites.get(owner.site).label))
    }
}

/// Explains the id of a pool of this kind.
fn of_id(id: PoolId, kind: PoolKind, allocator: AllocatorKind) -> &'static str {
    match (kind, id, allocator) {
        (PoolKind::Default, ..) => "Its id is (0, 0): all requests that name no other pool.",
        (PoolKind::Graph, _, AllocatorKind::Torch) => {
            "Its id has the form (n, 0), which a CUDA graph gives to a pool of its own."
        }
        (PoolKind::Graph, _, AllocatorKind::Driver) => {
            "The recorder gives ids of the form (n, 0) to what graphs allocate."
        }
        (_, _, AllocatorKind::Driver) => {
            "The recorder gives ids of the form (0, n) to pools made by cuMemPoolCreate."
        }
        (_, PoolId(0, _), AllocatorKind::Torch) => {
            "Its id has the form (0, n), which MemPool and graph_pool_handle() give; nothing in the file shows which of \
             them."
        }
        _ => "Its id has none of the forms that PyTorch gives.",
    }
}

/// All memory pools of a file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Pools {
    /// Ascending by id.
    pools: Vec<Pool>,
}

impl Pools {
    /// The pools that the file mentions. `members` are its allocations in private pools; others in between are ignored.
    /// The iterator is not used if there are no private pools.
    pub(crate) fn of<'a>(
        snapshot: &'a Snapshot,
        members: impl IntoIterator<Item = PoolMember<'a>>,
    ) -> Self {
        let ids = mentioned(snapshot);
        if !ids.iter().any(|pool| pool.is_private()) {
            let pools = ids.into_iter().map(Pool::of_id).collect();
            return Self { pools };
        }
        Self {
            pools: members::pools(snapshot, &ids, members),
        }
    }

    /// The pools, ascending by id.
    #[must_use]
    pub fn all(&self) -> &[Pool] {
        &self.pools
    }

    /// The index of a pool in [`all`](Self::all), which is also the number of its colour; `None` if the file does not
    /// mention the pool.
    #[must_use]
    pub fn number(&self, id: PoolId) -> Option<u32> {
        let found = self.pools.binary_search_by_key(&id, |pool| pool.id);
        found.ok().map(|at| at as u32)
    }

    /// The pool with this id; `None` if the file does not mention it.
    #[must_use]
    pub fn get(&self, id: PoolId) -> Option<&Pool> {
        self.pools.get(self.number(id)? as usize)
    }

    /// The label of the pool with this id, see [`Pool::label`].
    #[must_use]
    pub fn label(&self, id: PoolId) -> String {
        self.get(id)
            .map_or_else(|| Pool::of_id(id).label(), Pool::label)
    }
}

impl Pool {
    /// A pool with nothing known but its id.
    fn of_id(id: PoolId) -> Self {
        let kind = match id {
            PoolId(0, 0) => PoolKind::Default,
            PoolId(_, 0) => PoolKind::Graph,
            _ => PoolKind::Private,
        };
        Self {
            id,
            kind,
            evidence: PoolEvidence::Id,
            name: None,
            owner: None,
        }
    }
}

/// The pools of all events and segments, ascending.
fn mentioned(snapshot: &Snapshot) -> Vec<PoolId> {
    let of_events = snapshot.contexts.rows().iter();
    let of_segments = snapshot.segments.rows.iter();
    let mut pools: Vec<PoolId> = of_events
        .filter_map(|context| context.pool)
        .chain(of_segments.filter_map(|segment| segment.pool))
        .collect();
    pools.sort_few_by(Ord::cmp);
    pools.dedup();
    pools
}

#[cfg(test)]
mod tests;
