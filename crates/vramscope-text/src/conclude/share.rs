//! Divides a device into parts that add up to its capacity.

use serde::Serialize;

use crate::figure::Figure;
use crate::record::{Failure, Form};

/// The owner of a part of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareOf {
    /// Other processes, or the driver.
    Others,
    /// This process outside PyTorch: the CUDA context, NCCL, other libraries.
    Context,
    /// Others, or this process outside PyTorch: the text does not distinguish them.
    OthersOrContext,
    /// Allocated by PyTorch.
    Live,
    /// Kept by private pools, unused.
    Pools,
    /// Held by PyTorch, free.
    Reserved,
    /// Free on the device.
    Free,
}

impl ShareOf {
    /// The words in output.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Others => "others (processes, the driver)",
            Self::Context => "this process outside PyTorch",
            Self::OthersOrContext => "others, and this process outside PyTorch",
            Self::Live => "live in PyTorch",
            Self::Pools => "kept unused by private pools",
            Self::Reserved => "free in PyTorch",
            Self::Free => "free on the device",
        }
    }
}

/// A part of the device.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Share {
    /// The owner.
    pub of: ShareOf,
    /// Its size in bytes.
    pub bytes: u64,
    /// The possible error in either direction, because printed figures are rounded.
    pub off_bytes: u64,
}

/// A difference of figures, with bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Rest {
    pub(super) bytes: i128,
    pub(super) off: i128,
}

impl Rest {
    pub(super) fn of(figure: &Figure) -> Self {
        Self {
            bytes: figure.bytes.into(),
            off: figure.off_bytes.into(),
        }
    }

    pub(super) fn less(self, other: Self) -> Self {
        Self {
            bytes: self.bytes - other.bytes,
            off: self.off + other.off,
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            off: self.off + other.off,
        }
    }

    pub(super) fn least(self) -> i128 {
        self.bytes - self.off
    }

    pub(super) fn most(self) -> i128 {
        self.bytes + self.off
    }

    pub(super) fn to_bytes(self) -> u64 {
        u64::try_from(self.bytes.max(0)).unwrap_or(u64::MAX)
    }

    fn share(self, of: ShareOf) -> Option<Share> {
        (self.bytes > 0).then(|| Share {
            of,
            bytes: self.to_bytes(),
            off_bytes: u64::try_from(self.off).unwrap_or(u64::MAX),
        })
    }
}

/// What PyTorch held: allocated and not; `None` unless the text has both.
pub(super) fn reserved(failure: &Failure) -> Option<Rest> {
    let allocated = Rest::of(failure.allocated.as_ref()?);
    Some(allocated.and(Rest::of(failure.unallocated.as_ref()?)))
}

/// What PyTorch had allocated.
pub(super) fn live(failure: &Failure) -> Option<Rest> {
    let allocated = Rest::of(failure.allocated.as_ref()?);
    Some(match &failure.in_pools {
        Some(pools) => allocated.less(Rest::of(pools)),
        None => allocated,
    })
}

/// The total held by this process, if the text has it and it is plausible.
pub(super) fn in_use(failure: &Failure) -> Option<Rest> {
    let in_use = Rest::of(failure.in_use.as_ref()?);
    let can_be = reserved(failure).is_none_or(|reserved| in_use.most() >= reserved.least());
    can_be.then_some(in_use)
}

/// The parts, in the order of a bar; empty if they are not known or do not add up.
pub(super) fn shares(failure: &Failure) -> Vec<Share> {
    if failure.form != Form::Torch {
        return Vec::new();
    }
    parts(failure).unwrap_or_default()
}

fn parts(failure: &Failure) -> Option<Vec<Share>> {
    let total = Rest::of(failure.total.as_ref()?);
    let free = Rest::of(failure.free.as_ref()?);
    let (reserved, live) = (reserved(failure)?, live(failure)?);
    let unallocated = Rest::of(failure.unallocated.as_ref()?);
    let pools = failure.in_pools.as_ref().map(Rest::of).unwrap_or_default();
    // Memory of the computer in place of the device's does not belong in a bar of the device.
    if reserved.least() > total.most() || live.most() < 0 {
        return None;
    }
    let outside = match in_use(failure) {
        Some(in_use) => [
            total.less(free).less(in_use).share(ShareOf::Others),
            in_use.less(reserved).share(ShareOf::Context),
        ],
        None => [
            total
                .less(free)
                .less(reserved)
                .share(ShareOf::OthersOrContext),
            None,
        ],
    };
    let own = [
        live.share(ShareOf::Live),
        pools.share(ShareOf::Pools),
        unallocated.share(ShareOf::Reserved),
        free.share(ShareOf::Free),
    ];
    Some(outside.into_iter().chain(own).flatten().collect())
}
