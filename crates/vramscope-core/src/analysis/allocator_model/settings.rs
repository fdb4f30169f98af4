//! What the allocator is told: `read` from a file, or `parse`d from what a user types, and written as torch reads it.

mod parse;
mod read;

use crate::analysis::allocator_rules::{
    self, Divisions, LARGE_SEGMENT_BYTES, OWN_SEGMENT_BYTES, SMALL_BYTES,
};
use crate::units::Bytes;

const MIB: u64 = 1 << 20;

/// What the allocator is told, in its own words (`PYTORCH_CUDA_ALLOC_CONF`).
#[derive(Clone, PartialEq, Debug)]
pub struct ModelSettings {
    /// `expandable_segments`: segments grow page by page.
    pub expandable_segments: bool,
    /// `max_split_size`: larger blocks are not split; `None` = no limit.
    pub max_split_bytes: Option<u64>,
    /// `max_non_split_rounding_mb`, in bytes: how much larger than a request an unsplittable block may be; `None` = not
    /// set, so that it is as much as `large_segment_bytes`.
    pub max_non_split_rounding_bytes: Option<u64>,
    /// `roundup_power2_divisions` per power of two from 1 MiB to 32 GiB; below 2 = off.
    pub roundup_power2_divisions: Divisions,
    /// `garbage_collection_threshold`, a share of what is allowed; 0 = never.
    pub garbage_collection_threshold: f64,
    /// `large_segment_size_mb`, in bytes: what is asked of CUDA for requests between 1 and 10 MiB, and the page
    /// of expandable segments for large requests.
    pub large_segment_bytes: u64,
    /// Bytes that CUDA has for this process; `None` = no limit.
    pub capacity_bytes: Option<u64>,
    /// What the allocator lets itself take. Garbage is only collected where that is limited.
    pub allowed: Allowed,
    /// `per_process_memory_fraction` as it was set; `None` = not set.
    pub memory_fraction: Option<f64>,
    /// What the file has set beside that, which the model does not follow: key and value.
    pub others: Vec<(String, String)>,
    /// No setting, but the version's.
    pub(super) ties: Ties,
}

/// Which of equally large free blocks is taken; where that leaves several, the lowest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ties {
    /// The lowest.
    Lowest,
    /// The one that was cut first, or obtained if it is whole: torch 2.12.
    OlderBlock,
    /// The one of the segment that was obtained first: torch 2.15.
    OlderSegment,
}

/// What the allocator lets itself take.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Allowed {
    /// All that CUDA has.
    All,
    /// A share of the capacity (`per_process_memory_fraction`).
    Share(f64),
    /// So many bytes.
    Bytes(u64),
    /// As few bytes as a failed request of the recording shows.
    Seen(u64),
}

/// Of what there is to have and what the allocator lets itself take, whichever is less; `None` = no limit.
pub(in crate::analysis) fn lower_limit(capacity: Option<u64>, allowed: Option<u64>) -> Option<u64> {
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
    /// What torch refuses when it has read all of them.
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
        // Where it is set, whether or not `max_split_size` is.
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

    /// Whether the file may be of a torch before 2.12.
    pub(crate) fn is_old(&self) -> bool {
        self.ties == Ties::Lowest
    }

    /// How much larger than a request an unsplittable block may be.
    pub(super) fn max_non_split_rounding(&self) -> u64 {
        let set = self.max_non_split_rounding_bytes;
        set.unwrap_or(self.large_segment_bytes)
    }

    /// Whether garbage is to be collected, but never is, because torch does so only where the process is told
    /// how much it may take.
    #[must_use]
    pub fn collects_nothing(&self) -> bool {
        self.garbage_collection_threshold > 0.0 && self.allowed_bytes().is_none()
    }

    /// The lower of what there is to have and what the allocator lets itself take; `None` = no limit.
    #[must_use]
    pub fn limit_bytes(&self) -> Option<u64> {
        lower_limit(self.capacity_bytes, self.allowed_bytes())
    }

    /// The same with other limits.
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

    /// Bytes that the allocator lets itself take; `None` = no limit, or not known.
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

    /// The size of a block for a request, if the rest of the free block is cut off.
    pub(super) fn round(&self, bytes: u64) -> u64 {
        // No device has that much: sums of what is granted must not overflow.
        allocator_rules::rounded(bytes.min(1 << 60), &self.roundup_power2_divisions)
    }

    /// What is asked of CUDA for a rounded request, in ordinary segments.
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

    /// Whether `garbage_collection_threshold` acts: where the process limits itself.
    pub(super) fn collects_garbage(&self) -> bool {
        self.garbage_collection_threshold > 0.0 && self.allowed_bytes().is_some()
    }

    /// `max_split_size`, as a number to compare with.
    pub(super) fn max_split(&self) -> u64 {
        self.max_split_bytes.unwrap_or(u64::MAX)
    }
}
