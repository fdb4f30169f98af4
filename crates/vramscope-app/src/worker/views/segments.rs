//! Answers to [`protocol::views::segments`](crate::protocol::views::segments).

use super::super::describe::stream_label;
use super::super::document::{Device, Document};
use super::super::reserved;
use crate::protocol::views::segments::{Answer, MapLanes, Question};

/// The answer; `None` if there is nothing to say.
pub(super) fn answer(question: &Question, document: &Document) -> Option<Answer> {
    Some(match *question {
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
    })
}

fn lanes(document: &Document, device: Device<'_>) -> MapLanes {
    let stream = |stream| stream_label(document, stream);
    let (lanes, segments) = (device.map_lanes(), device.segments());
    let (lanes, groups) = lanes.marks(segments, stream);
    MapLanes {
        device: device.history.device,
        lanes,
        groups,
    }
}
