//! The questions of single views: each view has its own types in [`views`](super::views), so that what one
//! view asks concerns no other.

use serde::{Deserialize, Serialize};

use super::views::{
    allocator, compare, export, filter, flame, graph, lanes, overview, segments, table, what_if,
};

/// Who asks: of several questions of one asker only the newest is answered.
pub type Slot = u32;

/// What travels beside an answer, being large or no text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Extra {
    /// Nothing.
    #[default]
    Nothing,
    /// Bytes; they arrive as an `ArrayBuffer`.
    Bytes(Vec<u8>),
    /// A picture; it arrives as an `ImageBitmap`.
    Pixels {
        /// Width in device px.
        width_px: u32,
        /// Height in device px.
        height_px: u32,
        /// `width × height` pixels of R, G, B, A (not premultiplied), the top row first.
        rgba: Vec<u8>,
    },
}

/// A question with its own kind of answer.
pub trait Ask: Clone + PartialEq + Into<Question> {
    /// What answers it.
    type Answer: 'static;

    /// The answer, if this is one to such a question.
    fn pick(answer: Answer) -> Option<Self::Answer>;
}

macro_rules! views {
    ($($(#[$doc:meta])* $name:ident($question:ty => $answer:ty);)*) => {
        /// What a view asks about an open file.
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Question {$( $(#[$doc])* $name($question), )*}

        /// What it is told.
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Answer {$( $(#[$doc])* $name($answer), )*}

        $(
            impl From<$question> for Question {
                fn from(question: $question) -> Self {
                    Self::$name(question)
                }
            }

            impl Ask for $question {
                type Answer = $answer;

                fn pick(answer: Answer) -> Option<$answer> {
                    match answer {
                        Answer::$name(answer) => Some(answer),
                        _ => None,
                    }
                }
            }
        )*
    };
}

views! {
    /// What is wrong, in words.
    Overview(overview::Question => overview::Answer);
    /// What lies above and over the timeline.
    Lanes(lanes::Question => lanes::Answer);
    /// Of segments and lanes of the map.
    Segments(segments::Question => segments::Answer);
    /// The allocator at one moment.
    Allocator(allocator::Question => allocator::Answer);
    /// Call trees.
    Flame(flame::Question => flame::Answer);
    /// Of inductor graphs.
    Graph(graph::Question => graph::Answer);
    /// Rows of the table of allocations.
    Table(table::Question => table::Answer);
    /// What the search finds.
    Filter(filter::Question => filter::Answer);
    /// Two sides.
    Compare(compare::Question => compare::Answer);
    /// How little memory would do.
    WhatIf(what_if::Question => what_if::Answer);
    /// What can be downloaded.
    Export(export::Question => export::Answer);
}
