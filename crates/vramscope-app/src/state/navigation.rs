//! Changes of the visible part, as data. Places in the picture are fractions of its width from the left and of its
//! height from the top, so that nothing here depends on its size.

use vramscope_core::analysis::report::details::{EventMark, Life};
use vramscope_protocol::{AllocationExtent, Axis, Bounds, Picture, Viewport};

/// The largest share of the whole that a jump shows, so that its target can be told apart.
const JUMP_SHOWS: f64 = 1.0 / 8.0;

/// The longest step that is likely to be taken again, in events: that of a page. Longer ones are jumps.
const LONGEST_STEP: u32 = 100;

/// The moments that a user walks through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Walk {
    /// The last moment, and the distance by which it was reached, in events.
    last: Option<(u32, i64)>,
}

impl Walk {
    /// Goes to a moment, or stays there. Returns where the next step likely leads: as far, in the same direction. At
    /// first, and after a jump, that is the next event.
    #[must_use]
    pub fn next(&mut self, moment: u32) -> Option<u32> {
        let step = match self.last {
            Some((at, step)) if at == moment => step,
            Some((at, _)) if at.abs_diff(moment) <= LONGEST_STEP => {
                i64::from(moment) - i64::from(at)
            }
            _ => 1,
        };
        self.last = Some((moment, step));
        u32::try_from(i64::from(moment) + step).ok()
    }
}

/// A change of the visible part.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Navigation {
    /// Zooms in (factors above 1) or out around a place, which stays where it is.
    Zoom {
        /// Magnification in x and in y.
        factor: (f64, f64),
        /// The place.
        at: (f64, f64),
    },
    /// Moves the picture to the right and down, by fractions of its size.
    Pan(f64, f64),
    /// Shows a part, as a picture of one by one px.
    Show(Viewport),
    /// Shows everything.
    FitAll,
    /// Shows a range of the x axis, with the same heights.
    ShowX(f64, f64),
    /// Shows the box between two places.
    ShowBox((f64, f64), (f64, f64)),
    /// Shows the pinned allocation with air around it.
    FitPinned,
    /// Goes to the peak.
    Peak,
    /// Goes to an event, by the moment after it, and pins it.
    Event(u32),
    /// Goes to the next (`true`) or previous event of the pinned allocation; with an event pinned, to the one beside it.
    Step(bool),
}

impl Navigation {
    /// The part after a change that depends on nothing but the bounds; the same part after any other.
    pub(super) fn apply(self, region: Viewport, bounds: &Bounds) -> Viewport {
        match self {
            Self::Zoom { factor, at } => region.zoomed(factor.0, factor.1, at, bounds),
            Self::Pan(right, down) => region.panned(right, down, bounds),
            Self::Show(shown) => shown,
            Self::FitAll => whole(bounds),
            Self::ShowX(from, to) => region.fit_x(from, to, bounds),
            Self::ShowBox(a, b) => {
                let x = (region.x_at(a.0), region.x_at(b.0));
                let y_bytes = (region.bytes_at(a.1), region.bytes_at(b.1));
                region.fit_box(x, y_bytes, bounds)
            }
            Self::FitPinned | Self::Peak | Self::Event(_) | Self::Step(_) => region,
        }
    }
}

/// The whole of the bounds, as a picture of one by one px, so that px are fractions. All visible parts are of this size.
pub(super) fn whole(bounds: &Bounds) -> Viewport {
    Viewport::fit_all(bounds, 1, 1)
}

/// A part around `x` with all heights, as wide as now but at most an eighth of the whole.
pub(super) fn centred(region: Viewport, x: f64, bounds: &Bounds) -> Viewport {
    let half = region.width().min(bounds.x_end * JUMP_SHOWS) / 2.0;
    whole(bounds).fit_x(x - half, x + half, bounds)
}

/// The part of a picture with one allocation and air around it. In the segment timeline, in the packing and in a
/// timeline of another order than that of birth only its life is fitted: it has no height in the first, and its height
/// in the others is not known here.
pub(super) fn fitted(
    region: Viewport,
    place: &AllocationExtent,
    (axis, picture, is_restacked): (Axis, Picture, bool),
    bounds: &Bounds,
) -> Viewport {
    let moments = (f64::from(place.moments.0), f64::from(place.moments.1));
    let x = match axis {
        Axis::Events => moments,
        Axis::Time => place.time_us.unwrap_or((region.x_min, region.x_max)),
    };
    let y = match picture {
        Picture::Timeline if !is_restacked => place.edges_bytes,
        Picture::Map => place.map_bytes,
        Picture::Timeline | Picture::Segments | Picture::Packing => {
            let heights = (region.y_min_bytes, region.y_max_bytes);
            return Viewport {
                y_min_bytes: heights.0,
                y_max_bytes: heights.1,
                ..region.fit_allocation(x, heights, bounds)
            };
        }
    };
    region.fit_allocation(x, y, bounds)
}

/// The moments that begin with the events of a life, in order.
pub(super) fn events_of(life: &Life) -> Vec<u32> {
    let marks = [life.alloc, life.free_requested, life.free_completed];
    marks.into_iter().flatten().map(EventMark::moment).collect()
}
