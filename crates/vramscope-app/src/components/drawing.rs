//! Scenes as elements of the page.

use yew::prelude::*;

use crate::canvas::FONT;
use vramscope_view::scene::Scene;

/// A scene of this size in device px as an SVG element. The style sheet sets the element's size.
pub(super) fn drawing(scene: &Scene, size_px: (u32, u32)) -> Html {
    Html::from_html_unchecked(scene.to_svg(size_px, FONT).into())
}
