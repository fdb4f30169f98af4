//! The list of all questions about an open file. Those that many views ask are in [`pictures`](super::pictures) and
//! [`details`](super::details), those of a single view in its file of [`views`](super::views).

use serde::{Deserialize, Serialize};

use super::views::{
    allocator, compare, export, filter, flame, fleet, graph, lanes, overview, segments, table,
    what_if,
};
use super::{
    Adopt, Adopted, BandLabels, BandLabelsOf, Curve, Details, DetailsOf, DevicesOfPools,
    DevicesWithin, DrawRequest, DrawnFrame, EventAnswer, EventOf, Hit, HitOf, LegendEntry,
    LegendOf, Minimap, MinimapOf, MomentAt, MomentOf, OutlineColumns, OutlineOf, PlacedMoment,
    Preview, PreviewsOf, RangeFacts, RangeOf, ReservedOf,
};

/// An asker. Of several waiting questions of one asker only the newest is answered.
pub type Slot = u32;

/// The part of an answer that travels beside its text, because it is large or an object of the browser.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Extra {
    #[default]
    Nothing,
    /// Arrives as an `ArrayBuffer`.
    Bytes(Vec<u8>),
    /// A picture, which arrives as an `ImageBitmap`.
    Pixels {
        /// Width in device px.
        width_px: u32,
        /// Height in device px.
        height_px: u32,
        /// `width × height` pixels of R, G, B, A (not premultiplied), the top row first.
        rgba: Vec<u8>,
    },
}

/// A question with its own type of answer.
pub trait Ask: Clone + PartialEq + Into<Question> {
    type Answer: 'static;

    /// The answer to such a question; `None` if `answer` is one to another type of question.
    fn pick(answer: Answer) -> Option<Self::Answer>;

    /// The answer as it travels.
    fn wrap(answer: Self::Answer) -> Answer;
}

/// The answer to a question, as it travels.
pub fn with_extra<Q: Ask>(_: &Q, answered: Option<(Q::Answer, Extra)>) -> Option<(Answer, Extra)> {
    answered.map(|(answer, extra)| (Q::wrap(answer), extra))
}

macro_rules! questions {
    ($($(#[$doc:meta])* $name:ident($question:ty => $answer:ty);)*) => {
        /// A question about an open file.
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
        pub enum Question {$( $(#[$doc])* $name($question), )*}

        #[cfg(test)]
        impl Question {
            /// The names of all kinds.
            pub(crate) const KINDS: &[&str] = &[$(stringify!($name)),*];
        }

        /// The answer to a [`Question`].
        #[derive(PartialEq, Debug, Serialize, Deserialize)]
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
    /// The texts in a timeline's bands.
    BandLabels(BandLabelsOf => BandLabels);
    /// The reserved memory over a timeline.
    Reserved(ReservedOf => Curve);
    /// The thing under a pixel of a picture.
    Hit(HitOf => Hit);
    /// The outline of a thing in a picture.
    Outline(OutlineOf => OutlineColumns);
    /// The meaning of a picture's colours.
    Legend(LegendOf => Vec<LegendEntry>);
    /// The curves over the whole recording.
    Minimap(MinimapOf => Minimap);
    Moment(MomentOf => PlacedMoment);
    MomentAt(MomentAt => u32);
    /// A part of the x axis.
    Range(RangeOf => RangeFacts);
    /// An allocation.
    Details(DetailsOf => Details);
    /// Allocations in short.
    Previews(PreviewsOf => Vec<Preview>);
    Event(EventOf => EventAnswer);
    /// The devices within memory pools.
    Devices(DevicesWithin => DevicesOfPools);
    /// A device at a glance.
    Overview(overview::OverviewOf => overview::Overview);
    /// The file as a whole.
    FileDetails(overview::FileDetailsOf => overview::FileDetails);
    /// Lanes, marks and lines of the timeline.
    Lanes(lanes::Question => lanes::Answer);
    MapLanes(segments::MapLanesOf => segments::MapLanes);
    Segment(segments::SegmentOf => segments::SegmentDetails);
    /// The allocator at one moment.
    Allocator(allocator::Question => allocator::Answer);
    /// Call trees.
    Flame(flame::Question => flame::Answer);
    /// Ranks of a fleet.
    Fleet(fleet::Question => fleet::Answer);
    /// Inductor graphs.
    Graph(graph::Question => graph::Answer);
    /// Rows of the table of allocations.
    Table(table::Question => table::Answer);
    /// The search.
    Filter(filter::Question => filter::Answer);
    /// The comparison of two sides.
    Compare(compare::Question => compare::Answer);
    /// What changes of the program would save.
    Program(what_if::ProgramOf => what_if::ProgramRows);
    /// What replays with other settings amount to.
    Conclusion(what_if::ConclusionOf => what_if::Concluded);
    /// Plans with less memory, and replays with other settings.
    WhatIf(what_if::Question => what_if::Answer);
    /// The next version of the file.
    Adopt(Adopt => Adopted);
    /// Downloads.
    Export(export::Question => export::Answer);
}
