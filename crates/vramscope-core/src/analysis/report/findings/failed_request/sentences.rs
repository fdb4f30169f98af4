//! Sentences shared by the analysis of snapshots and of error messages.

use crate::analysis::report::findings::EXPANDABLE;
use crate::units::Bytes;

/// What it means that a request is larger than all the memory that the program could have had.
pub const TOO_LARGE_MEANS: &str = "Even if nothing had been live, it would have failed. Its size is not what was meant, or others hold the device.";

/// The effect of the setting that joins free memory.
pub(super) const JOINS: &str =
    " (before torch 2.1 there is only max_split_size_mb), which joins free memory.";

/// The setting that joins free memory.
#[must_use]
pub fn expandable() -> String {
    format!("PYTORCH_CUDA_ALLOC_CONF={EXPANDABLE}{JOINS}")
}

/// Advice on private pools of CUDA graphs.
pub const FEWER_GRAPHS: &str = "Capture graphs that never run at the same time into one pool (pool=first.pool()), the largest first; \
                                capture fewer sizes.";

/// Why memory stays in the pools of CUDA graphs.
pub const GRAPH_POOLS_MEAN: &str = "The pool of a CUDA graph is kept as long as the graph: its replays write to memory \
                                    that is free now. Nothing outside the pool can use it.";

/// A request was refused although `left` was free on the device.
#[must_use]
pub fn refused(left: Bytes, wanted: Bytes) -> String {
    format!("Refused although the device had {left} free for a request of {wanted}")
}

/// A request is larger than all the memory that the program could have had.
#[must_use]
pub fn too_large(wanted: Bytes, reachable: Bytes) -> String {
    format!("A request for {wanted} where the device had {reachable} for all of this program")
}

/// Others `did` ("held", "took") so much that the request failed.
#[must_use]
pub fn others(did: &str, bytes: Bytes) -> String {
    format!("Others {did} {bytes} of the device; without them the request would have been served")
}

/// The live memory, the memory that the process could have had (if known), and the time.
#[must_use]
pub fn live(bytes: Bytes, could_have: Option<Bytes>, when: &str) -> String {
    let of_all = could_have.map(|all| format!(" of the {all} that this process could have"));
    format!("{bytes}{} were live {when}", of_all.unwrap_or_default())
}

/// Private pools hold so much.
#[must_use]
pub fn pools_hold(bytes: Bytes) -> String {
    format!("Private pools hold {bytes}")
}
