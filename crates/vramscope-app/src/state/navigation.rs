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

/// The visible part of the timeline.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Region {
    /// Left edge, in the axis's unit.
    pub x_min: f64,
    /// Right edge.
    pub x_max: f64,
    /// Lower edge.
    pub y_min_bytes: f64,
    /// Upper edge.
    pub y_max_bytes: f64,
}

impl Region {
    /// This part as a picture of a size, in device px.
    #[must_use]
    pub fn viewport(self, (width_px, height_px): (u32, u32)) -> Viewport {
        let Self {
            x_min,
            x_max,
            y_min_bytes,
            y_max_bytes,
        } = self;
        Viewport {
            x_min,
            x_max,
            y_min_bytes,
            y_max_bytes,
            width_px,
            height_px,
        }
    }

    /// This part with all heights times `factor`.
    #[must_use]
    pub fn stretched(self, factor: f64) -> Self {
        Self {
            y_min_bytes: self.y_min_bytes * factor,
            y_max_bytes: self.y_max_bytes * factor,
            ..self
        }
    }

    /// This part as a picture of one by one px, so that px are fractions.
    #[must_use]
    pub fn unit(self) -> Viewport {
        self.viewport((1, 1))
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
    pub(super) fn apply(self, region: Region, bounds: &Bounds) -> Region {
        let unit = region.unit();
        let changed = match self {
            Self::Zoom { factor, at } => unit.zoomed(factor.0, factor.1, at, bounds),
            Self::Pan(right, down) => unit.panned(right, down, bounds),
            Self::FitAll => return whole(bounds),
            Self::ShowX(from, to) => unit.fit_x(from, to, bounds),
            Self::ShowBox(a, b) => {
                let x = (unit.x_at(a.0), unit.x_at(b.0));
                let y_bytes = (unit.bytes_at(a.1), unit.bytes_at(b.1));
                unit.fit_box(x, y_bytes, bounds)
            }
            Self::FitPinned | Self::Peak | Self::Event(_) | Self::Step(_) => unit,
        };
        visible(&changed)
    }
}

fn visible(viewport: &Viewport) -> Region {
    let Viewport {
        x_min,
        x_max,
        y_min_bytes,
        y_max_bytes,
        ..
    } = *viewport;
    Region {
        x_min,
        x_max,
        y_min_bytes,
        y_max_bytes,
    }
}

/// The whole of the bounds.
pub(super) fn whole(bounds: &Bounds) -> Region {
    visible(&Viewport::fit_all(bounds, 1, 1))
}

/// A part by its ends in x and in y, clamped to the bounds.
pub(super) fn of_box(x: (f64, f64), y_bytes: (f64, f64), bounds: &Bounds) -> Region {
    visible(&Viewport::fit_all(bounds, 1, 1).fit_box(x, y_bytes, bounds))
}

/// A part `factor` times closer around a place, fractions of its size.
pub(super) fn closer(region: Region, factor: f64, at: (f64, f64), bounds: &Bounds) -> Region {
    visible(&region.unit().zoomed(factor, factor, at, bounds))
}

/// A part around `x` with all heights, as wide as now but at most an eighth of the whole.
pub(super) fn centred(region: Region, x: f64, bounds: &Bounds) -> Region {
    let half = (region.x_max - region.x_min).min(bounds.x_end * JUMP_SHOWS) / 2.0;
    let all = Viewport::fit_all(bounds, 1, 1);
    visible(&all.fit_x(x - half, x + half, bounds))
}

/// The part of a picture with one allocation and air around it. In the segment timeline, in the packing and in a
/// timeline of another order than that of birth only its life is fitted: it has no height in the first, and its height
/// in the others is not known here.
pub(super) fn fitted(
    region: Region,
    place: &AllocationExtent,
    (axis, picture, is_restacked): (Axis, Picture, bool),
    bounds: &Bounds,
) -> Region {
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
            return Region {
                y_min_bytes: heights.0,
                y_max_bytes: heights.1,
                ..fitted_to(region, x, heights, bounds)
            };
        }
    };
    fitted_to(region, x, y, bounds)
}

/// The part with a rectangle and air around it.
pub(super) fn fitted_to(
    region: Region,
    x: (f64, f64),
    y_bytes: (f64, f64),
    bounds: &Bounds,
) -> Region {
    visible(&region.unit().fit_allocation(x, y_bytes, bounds))
}

/// The moments that begin with the events of a life, in order.
pub(super) fn events_of(life: &Life) -> Vec<u32> {
    let marks = [life.alloc, life.free_requested, life.free_completed];
    marks.into_iter().flatten().map(EventMark::moment).collect()
}
