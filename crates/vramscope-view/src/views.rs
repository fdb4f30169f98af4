//! The list of the page's views, shared by the page, the command line and links.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::report::findings::EvidenceOf;

/// A view of the page's rail.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ViewKind {
    /// Findings in words.
    Overview,
    /// All allocations over time.
    #[default]
    Timeline,
    /// All segments over time.
    Segments,
    /// The memory map: address × time.
    Map,
    /// The allocator's segments and blocks at one moment.
    Allocator,
    /// Call trees as flame graphs.
    Flame,
    /// All allocations in a table.
    Table,
    /// The comparison of two moments, devices or files.
    Compare,
    /// The least memory that would be enough, and other settings.
    WhatIf,
    /// What the file is, what it holds and what it lacks.
    Facts,
}

impl ViewKind {
    /// All views in the order of the rail and of the keys `1` to `9`; the last has no key.
    pub const ALL: [Self; 10] = [
        Self::Overview,
        Self::Timeline,
        Self::Segments,
        Self::Map,
        Self::Allocator,
        Self::Flame,
        Self::Table,
        Self::Compare,
        Self::WhatIf,
        Self::Facts,
    ];

    /// The view's picture over the x axis; `None` if it has none.
    #[must_use]
    pub fn picture(self) -> Option<Picture> {
        match self {
            Self::Timeline => Some(Picture::Timeline),
            Self::Segments => Some(Picture::Segments),
            Self::Map => Some(Picture::Map),
            Self::WhatIf => Some(Picture::Packing),
            _ => None,
        }
    }

    /// Whether it follows no search but for a memory pool.
    #[must_use]
    pub fn follows_pools_only(self) -> bool {
        matches!(self, Self::Overview | Self::Compare | Self::WhatIf)
    }

    /// The view that shows a kind of evidence.
    #[must_use]
    pub fn showing(evidence: EvidenceOf) -> Self {
        match evidence {
            EvidenceOf::LiveMemory => Self::Timeline,
            EvidenceOf::Segments => Self::Segments,
            EvidenceOf::Addresses => Self::Map,
            EvidenceOf::AllocatorState => Self::Allocator,
            EvidenceOf::CallStacks => Self::Flame,
            EvidenceOf::Allocations => Self::Table,
            EvidenceOf::FileFacts => Self::Facts,
            EvidenceOf::Replays => Self::WhatIf,
        }
    }

    /// Its name in addresses, in commands and for timing.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Timeline => "timeline",
            Self::Segments => "segments",
            Self::Map => "map",
            Self::Allocator => "allocator",
            Self::Flame => "flame",
            Self::Table => "table",
            Self::Compare => "compare",
            Self::WhatIf => "what-if",
            Self::Facts => "facts",
        }
    }

    /// Its name in former versions; `None` if it never changed.
    #[must_use]
    pub fn former_name(self) -> Option<&'static str> {
        (self == Self::Allocator).then_some("state")
    }

    /// The view with this [`name`](Self::name) or former name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let is_it = |view: &Self| view.name() == name || view.former_name() == Some(name);
        Self::ALL.into_iter().find(is_it)
    }

    /// Its label on the rail.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Timeline => "Timeline",
            Self::Segments => "Segments",
            Self::Map => "Map",
            Self::Allocator => "Allocator",
            Self::Flame => "Flame",
            Self::Table => "Table",
            Self::Compare => "Compare",
            Self::WhatIf => "What-if",
            Self::Facts => "Facts",
        }
    }

    /// The question that it answers, as shown on the page.
    #[must_use]
    pub fn question(self) -> &'static str {
        match self {
            Self::Overview => "What is wrong, and what held the memory?",
            Self::Timeline => "What was allocated when?",
            Self::Segments => "What was reserved from the device when?",
            Self::Map => "Where did everything lie? How did memory fragment?",
            Self::Allocator => "What did the allocator hold at one event?",
            Self::Flame => "Which code holds the memory?",
            Self::Table => "Which allocations are there?",
            Self::Compare => "What differs between two moments, devices or files?",
            Self::WhatIf => "How little memory would do, and under which settings?",
            Self::Facts => "What is this file, and what does it lack?",
        }
    }
}

/// A picture over the x axis. All pictures share zoom, cursor and selection on that axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Picture {
    /// Stacked allocations; y is bytes.
    #[default]
    Timeline,
    /// Stacked segments; y is bytes.
    Segments,
    /// Address × time; y is the bytes of all address ranges ever mapped, in lanes.
    Map,
    /// Offset × time; y is the bytes of the ideal packing.
    Packing,
}

impl Picture {
    /// Whether a view with this picture also shows `other`: the packing has the map beside it.
    #[must_use]
    pub fn shows(self, other: Self) -> bool {
        self == other || (self, other) == (Self::Packing, Self::Map)
    }

    /// Whether it is a map, of memory or of a packing.
    #[must_use]
    pub fn is_map(self) -> bool {
        matches!(self, Self::Map | Self::Packing)
    }
}
