//! Scenes as elements of the page.

use yew::prelude::*;

use crate::canvas::FONT;
use vramscope_view::scene::Scene;

/// A scene of this size in device px as an SVG element, which the style sheet gives its size on the page.
pub(super) fn drawing(scene: &Scene, size_px: (u32, u32)) -> Html {
    Html::from_html_unchecked(scene.to_svg(size_px, FONT).into())
}
