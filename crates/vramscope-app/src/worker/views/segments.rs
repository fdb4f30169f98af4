//! Answers to [`protocol::views::segments`](crate::protocol::views::segments).

use super::super::describe::stream_label;
use super::super::document::{Device, Document};
use super::super::reserved;
use crate::protocol::Extra;
use crate::protocol::views::segments::{Answer, MapLanes, Question};

/// What is kept from one question to the next.
#[derive(Default)]
pub(super) struct Cache {}

/// The answer, with what travels beside it; `None` if there is nothing to say.
pub(super) fn answer(
    question: &Question,
    document: &Document,
    _cache: &mut Cache,
) -> Option<(Answer, Extra)> {
    let answer = match *question {
        Question::Lanes { device } => Answer::Lanes(lanes(document, document.device(device)?)),
        Question::Segment {
            device,
            piece,
            moment,
        } => {
            let device = document.device(device)?;
            let details = reserved::details(document, device, piece, moment)?;
            Answer::Segment(Box::new(details))
        }
    };
    Some((answer, Extra::Nothing))
}

fn lanes(document: &Document, device: Device<'_>) -> MapLanes {
    let stream = |stream| stream_label(document, stream);
    let (lanes, segments) = (document.map_lanes(device), document.segments(device));
    let (lanes, groups) = lanes.marks(segments, stream);
    MapLanes {
        device: device.history.device,
        lanes,
        groups,
    }
}
