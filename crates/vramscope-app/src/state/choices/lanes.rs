//! The user's choices for lanes and lines of the timeline.

use serde::{Deserialize, Serialize};
use vramscope_protocol::{Axis, Bounds, DeviceFacts, Picture};
use vramscope_view::plot::views::LinesOver;
use vramscope_view::reserved::{capacity_leaves_room, reserved_leaves_room};
use vramscope_view::restacked::Stacking;

/// The choices for lanes and lines, kept in the address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LanesChoices {
    /// Whether the lanes are folded.
    pub folded: bool,
    /// Whether reserved memory is drawn; `None` = if it leaves room for the picture.
    pub reserved: Option<bool>,
    /// Whether the device's capacity is drawn; `None` likewise.
    pub capacity: Option<bool>,
    /// Whether private pools are drawn; `None` = if there are any and reserved memory is drawn.
    pub pools: Option<bool>,
    /// Whether reserved memory is also drawn as replayed with the settings of the what-if view, if there are any.
    pub replayed: bool,
    /// The capacity that the user typed, in bytes.
    pub capacity_bytes: Option<u64>,
    /// The order of the timeline's bands.
    pub stacking: Stacking,
}

impl LanesChoices {
    /// The capacity of a device: the user's, else the file's.
    #[must_use]
    pub fn known_capacity(&self, facts: &DeviceFacts) -> Option<u64> {
        let of_file = facts.lines.capacity.map(|capacity| capacity.bytes);
        self.capacity_bytes.or(of_file).filter(|&bytes| bytes > 0)
    }

    /// The order of a picture's bands, which only the timeline has.
    #[must_use]
    pub fn stacking(&self, picture: Option<Picture>) -> Stacking {
        match picture {
            Some(Picture::Timeline) => self.stacking,
            _ => Stacking::default(),
        }
    }

    /// The lines over a picture.
    #[must_use]
    pub fn lines(&self, facts: &DeviceFacts, picture: Picture) -> LinesOver {
        let height = match picture {
            Picture::Timeline => facts.peak_bytes,
            Picture::Segments => facts.peak_reserved_bytes,
            Picture::Map | Picture::Packing => return LinesOver::default(),
        };
        let reserved = picture == Picture::Timeline
            && facts.peak_reserved_bytes > 0
            && self.reserved.unwrap_or_else(|| {
                self.replayed || reserved_leaves_room(facts.peak_reserved_bytes, height)
            });
        let is_shown = |&bytes: &u64| {
            self.capacity
                .unwrap_or_else(|| capacity_leaves_room(bytes, height))
        };
        LinesOver {
            reserved,
            pools: picture == Picture::Timeline
                && facts.lines.has_pools
                && self.pools.unwrap_or(reserved),
            capacity_bytes: self.known_capacity(facts).filter(is_shown),
        }
    }

    /// The bounds of a picture with the lines over it.
    #[must_use]
    pub fn bounds(&self, facts: &DeviceFacts, picture: Picture, axis: Axis) -> Bounds {
        let plain = facts.bounds(picture, axis);
        let lines = self.lines(facts, picture);
        let held_bytes = facts.peak_reserved_bytes.max(facts.lines.held_bytes);
        let reserved = (lines.reserved || lines.pools).then_some(held_bytes);
        let top = reserved.into_iter().chain(lines.capacity_bytes).max();
        let Some(top) = top else { return plain };
        let grown = Bounds::new(plain.x_end, top);
        Bounds {
            y_end_bytes: plain.y_end_bytes.max(grown.y_end_bytes),
            ..plain
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vramscope_core::analysis::memory::capacity::{Capacity, CapacitySource};
    use vramscope_protocol::Axes;
    use vramscope_view::line_facts::LineFacts;

    fn facts(peak_bytes: u64, reserved: u64, capacity: Option<u64>) -> DeviceFacts {
        let events = Bounds::new(10.0, peak_bytes);
        DeviceFacts {
            peak_bytes,
            peak_reserved_bytes: reserved,
            axes: Axes { events, time: None },
            lines: LineFacts {
                capacity: capacity.map(|bytes| Capacity {
                    bytes,
                    source: CapacitySource::File,
                }),
                has_pools: true,
                ..LineFacts::default()
            },
            ..DeviceFacts::default()
        }
    }

    #[test]
    fn lines_show_themselves_where_they_leave_room() {
        let choices = LanesChoices::default();
        let lines = choices.lines(&facts(1_000, 1_200, Some(9_000)), Picture::Timeline);
        assert!(lines.reserved && lines.pools && lines.capacity_bytes.is_none());
        let lines = choices.lines(&facts(1_000, 5_000, Some(1_100)), Picture::Timeline);
        assert!(!lines.reserved && !lines.pools && lines.capacity_bytes == Some(1_100));
        assert_eq!(
            choices.lines(&facts(1_000, 1_000, Some(1)), Picture::Map),
            LinesOver::default()
        );
    }

    #[test]
    fn the_picture_grows_to_hold_what_is_shown() {
        let facts = facts(10_000, 50_000, None);
        let top = |choices: LanesChoices| {
            choices
                .bounds(&facts, Picture::Timeline, Axis::Events)
                .y_end_bytes
        };
        let plain = top(LanesChoices::default());
        let reserved = LanesChoices {
            reserved: Some(true),
            ..LanesChoices::default()
        };
        assert!(top(reserved) > 50_000.0 && plain < 11_000.0);
        let typed = LanesChoices {
            capacity: Some(true),
            capacity_bytes: Some(80_000),
            ..LanesChoices::default()
        };
        assert!(top(typed) > 80_000.0);
    }
}
