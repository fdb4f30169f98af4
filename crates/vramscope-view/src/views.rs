//! The views of a snapshot: the one list of them, for the page, the command line and links.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::report::findings::EvidenceOf;

/// The views of the page's rail.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ViewKind {
    /// What is wrong, in words.
    Overview,
    /// Every allocation over time.
    #[default]
    Timeline,
    /// Every segment over time.
    Segments,
    /// Address × time.
    Map,
    /// The allocator's segments and blocks at one moment.
    Allocator,
    /// Call trees.
    Flame,
    /// Every allocation in a table.
    Table,
    /// Two moments, devices or files.
    Compare,
    /// How little memory would do.
    WhatIf,
    /// What the file is, holds and lacks.
    Facts,
}

impl ViewKind {
    /// In the order of the rail and of the keys `1` to `9`; the last has none.
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

    /// Its picture, if it is one over the x axis.
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

    /// The view that shows evidence.
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
        }
    }

    /// Its name in addresses, commands and marks.
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

    /// What it was called in former versions, if something else.
    #[must_use]
    pub fn former_name(self) -> Option<&'static str> {
        (self == Self::Allocator).then_some("state")
    }

    /// The view of a [`name`](Self::name), or of a former one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let is_it = |view: &Self| view.name() == name || view.former_name() == Some(name);
        Self::ALL.into_iter().find(is_it)
    }

    /// Its word on the rail.
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

    /// The question that it answers.
    #[must_use]
    pub fn question(self) -> &'static str {
        match self {
            Self::Overview => "What is wrong, and what held the memory?",
            Self::Timeline => "What was allocated when?",
            Self::Segments => "What was reserved from CUDA when?",
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

/// A picture over the x axis. All of them share what is done to that axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Picture {
    /// Allocations stacked: y is bytes.
    #[default]
    Timeline,
    /// Segments stacked: y is bytes.
    Segments,
    /// Address × time: y is bytes of the address space that was ever mapped, in lanes.
    Map,
    /// Offset × time: y is bytes of the ideal packing.
    Packing,
}

impl Picture {
    /// Whether a view of this picture shows that one: beside the packing is the map.
    #[must_use]
    pub fn shows(self, other: Self) -> bool {
        self == other || (self, other) == (Self::Packing, Self::Map)
    }
}
