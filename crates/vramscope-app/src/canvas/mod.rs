//! The timeline on the screen: the only code that draws on canvases.
//!
//! Three canvases of the same size lie on each other: at the bottom the *axes* (ticks and grid), then the
//! *picture* (the worker's bitmaps, transparent where nothing is allocated), then the *overlay* (outlines,
//! crosshair, box). A change of the viewport is shown in the next animation frame by stretching the last
//! bitmaps to it, while the worker draws the sharp one; the whole range is kept beneath, so that panning
//! shows no holes.

mod axes;
mod flame;
mod lanes;
mod lines;
mod overlay;
mod picture;
mod placement;
mod plot_area;
mod timeline;

pub(crate) use flame::draw_flame;
pub(crate) use lanes::LanesPicture;
pub(crate) use lines::LinesPicture;
pub use plot_area::PlotArea;
pub use timeline::TimelineCanvas;

use wasm_bindgen::JsCast;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

/// The elements to draw on; each fills the same box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canvases {
    /// For ticks and grid; the lowest.
    pub axes: HtmlCanvasElement,
    /// For the bands.
    pub picture: HtmlCanvasElement,
    /// For outlines, crosshair and box; the highest.
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

/// A canvas's context; `None` only if it has one of another kind.
fn context_2d(canvas: &HtmlCanvasElement) -> Option<CanvasRenderingContext2d> {
    canvas.get_context("2d").ok().flatten()?.dyn_into().ok()
}

/// `#rrggbb`.
fn css_colour([r, g, b]: vramscope_view::colour::Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}
