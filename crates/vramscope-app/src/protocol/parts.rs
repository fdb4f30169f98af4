//! Which part of the module (see [`parts`](crate::parts)) answers a question or shows a view.

use serde::{Deserialize, Serialize};
use vramscope_view::views::ViewKind;

use super::{HitOf, OutlineOf, Picture, Question};

/// A part of the module that is loaded when it is first needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Part {
    /// All views of a snapshot but the two timelines and [`Part::Planning`], and what is pinned. Loaded once the first
    /// picture of a file is there.
    Views,
    /// The matches of a search, and what else may be searched for.
    Search,
    /// What-if, and graphs of torch.compile.
    Planning,
    /// Pictures, tables and snapshots to save.
    Saving,
    /// Files that are no plain pickles.
    Formats,
    /// Files that change while they are shown.
    Live,
    /// Ranks beside each other.
    Fleet,
}

impl Part {
    /// Its name among the page's files, and in its doors.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Views => "views",
            Self::Search => "search",
            Self::Planning => "planning",
            Self::Saving => "saving",
            Self::Formats => "formats",
            Self::Live => "live",
            Self::Fleet => "fleet",
        }
    }

    /// The part that answers a question; `None` if it is always there.
    #[must_use]
    pub fn that_answers(question: &Question) -> Option<Self> {
        match question {
            Question::Filter(_) => Some(Self::Search),
            Question::Draw(draw)
            | Question::Hit(HitOf { draw, .. })
            | Question::Outline(OutlineOf { draw, .. })
                if matches!(draw.look.picture, Picture::Map | Picture::Packing) =>
            {
                Some(Self::Views)
            }
            Question::Overview(_)
            | Question::Details(_)
            | Question::Event(_)
            | Question::FileDetails(_)
            | Question::Segment(_)
            | Question::Allocator(_)
            | Question::Compare(_)
            | Question::Flame(_)
            | Question::Table(_) => Some(Self::Views),
            Question::WhatIf(_) | Question::Graph(_) => Some(Self::Planning),
            Question::Export(_) => Some(Self::Saving),
            Question::Fleet(_) => Some(Self::Fleet),
            Question::Adopt(_) => Some(Self::Live),
            _ => None,
        }
    }

    /// The part that shows a view; `None` if it is always there.
    #[must_use]
    pub fn that_shows(view: ViewKind) -> Option<Self> {
        match view {
            ViewKind::Timeline | ViewKind::Segments => None,
            ViewKind::WhatIf => Some(Self::Planning),
            ViewKind::Overview
            | ViewKind::Allocator
            | ViewKind::Flame
            | ViewKind::Table
            | ViewKind::Compare
            | ViewKind::Facts
            | ViewKind::Map => Some(Self::Views),
        }
    }
}
