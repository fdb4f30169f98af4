//! Answers to [`protocol::views::segments`](crate::protocol::views::segments).

use std::cmp::Reverse;

use vramscope_view::groups::pool_label;
use vramscope_view::map::{GroupMark, Lane, LaneMark, Lanes};

use super::super::describe::stream_label;
use super::super::document::{Device, Document};
use super::super::reserved;
use crate::protocol::Extra;
use crate::protocol::views::segments::{Answer, MapLanes, Question};

/// More lanes than this are too thin to be labelled before one has come close to a few of them.
const MOST_LANES: usize = 20_000;

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
    let (Lanes { lanes, groups, .. }, segments) =
        (document.map_lanes(device), document.segments(device));
    let mut largest: Vec<&Lane> = lanes.iter().collect();
    if largest.len() > MOST_LANES {
        largest.sort_by_key(|lane| Reverse(lane.bytes));
        largest.truncate(MOST_LANES);
        largest.sort_by(|a, b| a.y.total_cmp(&b.y));
    }
    let is_expandable = |row: u32| segments.segments[row as usize].is_expandable;
    let lane = |lane: &Lane| LaneMark {
        y: lane.y,
        address: lane.address,
        bytes: lane.bytes,
        is_expandable: lane.segment.is_some_and(is_expandable),
    };
    let groups = groups.iter().take(MOST_LANES).map(|group| {
        let stream = group.stream.map(|stream| stream_label(document, stream));
        let words = [group.pool.map(pool_label), stream];
        let label: Vec<String> = words.into_iter().flatten().collect();
        GroupMark {
            y: group.y,
            label: if label.is_empty() {
                "segment not recorded".to_owned()
            } else {
                label.join(" · ")
            },
        }
    });
    MapLanes {
        device: device.history.device,
        groups: groups.collect(),
        lanes: largest.into_iter().map(lane).collect(),
    }
}
