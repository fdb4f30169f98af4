//! Drawing on the page's canvases. No other code uses a canvas's context.
//!
//! `draw_scene` draws scenes, `show_bitmap` bitmaps from the worker. [`TimelineCanvas`] is a
//! picture that can be panned and zoomed. It consists of two canvases of the same size: the *picture*
//! (the worker's bitmaps, transparent where nothing is allocated, with ticks and grid under them), and
//! the *overlay* (outlines, crosshair, box). After a change of the viewport, the next animation frame
//! shows the last bitmaps stretched to it, while the worker draws the sharp one. A bitmap of the whole
//! range is kept below, so that panning leaves no holes.

mod bitmap;
mod labels;
mod overlay;
mod painter;
mod picture;
mod placement;
mod plot_area;
mod ticks;
mod timeline;

pub(crate) use bitmap::show_bitmap;
pub(crate) use painter::{FONT, draw_scene};
pub use plot_area::PlotArea;
pub use timeline::TimelineCanvas;

use wasm_bindgen::JsCast;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

/// The elements to draw on; each fills the same box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canvases {
    /// For ticks, grid and bands.
    pub picture: HtmlCanvasElement,
    /// For outlines, crosshair and box; on top.
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

/// A canvas's 2D context; `None` only if it already has another kind of context.
fn context_2d(canvas: &HtmlCanvasElement) -> Option<CanvasRenderingContext2d> {
    canvas.get_context("2d").ok().flatten()?.dyn_into().ok()
}

/// `#rrggbb`.
fn css_colour([r, g, b]: vramscope_view::colour::Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}
