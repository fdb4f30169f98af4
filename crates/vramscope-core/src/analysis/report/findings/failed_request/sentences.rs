//! What is said of a failed request of PyTorch's allocator whether a snapshot tells of it or only the text of the error:
//! sentences without figures by the verdict, and those with figures.

use super::Verdict;
use crate::analysis::report::findings::EXPANDABLE;
use crate::units::Bytes;

/// What to try if a request is larger than what is there.
pub const ASK_SIZE: &str = "Look where the request comes from and what its size is made of: a dimension may be larger than meant.";

/// What is behind a request that is larger than all that the program could have had.
pub const TOO_LARGE_MEANS: &str = "Even if nothing had been live, it would have failed. Its size is not what was meant, or others hold the device.";

/// What is behind a request that is larger than the whole device.
pub(super) const LARGER_MEANS: &str =
    "Even if nothing had been live, it would have failed: its size is not what was meant.";

/// What is behind a request for which nothing free would have done.
pub const NO_ARRANGEMENT: &str =
    "No other arrangement of these blocks would have helped: less must be live at that moment.";

/// What joins free memory, after the setting.
pub(super) const JOINS: &str =
    " (before torch 2.1 there is only max_split_size_mb), which joins free memory.";

/// The setting that joins free memory.
#[must_use]
pub fn expandable() -> String {
    format!("PYTORCH_CUDA_ALLOC_CONF={EXPANDABLE}{JOINS}")
}

/// What to do about private pools of CUDA graphs.
pub const FEWER_GRAPHS: &str = "Capture graphs that never run at the same time into one pool (pool=first.pool()), the largest first; \
                                capture fewer sizes.";

/// What keeps memory in the pools of CUDA graphs.
pub const GRAPH_POOLS_MEAN: &str = "The pool of a CUDA graph is kept for as long as the graph: what is free in it now, its replays write \
                                    to. Nothing outside of the pool can use it.";

/// A request was refused although `left` was free on the device.
#[must_use]
pub fn refused(left: Bytes, wanted: Bytes) -> String {
    format!("Refused although the device had {left} free for a request of {wanted}")
}

/// A request is for more than all that the program could have had.
#[must_use]
pub fn too_large(wanted: Bytes, reachable: Bytes) -> String {
    format!("A request for {wanted} where the device had {reachable} for all of this program")
}

/// A request is for more than the whole device.
pub(super) fn larger_than(wanted: Bytes, device: Bytes) -> String {
    format!("A request for {wanted} on a device of {device}")
}

/// Others `did` ("held", "took") so much that the request failed.
#[must_use]
pub fn others(did: &str, bytes: Bytes) -> String {
    format!("Others {did} {bytes} of the device; without them the request would have been served")
}

/// What was live, of what the process could have (empty if unknown), and when.
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

impl Verdict {
    /// What is behind a failure of PyTorch's allocator. Empty if it is told with figures.
    #[must_use]
    pub fn means(self) -> &'static str {
        match self {
            Self::DeviceHadEnough => {
                "CUDA was most likely not even asked: PyTorch refuses by itself beyond a limit that \
                 set_per_process_memory_fraction() set, and with throw_on_cudamalloc_oom. Or another process held the memory \
                 at that instant."
            }
            Self::PoolNotEmptied => {
                "The default pool gives such segments back to CUDA and tries again; a private pool does not (pytorch#159674)."
            }
            Self::SegmentTooLarge => "PyTorch takes memory from CUDA in segments.",
            Self::Unknown => {
                "The file has no segments that can be trusted, so that it is not known what PyTorch held and why \
                 that did not do."
            }
            Self::OwnBlockFits => {
                "Block sizes at past moments are derived; or max_split_size kept the block from being used."
            }
            Self::OtherBlockFits | Self::AllFreeSuffices => {
                "Memory is not shared between pools and streams."
            }
            Self::OwnPiecesSuffice => {
                "There was enough free memory of the right kind, but not in one piece."
            }
            Self::PiecesAndDeviceSuffice => {
                "They would have been enough together: PyTorch could not give the pieces back, as their segments are partly in use."
            }
            Self::LittleFree => {
                "What was free would have done for this request, but was little and in pieces: less must be live at that moment."
            }
            Self::Short => NO_ARRANGEMENT,
            Self::Limit | Self::Waited | Self::Others | Self::RequestTooLarge => "",
        }
    }

    /// Whether nothing helps but a smaller program.
    pub(super) fn asks_for_less(self) -> bool {
        matches!(self, Self::Short | Self::LittleFree | Self::SegmentTooLarge)
    }

    /// What to try if a request of PyTorch's allocator failed, a sentence each.
    #[must_use]
    pub fn to_try(self) -> Vec<&'static str> {
        let mut list: Vec<&str> = Vec::new();
        match self {
            Self::DeviceHadEnough => list.push(
                "Look for set_per_process_memory_fraction(), per_process_memory_fraction and throw_on_cudamalloc_oom, and at nvidia-smi.",
            ),
            Self::Limit => list.push("Raise per_process_memory_fraction, or take less."),
            Self::Waited => list.push(
                "Catch torch.OutOfMemoryError and try the request once more; or free such tensors earlier, use fewer \
                 streams, or wait (torch.cuda.synchronize()) before large requests.",
            ),
            Self::PoolNotEmptied => list.push(
                "Drop what the pool keeps before large requests: delete the MemPool when nothing of it is live, reserve its largest size first, \
                 or use it for sizes that recur.",
            ),
            Self::Others => list.push("See who else is on the device: nvidia-smi lists processes and what each holds."),
            Self::RequestTooLarge => list.push(ASK_SIZE),
            _ => {}
        }
        if matches!(self, Self::OtherBlockFits | Self::AllFreeSuffices) {
            list.push("Allocate on fewer streams, share one pool between graphs, or free the other pool first.");
        }
        if !matches!(
            self,
            Self::Waited | Self::PoolNotEmptied | Self::Limit | Self::RequestTooLarge
        ) {
            list.push("Look through what was live then: what the loop still holds from before, saved activations, optimizer state.");
        }
        if self.asks_for_less() {
            list.push("A smaller batch or sequence, activation checkpointing, or sharding.");
        }
        list
    }
}
