//! Parts of a program whose ranges nest separately.

use std::fmt::Display;

use crate::range::{Range, StartedRange};
use crate::symbols::capture;

/// A part of a program, usually a library. Its ranges nest separately from those of other parts and are shown in tracks
/// of their own. Domains correspond to those of NVTX: the same name is the same domain in both.
///
/// ```
/// use std::sync::LazyLock;
/// use vramscope_api::Domain;
///
/// static CACHE: LazyLock<Domain> = LazyLock::new(|| Domain::named("my-cache"));
///
/// let _evicting = CACHE.range("evict");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Domain(pub(crate) u32);

impl Domain {
    /// The program's own domain, used by the functions of this crate.
    pub const DEFAULT: Self = Self(0);

    /// The domain with this name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        capture().map_or(Self::DEFAULT, |capture| Self(capture.domain(name)))
    }

    /// [`range`](crate::range()) in this domain.
    pub fn range(self, name: impl Display) -> Range {
        Range::new(self, name)
    }

    /// [`range_push`](crate::range_push) in this domain.
    pub fn range_push(self, name: impl Display) -> i32 {
        capture().map_or(NO_PUSH_POP_TRACKING, |capture| {
            capture.range_push(self.0, name)
        })
    }

    /// [`range_pop`](crate::range_pop) in this domain.
    pub fn range_pop(self) -> i32 {
        capture().map_or(NO_PUSH_POP_TRACKING, |capture| capture.range_pop(self.0))
    }

    /// [`range_start`](crate::range_start) in this domain.
    pub fn range_start(self, name: impl Display) -> StartedRange {
        StartedRange::new(self, name)
    }

    /// [`mark`](crate::mark()) in this domain.
    pub fn mark(self, name: impl Display) {
        if let Some(capture) = capture() {
            capture.mark(self.0, name);
        }
    }
}

/// Result of push and pop in NVTX if depths are not tracked.
const NO_PUSH_POP_TRACKING: i32 = -2;
