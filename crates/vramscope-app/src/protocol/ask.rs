//! All questions about an open file: what many views ask is in [`pictures`](super::pictures) and
//! [`details`](super::details), what one view asks in its file of [`views`](super::views).

use serde::{Deserialize, Serialize};

use super::views::{
    allocator, compare, export, filter, flame, graph, lanes, overview, segments, table, what_if,
};
use super::{
    Details, DetailsOf, DrawRequest, DrawnFrame, Hit, HitOf, Legend, LegendOf, Minimap, MinimapOf,
    MomentOf, OutlineColumns, OutlineOf, PlacedMoment, RangeFacts, RangeOf,
};

/// Who asks: of several questions of one asker only the newest is answered.
pub type Slot = u32;

/// What travels beside an answer, being large or no text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Extra {
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
    type Answer: 'static;

    /// The answer, if this is one to such a question.
    fn pick(answer: Answer) -> Option<Self::Answer>;

    /// An answer to such a question, as it travels.
    fn wrap(answer: Self::Answer) -> Answer;
}

macro_rules! questions {
    ($($(#[$doc:meta])* $name:ident($question:ty => $answer:ty);)*) => {
        /// What is asked about an open file.
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
        pub enum Question {$( $(#[$doc])* $name($question), )*}

        /// What is answered.
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
        pub enum Answer {$( $(#[$doc])* $name(Box<$answer>), )*}

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
                        Answer::$name(answer) => Some(*answer),
                        _ => None,
                    }
                }

                fn wrap(answer: $answer) -> Answer {
                    Answer::$name(Box::new(answer))
                }
            }
        )*
    };
}

questions! {
    /// Part of a picture.
    Draw(DrawRequest => DrawnFrame);
    /// What is under a pixel of one.
    Hit(HitOf => Hit);
    /// Where something is in one.
    Outline(OutlineOf => OutlineColumns);
    /// What its colours mean.
    Legend(LegendOf => Legend);
    /// The curves over the whole recording.
    Minimap(MinimapOf => Minimap);
    Moment(MomentOf => PlacedMoment);
    /// A part of the x axis.
    Range(RangeOf => RangeFacts);
    /// An allocation.
    Details(DetailsOf => Details);
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
