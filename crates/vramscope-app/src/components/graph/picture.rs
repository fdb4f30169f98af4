//! The picture's parts that the page itself draws: axes and curves as SVG, the bars' pixels on a canvas.

use plotters::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, ImageBitmap};
use yew::prelude::*;

use crate::canvas::PlotArea;
use crate::protocol::views::graph::{DrawGraph, Drawn, OrderName};
use vramscope_view::chart::{Area, Style, with_letters_in_px};
use vramscope_view::graph::curves::{OrderCurve, Picture, draw, ink, split};
use vramscope_view::theme::Theme;

const FONT: &str = "system-ui, sans-serif";

/// Where curves and bars are, in device px of the stage.
pub(super) fn parts(area: &PlotArea) -> (Area, Area) {
    let theme = Theme::light();
    split(&whole(area), &style(area, &theme))
}

fn whole(area: &PlotArea) -> Area {
    let ((left, top), (width_px, height_px)) = (area.origin_px(), area.size_px());
    Area {
        x_px: left.cast_signed(),
        y_px: top.cast_signed(),
        width_px,
        height_px,
    }
}

fn style<'a>(area: &PlotArea, theme: &'a Theme) -> Style<'a> {
    Style {
        theme,
        font: FONT,
        pixel_ratio: area.pixel_ratio,
    }
}

/// Axes and curves, the shown order over the others.
pub(super) fn svg(drawn: &Drawn, asked: &DrawGraph, steps: u32, area: &PlotArea) -> String {
    let theme = Theme::of(asked.theme);
    let place = |order: OrderName| OrderName::ALL.iter().position(|known| *known == order);
    let is_shown = |order: OrderName| order == asked.key.order;
    let mut curves: Vec<_> = drawn.curves.iter().collect();
    curves.sort_by_key(|curve| is_shown(curve.order));
    let curves = curves.into_iter().map(|curve| OrderCurve {
        bytes: &curve.bytes,
        colour: ink(&theme, place(curve.order).unwrap_or(0)),
        peak: curve.peak,
    });
    let picture = Picture {
        curves: curves.collect(),
        top_bytes: drawn.top_bytes,
        x: asked.x,
        steps,
        packed_bytes: drawn.packed_bytes,
    };
    let mut svg = String::new();
    let root = SVGBackend::with_string(&mut svg, area.box_px()).into_drawing_area();
    // Drawing into text cannot fail.
    let _ = draw(&root, &whole(area), &picture, &style(area, &theme));
    drop(root);
    with_letters_in_px(&svg)
}

/// Puts the bars onto the canvas whenever there are others.
#[hook]
pub(super) fn use_bars(canvas: &NodeRef, bitmap: Option<ImageBitmap>) {
    let canvas = canvas.clone();
    use_effect_with(bitmap, move |bitmap| {
        let bitmap = bitmap.clone();
        if let Some((canvas, bitmap)) = canvas.cast::<HtmlCanvasElement>().zip(bitmap.as_ref()) {
            // A new size clears the canvas, and so does the same one.
            canvas.set_width(bitmap.width());
            canvas.set_height(bitmap.height());
            let context = canvas.get_context("2d").ok().flatten();
            let context =
                context.and_then(|found| found.dyn_into::<CanvasRenderingContext2d>().ok());
            if let Some(context) = context {
                // Fails only for a bitmap without pixels, which shows nothing anyway.
                let _ = context.draw_image_with_image_bitmap(bitmap, 0.0, 0.0);
            }
            let _ = canvas.set_attribute("data-drawn", "");
        }
        // Bitmaps give their memory back when the next one is there.
        move || {
            if let Some(bitmap) = bitmap {
                bitmap.close();
            }
        }
    });
}
