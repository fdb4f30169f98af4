//! Scenes as elements of the page, and bitmaps on canvases.

use web_sys::{HtmlCanvasElement, ImageBitmap};
use yew::prelude::*;

use super::hooks::use_closing;
use crate::canvas::{FONT, show_bitmap};
use vramscope_view::scene::Scene;

/// A scene of this size in device px as an SVG element. The style sheet sets the element's size.
pub(super) fn drawing(scene: &Scene, size_px: (u32, u32)) -> Html {
    Html::from_html_unchecked(scene.to_svg(size_px, FONT).into())
}

/// Shows a bitmap on the canvas whenever it changes.
#[hook]
pub(super) fn use_bitmap(canvas: &NodeRef, bitmap: Option<ImageBitmap>) {
    let canvas = canvas.clone();
    use_effect_with(bitmap.clone(), move |bitmap| {
        if let Some((canvas, bitmap)) = canvas.cast::<HtmlCanvasElement>().zip(bitmap.as_ref()) {
            show_bitmap(&canvas, (bitmap.width(), bitmap.height()), bitmap, 0.0);
            let _ = canvas.set_attribute("data-drawn", "");
        }
    });
    use_closing(bitmap);
}
