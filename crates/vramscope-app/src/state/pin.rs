//! What is pinned: an allocation, a segment, an event, or several allocations that share a pixel.

use super::{Region, Shared};
use crate::protocol::{Axis, Composition, DrawRequest, Hit, HitOn, Picture, SegmentPreview, Thing};
use vramscope_core::ids::AllocationId;
use vramscope_view::address::Pinned;

/// What the details panel is about.
#[derive(Clone, PartialEq, Debug)]
pub enum Pin {
    Allocation(AllocationId),
    Segment(PinnedSegment),
    /// The event that leads to the cursor's moment, whichever that is.
    Event,
    /// Several allocations that share a pixel.
    Group(PinnedGroup),
}

impl Pin {
    /// The pin as the page's address tells it; `None` if it does not.
    #[must_use]
    pub fn address(&self) -> Option<Pinned> {
        match self {
            Self::Allocation(allocation) => Some(Pinned::Allocation(*allocation)),
            Self::Event => Some(Pinned::Event),
            Self::Segment(_) | Self::Group(_) => None,
        }
    }

    /// The thing in pictures; `None` for what is no single thing.
    #[must_use]
    pub fn thing(&self) -> Option<Thing> {
        match self {
            Self::Allocation(allocation) => Some(Thing::Allocation(*allocation)),
            Self::Segment(segment) => Some(Thing::Segment(segment.piece)),
            Self::Event | Self::Group(_) => None,
        }
    }
}

/// A segment that was clicked.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PinnedSegment {
    pub piece: u32,
    /// Its left and right edge, in the unit of its axis.
    pub(super) x: (f64, f64),
    pub(super) y: (f64, f64),
    /// The picture and the axis of its place.
    pub(super) picture: Picture,
    pub(super) axis: Axis,
}

impl PinnedSegment {
    pub(super) fn of(preview: &SegmentPreview, draw: &DrawRequest) -> Self {
        Self {
            piece: preview.piece,
            x: preview.x,
            y: preview.y,
            picture: draw.look.picture,
            axis: draw.look.axis,
        }
    }
}

/// Allocations that share a pixel.
#[derive(Clone, PartialEq, Debug)]
pub struct PinnedGroup {
    pub several: Shared<Composition>,
    /// The pixel; `None` if it is of no picture over the x axis.
    pub(super) place: Option<GroupPlace>,
}

/// The place of a pixel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct GroupPlace {
    pub(super) picture: Picture,
    pub(super) axis: Axis,
    /// The part that was visible.
    pub(super) region: Region,
    /// Fractions of the picture's size.
    pub(super) at: (f64, f64),
}

impl PinnedGroup {
    /// Allocations that share a pixel of no picture over the x axis.
    #[must_use]
    pub fn of(several: Composition) -> Self {
        Self {
            several: Shared::new(several),
            place: None,
        }
    }

    /// Whether a picture can go closer to them.
    #[must_use]
    pub fn can_be_fitted(&self) -> bool {
        self.place.is_some()
    }

    /// The allocations that were hit while `region` was visible; `None` if they are not several.
    pub(super) fn of_hit(hit: &Hit, region: Region) -> Option<Self> {
        let HitOn::Several(several) = &hit.on else {
            return None;
        };
        let (look, viewport) = (&hit.draw.look, hit.draw.viewport);
        let at = (
            hit.at_px.0 / f64::from(viewport.width_px),
            hit.at_px.1 / f64::from(viewport.height_px),
        );
        Some(Self {
            several: Shared::new(several.clone()),
            place: Some(GroupPlace {
                picture: look.picture,
                axis: look.axis,
                region,
                at,
            }),
        })
    }
}
