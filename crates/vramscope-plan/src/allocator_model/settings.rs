//! Settings of the allocator: `read` from a file or `parse`d from a user's text, and written in torch's syntax.

mod parse;
mod read;

use vramscope_core::analysis::memory::allocator_rules::{
    self, Divisions, LARGE_SEGMENT_BYTES, OWN_SEGMENT_BYTES, SMALL_BYTES,
};
use vramscope_core::units::Bytes;

const MIB: u64 = 1 << 20;

/// The allocator's settings. Fields are named as in `PYTORCH_CUDA_ALLOC_CONF`.
#[derive(Clone, PartialEq, Debug)]
pub struct ModelSettings {
    /// `expandable_segments`: whether segments grow page by page.
    pub expandable_segments: bool,
    /// `max_split_size`: blocks from this size on are not split; `None` = no limit.
    pub max_split_bytes: Option<u64>,
    /// `max_non_split_rounding_mb`, in bytes: how much larger than the request an unsplittable block may be; `None` =
    /// unset, which means `large_segment_bytes`.
    pub max_non_split_rounding_bytes: Option<u64>,
    /// `roundup_power2_divisions`, per power of two from 1 MiB to 32 GiB; below 2 = off.
    pub roundup_power2_divisions: Divisions,
    /// `garbage_collection_threshold`, a share of the allowed bytes; 0 = off.
    pub garbage_collection_threshold: f64,
    /// `large_segment_size_mb`, in bytes: the segment size for requests between 1 and 10 MiB, and the page size of
    /// expandable segments for large requests.
    pub large_segment_bytes: u64,
    /// Bytes that CUDA has for this process; `None` = no limit.
    pub capacity_bytes: Option<u64>,
    /// The allocator's own limit. Garbage is collected only if there is one.
    pub allowed: Allowed,
    /// `per_process_memory_fraction`, 0 to 1; `None` = unset.
    pub memory_fraction: Option<f64>,
    /// Further settings of the file that the model ignores: key and value.
    pub others: Vec<(String, String)>,
    /// Not a setting: it depends on torch's version.
    pub(super) ties: Ties,
}

/// The choice among equally large free blocks. Further ties go to the lowest address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ties {
    /// The block with the lowest address: torch before 2.12.
    Lowest,
    /// The block that was split off first, or obtained first if it is a whole segment: torch 2.12.
    OlderBlock,
    /// The block in the segment that was obtained first: torch 2.15.
    OlderSegment,
}

/// The allocator's own limit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Allowed {
    /// No limit of its own.
    All,
    /// A share of the capacity (`per_process_memory_fraction`).
    Share(f64),
    /// A number of bytes.
    Bytes(u64),
    /// A number of bytes that a failed request in the recording reveals.
    Seen(u64),
}

/// The lower of CUDA's capacity and the allocator's own limit; `None` = no limit.
pub(crate) fn lower_limit(capacity: Option<u64>, allowed: Option<u64>) -> Option<u64> {
    capacity.into_iter().chain(allowed).min()
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            expandable_segments: false,
            max_split_bytes: None,
            max_non_split_rounding_bytes: None,
            roundup_power2_divisions: Divisions::default(),
            garbage_collection_threshold: 0.0,
            large_segment_bytes: LARGE_SEGMENT_BYTES,
            capacity_bytes: None,
            allowed: Allowed::All,
            memory_fraction: None,
            others: Vec::new(),
            ties: Ties::OlderSegment,
        }
    }
}

impl ModelSettings {
    /// Checks for combinations that torch refuses.
    fn check(&self) -> Result<(), String> {
        if !self.has_large_segments() {
            return Err(
                "large_segment_size_mb must be more than 10, and less than a million.".to_owned(),
            );
        }
        let least = self.large_segment_bytes;
        if self.max_split_bytes.is_some_and(|bytes| bytes < least) {
            return Err(format!(
                "max_split_size must not be less than a large segment, {}.",
                Bytes(least)
            ));
        }
        // torch checks it if it is set, whether or not `max_split_size` is.
        let rounding = self.max_non_split_rounding_bytes;
        if rounding.is_some_and(|bytes| bytes < least) {
            return Err(format!(
                "max_non_split_rounding_mb must not be less than a large segment, {}.",
                Bytes(least)
            ));
        }
        Ok(())
    }

    fn has_large_segments(&self) -> bool {
        self.large_segment_bytes > OWN_SEGMENT_BYTES && self.large_segment_bytes < (MIB << 20)
    }

    /// Whether the file may come from a torch before 2.12.
    pub(crate) fn is_old(&self) -> bool {
        self.ties == Ties::Lowest
    }

    /// How much larger than a request an unsplittable block may be.
    pub(super) fn max_non_split_rounding(&self) -> u64 {
        let set = self.max_non_split_rounding_bytes;
        set.unwrap_or(self.large_segment_bytes)
    }

    /// Whether `garbage_collection_threshold` is set without effect: torch collects garbage only if the process has a
    /// limit of its own.
    #[must_use]
    pub fn collects_nothing(&self) -> bool {
        self.garbage_collection_threshold > 0.0 && self.allowed_bytes().is_none()
    }

    /// The lower of the capacity and the allocator's own limit; `None` = no limit.
    #[must_use]
    pub fn limit_bytes(&self) -> Option<u64> {
        lower_limit(self.capacity_bytes, self.allowed_bytes())
    }

    /// The same settings with other limits.
    #[must_use]
    pub fn with_limits(&self, other: impl Fn(u64) -> u64) -> Self {
        Self {
            capacity_bytes: self.capacity_bytes.map(&other),
            allowed: self
                .allowed_bytes()
                .map_or(Allowed::All, |allowed| Allowed::Bytes(other(allowed))),
            ..self.clone()
        }
    }

    /// The allocator's own limit in bytes; `None` = no limit, or unknown.
    #[must_use]
    pub fn allowed_bytes(&self) -> Option<u64> {
        match self.allowed {
            Allowed::All => None,
            Allowed::Bytes(bytes) | Allowed::Seen(bytes) => Some(bytes),
            Allowed::Share(share) => {
                let capacity = self.capacity_bytes?;
                Some((share * capacity as f64) as u64)
            }
        }
    }

    /// The block size for a request, provided that the remainder of the free block is split off.
    pub(super) fn round(&self, bytes: u64) -> u64 {
        // No device has that much, and it prevents sums of block sizes from overflowing.
        allocator_rules::rounded(bytes.min(1 << 60), &self.roundup_power2_divisions)
    }

    /// The size of an ordinary segment for a rounded request.
    pub(super) fn segment_bytes(&self, bytes: u64) -> u64 {
        allocator_rules::segment_bytes(bytes, self.large_segment_bytes)
    }

    /// The most that CUDA may be asked for at once for a rounded request.
    pub(super) fn most_mapped(&self, bytes: u64) -> u64 {
        let bytes = bytes.min(1 << 60);
        if self.expandable_segments && bytes > SMALL_BYTES {
            bytes.next_multiple_of(self.large_segment_bytes)
        } else {
            self.segment_bytes(bytes)
        }
    }

    /// Whether `garbage_collection_threshold` has an effect.
    pub(super) fn collects_garbage(&self) -> bool {
        self.garbage_collection_threshold > 0.0 && self.allowed_bytes().is_some()
    }

    /// `max_split_size`, or `u64::MAX` if there is none.
    pub(super) fn max_split(&self) -> u64 {
        self.max_split_bytes.unwrap_or(u64::MAX)
    }
}
