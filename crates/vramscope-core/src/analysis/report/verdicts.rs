//! Why requests fail: each reason, its condition and all its texts, in this file alone. Tables, findings, causes, short
//! answers, the page and the analysis of errors in logs take them from here. A new reason is a variant, its place in
//! `Verdict::of` and a row in `Verdict::said`.

use serde::{Deserialize, Serialize};

use super::findings::addresses::ADDRESSES;
use super::findings::{FailedRequest, sentences};
use crate::analysis::memory::capture::AllocatorKind;
use crate::listed::listed;
use crate::units::{Bytes, Count};

listed! {
    /// Why memory ran out, or why so much was used.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CauseClass {
        /// More is live from step to step.
        GrowthPerStep,
        /// Memory made in the steps is never freed.
        NeverFreed,
        /// The process may use only a part of the device.
        Limit,
        /// Others hold much of the device.
        OtherProcesses,
        /// A request is larger than all the memory that the program could have had.
        RequestTooLarge,
        /// Freed memory waits for other streams, or is free on them.
        PendingFree,
        /// Private pools hold memory that nothing else can use.
        PrivatePool,
        /// Free memory is in pieces that are too small.
        Fragmentation,
        /// Blocks are larger than their requests.
        Rounding,
        /// The output of the previous iteration is still live while the next one is made.
        HeldOutput,
        /// One device, or one rank, holds far more than the others.
        OddRank,
        /// A first pass, which makes something for each parameter or block, was far from done.
        FirstPass,
        /// Memory of earlier forward passes is still live in the next one.
        EarlierPasses,
        /// Most of the reserved memory was needed before, or elsewhere.
        Cached,
        /// Segments are given back and obtained again and again.
        Churn,
        /// All live memory is needed at once: the program itself is too large.
        TooMuchLive,
        /// No addresses were left, although memory was.
        VirtualAddresses,
    }
}

/// Where to see more about a class of causes. A front end chooses the command or view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShownBy {
    /// Memory that stays from step to step.
    Leaks,
    /// Memory of private pools at the moment.
    PrivatePools,
    /// Frees that wait for other streams, or free memory on them.
    PendingFrees,
    /// Free memory in pieces.
    Fragmentation,
    /// The file's settings and facts.
    File,
    /// The same for a typical rank.
    UsualRank,
    /// Live memory at the moment.
    Live,
}

impl CauseClass {
    /// Where to see more about it.
    #[must_use]
    pub fn shown_by(self) -> ShownBy {
        match self {
            Self::GrowthPerStep | Self::NeverFreed => ShownBy::Leaks,
            Self::PrivatePool => ShownBy::PrivatePools,
            Self::PendingFree => ShownBy::PendingFrees,
            Self::Fragmentation | Self::Rounding | Self::Cached | Self::Churn => {
                ShownBy::Fragmentation
            }
            Self::Limit | Self::OtherProcesses | Self::VirtualAddresses => ShownBy::File,
            Self::OddRank => ShownBy::UsualRank,
            Self::TooMuchLive
            | Self::RequestTooLarge
            | Self::FirstPass
            | Self::HeldOutput
            | Self::EarlierPasses => ShownBy::Live,
        }
    }
}

/// Why a request failed: the first that applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The device reported enough free memory for the segment, and the settings limit the process to a share of it.
    Limit,
    /// The device reported enough free memory for the segment, but expandable segments reserve most of the process's
    /// addresses.
    VirtualAddresses,
    /// The device reported enough free memory for the segment: CUDA was not even asked, or another process was quicker.
    DeviceHadEnough,
    /// The file has no reliable segments, so free blocks are unknown; or it lacks the free memory of the device.
    Unknown,
    /// A block of the request's own arena was large enough, but waited for another stream until it was too late.
    Waited,
    /// A free block of the request's own arena and size class was large enough, if its derived size is right.
    OwnBlockFits,
    /// The request's own private pool had segments without live memory, which together with CUDA's memory were enough.
    PoolNotEmptied,
    /// A free block of another pool, stream or size class was large enough.
    OtherBlockFits,
    /// The free blocks of its own arena and size class were large enough together.
    OwnPiecesSuffice,
    /// The device had enough for the request, but not for the segment that PyTorch allocates for it.
    SegmentTooLarge,
    /// The free blocks of its own arena and size class and the free memory of the device were enough together.
    PiecesAndDeviceSuffice,
    /// All free memory together was enough.
    AllFreeSuffices,
    /// All free memory, or pieces of it, was enough, but it is little compared to the reserved memory: if this request
    /// had been served, one soon after would have failed.
    LittleFree,
    /// All free memory was not enough, but would have been without the memory that others had taken.
    Others,
    /// All memory that the program held and the device had free was not enough, or the request is larger than the
    /// device.
    RequestTooLarge,
    /// All free memory together was not enough.
    Short,
}

/// The source of a verdict's cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Of {
    /// Only the live memory explains it.
    Live,
    /// A class of its own.
    Class(CauseClass),
    /// The class of the pool or stream that has the free memory.
    Elsewhere,
}

pub(super) type Sentence = fn(&FailedRequest) -> String;

/// All texts of a verdict. Texts about PyTorch's allocator name it; the driver has its own.
pub(super) struct Said {
    /// A few words, for tables.
    pub(super) words: &'static str,
    /// The class of its cause.
    pub(super) of: Of,
    /// Why, in a sentence without a full stop; `None` if only the live memory explains it.
    pub(super) why: Option<Sentence>,
    /// The background; may be empty.
    pub(super) means: &'static str,
    /// The background with the figures of a snapshot, in place of `means`.
    pub(super) means_here: Option<Sentence>,
    /// The background for the driver; if empty, as for PyTorch's allocator.
    pub(super) driver_means: &'static str,
    /// Advice, a sentence each.
    pub(super) to_try: &'static [&'static str],
    /// Additional first advice for the driver.
    pub(super) driver_to_try: &'static [&'static str],
    /// Whether growing segments may join the free memory.
    pub(super) is_scattered: bool,
    /// Whether only a smaller program helps.
    pub(super) asks_for_less: bool,
}

const PLAIN: Said = Said {
    words: "",
    of: Of::Live,
    why: None,
    means: "",
    means_here: None,
    driver_means: "No other arrangement of these blocks would have helped: less must be live at that moment, or others must hold \
                   less.",
    to_try: &[LOOK],
    driver_to_try: &[],
    is_scattered: false,
    asks_for_less: false,
};

const LOOK: &str = "Look through what was live then: what the loop still holds from before, saved activations, optimizer state.";
const SMALLER: &str = "A smaller batch or sequence, activation checkpointing, or sharding.";
pub(super) const WHO: &str =
    "See who else is on the device: nvidia-smi lists processes and what each holds.";
const SHARE_POOLS: &str =
    "Allocate on fewer streams, share one pool between graphs, or free the other pool first.";
const NOT_SHARED: &str = "Memory is not shared between pools and streams.";
const POOLS_NOT_SHARED: &str = "Memory pools do not share.";
const NO_ARRANGEMENT: &str =
    "No other arrangement of these blocks would have helped: less must be live at that moment.";
pub(super) const ASK_SIZE: &str = "Look where the request comes from and what its size is made of: a dimension may be larger than meant.";
const POOL_LIMIT: &str = "Look for a limit of the pool (maxSize in cuMemPoolCreate), and at nvidia-smi for other processes.";
const APART: &str = "Keep what lives long apart from what comes and goes: a pool of its own (cuMemPoolCreate), or one large allocation that \
                     the program divides itself.";
const TRIM: &str = "Synchronize, then cuMemPoolTrimTo(pool, 0) for the pools that hold free memory; or allocate from one pool only.";

const LIMIT: Said = Said {
    words: "the limit of the process",
    of: Of::Class(CauseClass::Limit),
    why: Some(limit),
    means_here: Some(|it| {
        let held = Bytes(it.gap.reserved_bytes);
        format!("The device had enough. PyTorch held {held} and refused without asking it.")
    }),
    to_try: &["Raise per_process_memory_fraction, or take less."],
    driver_to_try: &[POOL_LIMIT],
    ..PLAIN
};

const VIRTUAL_ADDRESSES: Said = Said {
    words: "virtual addresses used up",
    of: Of::Class(CauseClass::VirtualAddresses),
    why: Some(|it| {
        format!(
            "Refused although the device had {} free for a request of {}: expandable segments reserve {} of the {} of addresses \
             that a process has",
            it.left(),
            Bytes(it.requested_bytes),
            Bytes(it.addresses_bytes),
            Bytes(ADDRESSES)
        )
    }),
    means: "Each expandable segment reserves addresses for more than the whole device, whatever it uses (pytorch#192269).",
    to_try: &[
        "Use fewer streams and pools, set expandable_segments_reserve (torch 2.15) to less, or do without expandable_segments.",
    ],
    ..PLAIN
};

const DEVICE_HAD_ENOUGH: Said = Said {
    words: "refused without need: a limit?",
    of: Of::Class(CauseClass::Limit),
    why: Some(|it| sentences::refused(it.left(), Bytes(it.requested_bytes))),
    means: "The device was most likely not even asked: PyTorch refuses by itself beyond a limit that \
            set_per_process_memory_fraction() set, and with throw_on_cudamalloc_oom. Or another process held the memory \
            at that instant.",
    driver_means: "Something other than the device's memory refused the request: a limit of the memory pool, or another \
                   process that took memory at that instant.",
    to_try: &[
        "Look for set_per_process_memory_fraction(), per_process_memory_fraction and throw_on_cudamalloc_oom, and at nvidia-smi.",
        LOOK,
    ],
    driver_to_try: &[POOL_LIMIT],
    ..PLAIN
};

const UNKNOWN: Said = Said {
    words: "not known",
    means: "The file has no segments that can be trusted, so it is not known what PyTorch held and why that was not enough.",
    driver_means: "The file has no segments that can be trusted, so it is not known what the program held and why that \
                   was not enough.",
    ..PLAIN
};

const WAITED: Said = Said {
    words: "a block waited for a stream",
    of: Of::Class(CauseClass::PendingFree),
    why: Some(|it| {
        let bytes = Bytes(it.waited.map_or(0, |block| block.bytes));
        format!(
            "A block of {bytes} that would have served it was freed, but waited for another stream"
        )
    }),
    means_here: Some(waited_means),
    to_try: &[
        "Catch torch.OutOfMemoryError and try the request once more; or free such tensors earlier, use fewer \
         streams, or wait (torch.cuda.synchronize()) before large requests.",
    ],
    ..PLAIN
};

const OWN_BLOCK_FITS: Said = Said {
    words: "a free block was not used",
    of: Of::Class(CauseClass::Fragmentation),
    why: Some(|it| {
        let (largest, wanted) = (it.own_largest(), Bytes(it.requested_bytes));
        format!("A free block of {largest} was not used for a request of {wanted}")
    }),
    means: "Block sizes at past moments are derived; or max_split_size kept the block from being used.",
    driver_means: "Memory that was freed on one stream serves another only after the first has reached the free; and \
                   cuMemAlloc does not use memory held by pools.",
    driver_to_try: &[
        "Allocate on the stream that freed the memory, or order the two streams by an event; synchronize the stream \
         that freed it.",
    ],
    ..PLAIN
};

const POOL_NOT_EMPTIED: Said = Said {
    words: "its pool kept empty segments",
    of: Of::Class(CauseClass::PrivatePool),
    why: Some(|it| {
        let kept = Bytes(it.gap.empty_bytes);
        format!(
            "Its private pool kept {kept} in segments in which nothing was live, which would have served it"
        )
    }),
    means: "The default pool gives such segments back to the device and tries again; a private pool does not (pytorch#159674).",
    to_try: &[
        "Drop what the pool keeps before large requests: delete the MemPool when none of its memory is live, reserve its \
         largest size \
         first, or use it for sizes that recur.",
    ],
    ..PLAIN
};

const OTHER_BLOCK_FITS: Said = Said {
    words: "free in another pool or stream",
    of: Of::Elsewhere,
    why: Some(|it| {
        let other = match it.kind {
            AllocatorKind::Torch => "pool or stream",
            AllocatorKind::Driver => "memory pool",
        };
        let largest = Bytes(it.other_largest_bytes);
        format!("A free block of {largest} would have served it, but belongs to another {other}")
    }),
    means: NOT_SHARED,
    driver_means: POOLS_NOT_SHARED,
    to_try: &[SHARE_POOLS, LOOK],
    driver_to_try: &[TRIM],
    ..PLAIN
};

const OWN_PIECES_SUFFICE: Said = Said {
    words: "fragmentation",
    of: Of::Class(CauseClass::Fragmentation),
    why: Some(|it| {
        let (free, largest) = (Bytes(it.own_free_bytes), it.own_largest());
        format!("Fragmented: {free} free, the largest piece {largest}")
    }),
    means: "There was enough free memory of the right kind, but not in one piece.",
    driver_means: "There was enough free memory in the pool, but not in one piece.",
    driver_to_try: &[APART],
    is_scattered: true,
    ..PLAIN
};

const SEGMENT_TOO_LARGE: Said = Said {
    words: "no room for a segment",
    of: Of::Class(CauseClass::Fragmentation),
    why: Some(|it| {
        let (left, segment) = (it.left(), Bytes(it.segment_bytes));
        let wanted = Bytes(it.requested_bytes);
        format!(
            "{left} were left on the device, but not the {segment} that a request of {wanted} takes there"
        )
    }),
    means: "PyTorch takes memory from the device in segments.",
    driver_means: "The driver maps memory in pages of 2 MiB, and there was no room for the last one.",
    to_try: &[LOOK, SMALLER],
    asks_for_less: true,
    ..PLAIN
};

const PIECES_AND_DEVICE_SUFFICE: Said = Said {
    words: "fragmentation",
    of: Of::Class(CauseClass::Fragmentation),
    why: Some(|it| {
        let (free, largest) = (Bytes(it.own_free_bytes), it.own_largest());
        let left = it.left();
        format!(
            "Fragmented: {free} free in pieces, the largest {largest}, and {left} left on the device"
        )
    }),
    means: "They would have been enough together: PyTorch could not give the pieces back, as their segments are partly in use.",
    driver_means: "They would have been enough together: the driver could not give the pieces back, as other allocations lie in \
                   the same mappings.",
    driver_to_try: &[APART],
    is_scattered: true,
    ..PLAIN
};

const ALL_FREE_SUFFICES: Said = Said {
    words: "free in several pools or streams",
    of: Of::Elsewhere,
    why: Some(|it| {
        let (all, largest) = (Bytes(it.all_free_bytes()), it.own_largest());
        format!(
            "Fragmented: {all} free in several pools or streams, the largest piece that it could use {largest}"
        )
    }),
    means: NOT_SHARED,
    driver_means: POOLS_NOT_SHARED,
    to_try: &[SHARE_POOLS, LOOK],
    driver_to_try: &[APART, TRIM],
    is_scattered: true,
    ..PLAIN
};

const LITTLE_FREE: Said = Said {
    words: "too much in use",
    means: "The free memory would have been enough for this request, but it was little and in pieces: less must be live \
            at that moment.",
    driver_means: "The free memory would have been enough for this request, but it was little and in pieces: less must be \
                   live at that moment, \
                   or others must hold less.",
    to_try: &[LOOK, SMALLER],
    asks_for_less: true,
    ..PLAIN
};

const OTHERS: Said = Said {
    words: "held by others",
    of: Of::Class(CauseClass::OtherProcesses),
    why: Some(|it| match it.others_bytes() {
        Some(bytes) => sentences::others("held", Bytes(bytes)),
        None => sentences::others("took", Bytes(it.taken_bytes())),
    }),
    means_here: Some(taken_means),
    driver_means: "",
    to_try: &[WHO, LOOK],
    ..PLAIN
};

const REQUEST_TOO_LARGE: Said = Said {
    words: "the request itself is too large",
    of: Of::Class(CauseClass::RequestTooLarge),
    why: Some(|it| {
        let wanted = Bytes(it.requested_bytes);
        match it.exceeded_bytes() {
            Some(device) => format!("A request for {wanted} on a device of {}", Bytes(device)),
            None => sentences::too_large(wanted, Bytes(it.reachable_bytes())),
        }
    }),
    means_here: Some(|it| match it.exceeded_bytes() {
        Some(_) => {
            "Even if nothing had been live, it would have failed: its size is not what was meant."
                .to_owned()
        }
        None => sentences::TOO_LARGE_MEANS.to_owned(),
    }),
    driver_means: "",
    to_try: &[ASK_SIZE],
    ..PLAIN
};

const SHORT: Said = Said {
    words: "too much in use",
    means: NO_ARRANGEMENT,
    means_here: Some(|_| {
        format!(
            "{NO_ARRANGEMENT} What else is on the device (the driver's context, NCCL, other processes) is not in a snapshot."
        )
    }),
    to_try: &[LOOK, SMALLER],
    asks_for_less: true,
    ..PLAIN
};

impl Verdict {
    /// The first verdict that applies to a failed request.
    pub(super) fn of(it: &FailedRequest) -> Self {
        let (wanted, free) = (it.requested_bytes, it.device_free_bytes);
        let has_much_free = it.has_much_free();
        let if_much = |verdict| match has_much_free {
            true => verdict,
            false => Self::LittleFree,
        };
        match free {
            _ if it.exceeded_bytes().is_some() => Self::RequestTooLarge,
            None => Self::Unknown,
            Some(free) if free >= it.segment_bytes => match it.granted_share {
                Some(_) => Self::Limit,
                // Other libraries and other memory of the process use addresses, too.
                None if it.addresses_bytes >= ADDRESSES / 2 => Self::VirtualAddresses,
                None => Self::DeviceHadEnough,
            },
            _ if !it.has_state => Self::Unknown,
            _ if it.waited.is_some() => Self::Waited,
            _ if it.own_largest_bytes >= wanted => Self::OwnBlockFits,
            _ if it.pool_could_give_back() => Self::PoolNotEmptied,
            _ if it.other_fitting > 0 => Self::OtherBlockFits,
            _ if it.own_free_bytes >= wanted => if_much(Self::OwnPiecesSuffice),
            Some(free) if free >= wanted => if_much(Self::SegmentTooLarge),
            Some(free) if it.own_free_bytes.saturating_add(free) >= wanted => {
                if_much(Self::PiecesAndDeviceSuffice)
            }
            _ if it.all_free_bytes() >= wanted => if_much(Self::AllFreeSuffices),
            _ if it.others_suffice() => Self::Others,
            _ if it.reachable_bytes() < wanted => Self::RequestTooLarge,
            _ => Self::Short,
        }
    }

    pub(super) fn said(self) -> &'static Said {
        match self {
            Self::Limit => &LIMIT,
            Self::VirtualAddresses => &VIRTUAL_ADDRESSES,
            Self::DeviceHadEnough => &DEVICE_HAD_ENOUGH,
            Self::Unknown => &UNKNOWN,
            Self::Waited => &WAITED,
            Self::OwnBlockFits => &OWN_BLOCK_FITS,
            Self::PoolNotEmptied => &POOL_NOT_EMPTIED,
            Self::OtherBlockFits => &OTHER_BLOCK_FITS,
            Self::OwnPiecesSuffice => &OWN_PIECES_SUFFICE,
            Self::SegmentTooLarge => &SEGMENT_TOO_LARGE,
            Self::PiecesAndDeviceSuffice => &PIECES_AND_DEVICE_SUFFICE,
            Self::AllFreeSuffices => &ALL_FREE_SUFFICES,
            Self::LittleFree => &LITTLE_FREE,
            Self::Others => &OTHERS,
            Self::RequestTooLarge => &REQUEST_TOO_LARGE,
            Self::Short => &SHORT,
        }
    }

    /// A few words, for tables.
    #[must_use]
    pub fn words(self) -> &'static str {
        self.said().words
    }

    /// The background for PyTorch's allocator. Empty if it needs a snapshot's figures.
    #[must_use]
    pub fn means(self) -> &'static str {
        self.said().means
    }

    /// Advice for PyTorch's allocator, a sentence each.
    #[must_use]
    pub fn to_try(self) -> &'static [&'static str] {
        self.said().to_try
    }

    /// Whether the request most needed a smaller program.
    pub(super) fn is_about_size(self) -> bool {
        match self.said().of {
            Of::Live | Of::Elsewhere => true,
            Of::Class(class) => class == CauseClass::Fragmentation,
        }
    }
}

impl FailedRequest {
    /// The free memory of the device.
    fn left(&self) -> Bytes {
        Bytes(self.device_free_bytes.unwrap_or(0))
    }

    fn own_largest(&self) -> Bytes {
        Bytes(self.own_largest_bytes)
    }
}

fn limit(it: &FailedRequest) -> String {
    let share = it.granted_share.unwrap_or(1.0);
    let of = match it.device_bytes {
        Some(device) => format!(
            " of the device, {} of {}",
            Bytes((device as f64 * share) as u64),
            Bytes(device)
        ),
        None => " of the device".to_owned(),
    };
    format!("Refused at a limit: per_process_memory_fraction grants this process {share}{of}")
}

fn waited_means(it: &FailedRequest) -> String {
    let served = match it.waited.and_then(|block| block.served) {
        Some(moment) => format!(
            " The same request was served from it at event {}, without new memory from the device.",
            Count(moment.into())
        ),
        None => String::new(),
    };
    format!(
        "PyTorch waits for such blocks before it gives up, but then asks the device instead of looking at them again \
         (pytorch#189504).{served}"
    )
}

fn taken_means(it: &FailedRequest) -> String {
    match it.others_bytes() {
        Some(_) => String::new(),
        None => format!(
            "Earlier, this process had or could have had {}.",
            Bytes(it.earlier_bytes)
        ),
    }
}
