//! The timeline on the screen: the only code that draws on canvases.
//!
//! Three canvases of the same size lie on each other: the *picture* (the worker's bitmaps), the *axes*,
//! and the *overlay* (outlines, crosshair, box). A change of the viewport is shown in the next animation
//! frame by stretching the last bitmaps to it, while the worker draws the sharp one; the whole range is
//! kept beneath, so that panning shows no holes.

mod plot_area;

pub use plot_area::PlotArea;

use web_sys::HtmlCanvasElement;

use crate::engine::Session;
use crate::protocol::{Bounds, DrawRequest};
use vramscope_core::ids::AllocationId;

/// The elements to draw on; each fills the same box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canvases {
    /// For the bands.
    pub picture: HtmlCanvasElement,
    /// For ticks and grid.
    pub axes: HtmlCanvasElement,
    /// For outlines, crosshair and box; gets the mouse.
    pub overlay: HtmlCanvasElement,
}

/// A rectangle in css px from the box's top left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxCss {
    /// One corner.
    pub from: (f64, f64),
    /// The opposite corner.
    pub to: (f64, f64),
}

/// One file's timeline on the screen. Cheap to clone; equal if the same.
#[derive(Clone)]
pub struct TimelineCanvas {}

impl TimelineCanvas {
    /// Shows the pictures of `session` on `canvases` from now on.
    ///
    /// It also hears [`Reply::Hit`](crate::protocol::Reply::Hit) and moves the hover outline by itself.
    #[must_use]
    pub fn new(_session: &Session, _canvases: Canvases) -> Self {
        Self {}
    }

    /// Says how large the box is. Call it once before [`show`](Self::show) and whenever it changes.
    pub fn resize(&self, _area: PlotArea) {}

    /// Shows this. Its viewport's size must be [`PlotArea::size_px`]; `bounds` is the whole of the axis.
    /// Call it on every change of viewport, axis, device, colours or theme: it returns at once.
    pub fn show(&self, _draw: DrawRequest, _bounds: Bounds) {}

    /// The mouse is at this place of the box (css px), or has left: moves the crosshair and asks the
    /// worker what is there ([`Reply::Hit`](crate::protocol::Reply::Hit) goes to the session's listener).
    pub fn point(&self, _at_css: Option<(f64, f64)>) {}

    /// Outlines what is pinned, two pixels wide, until told otherwise.
    pub fn pin(&self, _allocation: Option<AllocationId>) {}

    /// Shows the box that the user is drawing.
    pub fn select(&self, _selection: Option<BoxCss>) {}
}

impl PartialEq for TimelineCanvas {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}
