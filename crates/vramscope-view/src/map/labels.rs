//! Labels of the map: the bytes below, or addresses; and the pool and stream of groups.
//!
//! The y axis has one meaning at a time: the bytes of all segments below, if that distinguishes positions, else addresses.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::memory::segment_history::SegmentHistory;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::sorting::SortFew;

use super::{Lane, Lanes};
use crate::display;
use crate::viewport::Viewport;

/// Only this many lanes, the largest, can have labels. Others are too thin to be labelled until zoomed in.
const MOST_LANES: usize = 20_000;

/// Height of a line of text, and least height of a lane with a label, px.
const LINE_PX: f64 = 14.0;
/// Lanes at least this high have several addresses, px.
const ADDRESSES_PX: f64 = 90.0;
/// Least distance of two addresses, px.
const ADDRESS_STEP_PX: f64 = 44.0;
/// With fewer sums, as in a single segment, addresses are more informative.
const SUMS: usize = 3;
/// Least height of the visible part of a labelled group, px.
const GROUP_PX: f64 = 20.0;

/// The data for a lane's labels.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LaneMark {
    /// Lower edge on the y axis.
    pub y: f64,
    /// First address.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Whether the lane is an expandable segment.
    pub is_expandable: bool,
}

/// Data for the label of neighbouring lanes of one pool and stream.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct GroupMark {
    /// Lower and upper edge on the y axis.
    pub y: (f64, f64),
    /// E.g. `default pool · default stream`.
    pub label: String,
}

/// A text beside or over the map.
#[derive(Clone, PartialEq, Debug)]
pub struct MapLabel {
    /// The middle, or for a group's label the upper edge; px from the top of the picture.
    pub y_px: f64,
    /// The text.
    pub text: String,
    /// The full text, if `text` is shortened.
    pub title: String,
}

/// The visible labels of a picture.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MapLabels {
    /// Labels of lanes and addresses, left of the picture; none overlaps another.
    pub lanes: Vec<MapLabel>,
    /// Labels of groups, in their upper left corners.
    pub groups: Vec<MapLabel>,
}

impl Lanes {
    /// Data for labels of the lanes (of only the largest, if there are very many) and of their groups. `stream` names a
    /// stream.
    #[must_use]
    pub fn marks(
        &self,
        segments: &SegmentHistory,
        recording: &Recording,
    ) -> (Vec<LaneMark>, Vec<GroupMark>) {
        let mut largest: Vec<&Lane> = self.lanes.iter().collect();
        if largest.len() > MOST_LANES {
            largest.sort_few_by_key(|lane| Reverse(lane.bytes));
            largest.truncate(MOST_LANES);
            largest.sort_few_by(|a, b| a.y.total_cmp(&b.y));
        }
        let is_expandable = |row: u32| segments.segments[row as usize].is_expandable;
        let lane = |lane: &Lane| LaneMark {
            y: lane.y,
            address: lane.address,
            bytes: lane.bytes,
            is_expandable: lane.segment.is_some_and(is_expandable),
        };
        let groups = self.groups.iter().take(MOST_LANES).map(|group| {
            let words = [
                group.pool.map(|pool| recording.pools().label(pool)),
                group.stream.map(|stream| recording.streams().label(stream)),
            ];
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
        (largest.into_iter().map(lane).collect(), groups.collect())
    }
}

impl MapLabels {
    /// The labels for the visible part of the map; `viewport` must be in the px of the text.
    /// `lanes` and `groups` are sorted from the bottom up.
    #[must_use]
    pub fn of(lanes: &[LaneMark], groups: &[GroupMark], viewport: &Viewport) -> Self {
        // If there are very many lanes, only the largest are here, without sums.
        let sums = if lanes.len() < MOST_LANES {
            sums(lanes, viewport)
        } else {
            Vec::new()
        };
        let are_apart = sums.windows(2).all(|pair| pair[0].text != pair[1].text);
        let group = |group| group_label(group, viewport);
        Self {
            lanes: if sums.len() >= SUMS && are_apart {
                sums
            } else {
                addresses(lanes, viewport)
            },
            groups: match groups {
                [] | [_] => Vec::new(),
                groups => groups.iter().filter_map(group).collect(),
            },
        }
    }
}

/// The addresses of lanes with room for a label.
fn addresses(lanes: &[LaneMark], view: &Viewport) -> Vec<MapLabel> {
    let mut labels = Vec::new();
    let first = lanes.partition_point(|lane| lane.y + lane.bytes as f64 <= view.y_min_bytes);
    let seen = lanes[first..].iter();
    for lane in seen.take_while(|lane| lane.y < view.y_max_bytes) {
        lane_labels(lane, view, &mut labels);
    }
    // Of two labels that are too close, the upper one is dropped.
    let mut last_px = f64::INFINITY;
    labels.retain(|label: &MapLabel| {
        let fits = last_px - label.y_px >= LINE_PX;
        if fits {
            last_px = label.y_px;
        }
        fits
    });
    labels
}

fn sums(lanes: &[LaneMark], view: &Viewport) -> Vec<MapLabel> {
    let mut labels: Vec<MapLabel> = Vec::new();
    let (mut below_bytes, mut last_px) = (0_u64, f64::INFINITY);
    for lane in lanes {
        let y_px = view.y_px(lane.y);
        if (0.0..=f64::from(view.height_px)).contains(&y_px) && last_px - y_px >= ADDRESS_STEP_PX {
            last_px = y_px;
            let text = display::bytes(below_bytes);
            labels.push(MapLabel {
                y_px,
                title: format!("{text} of segments below"),
                text,
            });
        }
        below_bytes = below_bytes.saturating_add(lane.bytes);
    }
    labels
}

fn lane_labels(lane: &LaneMark, view: &Viewport, labels: &mut Vec<MapLabel>) {
    let height_px = f64::from(view.height_px);
    let top = view.y_px(lane.y + lane.bytes as f64).clamp(0.0, height_px);
    let start = view.y_px(lane.y);
    let bottom = start.clamp(0.0, height_px);
    let word = if lane.is_expandable {
        "expandable segment, up to"
    } else {
        "segment of"
    };
    let title = format!(
        "{word} {} at {}",
        display::bytes(lane.bytes),
        display::address(lane.address)
    );
    if bottom - top >= ADDRESSES_PX {
        address_labels(lane, view, (top, bottom), labels);
    } else if bottom - top >= LINE_PX && start <= height_px {
        labels.push(MapLabel {
            y_px: start,
            text: last_digits(&display::address(lane.address)),
            title,
        });
    }
}

/// The last digits of an address: the leading ones mostly equal those of its neighbours, and the margin is narrow.
fn last_digits(address: &str) -> String {
    match address.len() {
        0..=11 => address.to_owned(),
        length => format!("\u{2026}{}", &address[length - 9..]),
    }
}

/// Labels round addresses (multiples of a power of two) in the visible part of a lane.
fn address_labels(
    lane: &LaneMark,
    view: &Viewport,
    (top_px, bottom_px): (f64, f64),
    labels: &mut Vec<MapLabel>,
) {
    let bytes_per_px = view.height_bytes() / f64::from(view.height_px.max(1));
    let offset = |y_px: f64| (view.bytes_at(y_px) - lane.y).clamp(0.0, lane.bytes as f64) as u64;
    let (low, high) = (offset(bottom_px), offset(top_px));
    // The cast saturates. With such a large step at most one address is labelled.
    let step = ((bytes_per_px * ADDRESS_STEP_PX) as u64)
        .max(512)
        .checked_next_power_of_two()
        .unwrap_or(1 << 63);
    let Some(mut address) = lane
        .address
        .checked_add(low)
        .and_then(|from| from.checked_next_multiple_of(step))
    else {
        return;
    };
    while address - lane.address <= high {
        let y_px = view.y_px(lane.y + (address - lane.address) as f64);
        let whole = display::address(address);
        labels.push(MapLabel {
            y_px: y_px.clamp(top_px, bottom_px),
            text: last_digits(&whole),
            title: whole,
        });
        let Some(next) = address.checked_add(step) else {
            return;
        };
        address = next;
    }
}

fn group_label(group: &GroupMark, view: &Viewport) -> Option<MapLabel> {
    let height_px = f64::from(view.height_px);
    let top = view.y_px(group.y.1).clamp(0.0, height_px);
    let bottom = view.y_px(group.y.0).clamp(0.0, height_px);
    (bottom - top >= GROUP_PX).then(|| MapLabel {
        y_px: top,
        text: group.label.clone(),
        title: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(y_min_bytes: f64, y_max_bytes: f64) -> Viewport {
        Viewport {
            x_min: 0.0,
            x_max: 1.0,
            y_min_bytes,
            y_max_bytes,
            width_px: 10,
            height_px: 200,
        }
    }

    fn lane(y: f64, bytes: u64) -> LaneMark {
        LaneMark {
            y,
            address: 0x7f12_0000_0000 + y as u64,
            bytes,
            is_expandable: false,
        }
    }

    fn texts(labels: &[MapLabel]) -> Vec<(i32, &str)> {
        labels
            .iter()
            .map(|label| (label.y_px as i32, label.text.as_str()))
            .collect()
    }

    #[test]
    fn lanes_tell_where_they_start_if_there_is_room() {
        let lanes = [
            lane(0.0, 40 << 20),
            lane(50e6, 2 << 20),
            lane(60e6, 60 << 20),
        ];
        let labels = MapLabels::of(&lanes, &[], &view(0.0, 200e6));
        assert_eq!(
            texts(&labels.lanes),
            [(200, "…200000000"), (140, "…203938700")]
        );
        let above = MapLabels::of(&lanes, &[], &view(70e6, 270e6));
        assert!(above.lanes.is_empty(), "its start is out of sight");
    }

    #[test]
    fn where_all_lanes_are_thin_their_sums_are_the_axis() {
        let lanes: Vec<LaneMark> = (0..100)
            .map(|row| lane(f64::from(row) * 2e6, 1 << 20))
            .collect();
        let labels = MapLabels::of(&lanes, &[], &view(0.0, 200e6));
        let texts = texts(&labels.lanes);
        assert_eq!(texts[..2], [(200, "0 B"), (156, "22.0 MiB")]);
        assert_eq!(labels.lanes[1].title, "22.0 MiB of segments below");
        let upper = MapLabels::of(&lanes, &[], &view(100e6, 200e6));
        assert_eq!(
            upper.lanes[0].text, "50.0 MiB",
            "what is out of sight counts"
        );
    }

    #[test]
    fn sums_that_read_alike_give_way_to_addresses() {
        let mut lanes = vec![lane(0.0, 300 << 30)];
        lanes.extend((0..4).map(|row| lane(400e9 + f64::from(row) * 3e6, 2 << 20)));
        let labels = MapLabels::of(&lanes, &[], &view(400e9, 400e9 + 12e6));
        let texts = texts(&labels.lanes);
        assert_eq!(texts.len(), 4);
        assert!(texts[0].1.starts_with('…'), "{texts:?}");
    }

    #[test]
    fn close_by_addresses_are_marked() {
        let lanes = [lane(0.0, 1 << 30)];
        let labels = MapLabels::of(&lanes, &[], &view(0.0, 4e6));
        assert_eq!(
            texts(&labels.lanes),
            [
                (200, "…200000000"),
                (147, "…200100000"),
                (95, "…200200000"),
                (42, "…200300000")
            ]
        );
        assert_eq!(labels.lanes[1].title, "0x7f1200100000");
    }

    #[test]
    fn groups_are_named_where_there_are_several() {
        let group = |from, to| GroupMark {
            y: (from, to),
            label: "pool".to_owned(),
        };
        let view = view(0.0, 200.0);
        assert!(
            MapLabels::of(&[], &[group(0.0, 200.0)], &view)
                .groups
                .is_empty()
        );
        let labels = MapLabels::of(&[], &[group(0.0, 100.0), group(110.0, 120.0)], &view);
        assert_eq!(texts(&labels.groups), [(100, "pool")]);
    }

    #[test]
    fn the_end_of_the_address_space_is_no_end_of_the_page() {
        let lanes = [LaneMark {
            y: 0.0,
            address: u64::MAX - 5,
            bytes: u64::MAX,
            is_expandable: true,
        }];
        assert!(MapLabels::of(&lanes, &[], &view(0.0, 1e18)).lanes.len() < 9);
    }
}
