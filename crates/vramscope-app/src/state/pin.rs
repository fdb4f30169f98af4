//! What is pinned: an allocation, a segment, an event, or several allocations that share a pixel.

use super::Shared;
use vramscope_core::ids::AllocationId;
use vramscope_protocol::{
    Axis, Composition, DrawRequest, Hit, HitOn, Picture, SegmentPreview, Thing,
};
use vramscope_view::address::{Pinned, Pixel};
use vramscope_view::viewport::Viewport;

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
            Self::Segment(segment) => Some(Pinned::Segment(segment.piece)),
            Self::Group(group) => group.pixel().map(Pinned::Group),
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

/// A segment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PinnedSegment {
    pub piece: u32,
    /// The place where it was clicked; `None` if an address told the segment.
    pub(super) place: Option<SegmentPlace>,
}

/// The place of a segment in a picture.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct SegmentPlace {
    /// Its left and right edge, in the unit of its axis.
    pub(super) x: (f64, f64),
    pub(super) y: (f64, f64),
    pub(super) picture: Picture,
    pub(super) axis: Axis,
}

impl PinnedSegment {
    pub(super) fn of(preview: &SegmentPreview, draw: &DrawRequest) -> Self {
        Self {
            piece: preview.piece,
            place: Some(SegmentPlace {
                x: preview.x,
                y: preview.y,
                picture: draw.look.picture,
                axis: draw.look.axis,
            }),
        }
    }

    /// Whether a picture can be fitted to it.
    #[must_use]
    pub fn can_be_fitted(&self) -> bool {
        self.place.is_some()
    }
}

/// Allocations that share a pixel.
#[derive(Clone, PartialEq, Debug)]
pub struct PinnedGroup {
    /// `None` until the worker tells what shares the pixel of an address.
    pub several: Option<Shared<Composition>>,
    /// The pixel; `None` if it is of no picture over the x axis.
    pub(super) place: Option<GroupPlace>,
}

/// The place of a pixel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct GroupPlace {
    pub(super) pixel: Pixel,
    /// The part that was visible.
    pub(super) region: Viewport,
    /// Fractions of the picture's size.
    pub(super) at: (f64, f64),
}

impl PinnedGroup {
    /// Allocations that share a pixel of no picture over the x axis.
    #[must_use]
    pub fn of(several: Composition) -> Self {
        Self {
            several: Some(Shared::new(several)),
            place: None,
        }
    }

    /// What shares a pixel of an address, once the worker tells it; `region` is visible.
    pub(super) fn at(pixel: Pixel, region: Viewport) -> Self {
        let middle = |(from, to): (f64, f64)| (from + to) / 2.0;
        let at = (
            region.x_px(middle(pixel.x)).clamp(0.0, 1.0),
            region.y_px(middle(pixel.y_bytes)).clamp(0.0, 1.0),
        );
        Self {
            several: None,
            place: Some(GroupPlace { pixel, region, at }),
        }
    }

    /// The pixel, as an address tells it. A packing has no such pixels: the next search for one may find another.
    pub(super) fn pixel(&self) -> Option<Pixel> {
        let pixel = self.place.map(|place| place.pixel);
        pixel.filter(|pixel| pixel.picture != Picture::Packing)
    }

    /// The pixel whose allocations are not known yet.
    pub(super) fn unknown(&self) -> Option<Pixel> {
        self.pixel().filter(|_| self.several.is_none())
    }

    /// Whether a picture can go closer to them.
    #[must_use]
    pub fn can_be_fitted(&self) -> bool {
        self.place.is_some()
    }

    /// The allocations that were hit while `region` was visible; `None` if they are not several.
    pub(super) fn of_hit(hit: &Hit, region: Viewport) -> Option<Self> {
        let HitOn::Several(several) = &hit.on else {
            return None;
        };
        let (look, viewport) = (&hit.draw.look, hit.draw.viewport);
        let at = (
            hit.at_px.0 / f64::from(viewport.width_px),
            hit.at_px.1 / f64::from(viewport.height_px),
        );
        let Viewport {
            x_min,
            x_max,
            y_min_bytes,
            y_max_bytes,
            ..
        } = viewport.pixel((hit.at_px.0 as u32, hit.at_px.1 as u32));
        let pixel = Pixel {
            picture: look.picture,
            axis: look.axis,
            x: (x_min, x_max),
            y_bytes: (y_min_bytes, y_max_bytes),
        };
        Some(Self {
            several: Some(Shared::new(several.clone())),
            place: Some(GroupPlace { pixel, region, at }),
        })
    }
}
