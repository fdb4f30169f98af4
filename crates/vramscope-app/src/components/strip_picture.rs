//! The strip's curves as an SVG element.

use std::rc::Rc;

use vramscope_protocol::views::lanes::StepMarks;
use vramscope_protocol::{Minimap, ThemeName};
use yew::prelude::*;

use super::drawing::drawing;
use crate::canvas::PlotArea;
use crate::state::Shared;
use vramscope_view::minimap::Strip;
use vramscope_view::scene::Style;
use vramscope_view::theme::Theme;

/// The lines and ticks over the curves.
#[derive(Clone, PartialEq)]
pub(super) struct StripLines {
    /// The starts of training steps.
    pub(super) steps: Option<StepMarks>,
    /// The device's capacity; `None` if it is not drawn.
    pub(super) capacity_bytes: Option<u64>,
}

/// Draws the curves, and redraws them only after a change; `None` until they are available.
#[hook]
pub(super) fn use_strip_picture(
    curves: &Option<Shared<Minimap>>,
    lines: StripLines,
    area: Option<PlotArea>,
    theme: ThemeName,
) -> Rc<Option<Html>> {
    let what = (curves.clone(), lines, area, theme);
    use_memo(what, |(curves, lines, area, theme)| {
        let (curves, area) = curves.as_ref().zip(*area)?;
        let failures: Vec<f64> = curves.ooms.iter().map(|mark| mark.x).collect();
        let strip = Strip {
            curves: &curves.curves,
            x: curves.x,
            steps: lines.steps.as_ref().map_or(&[], |steps| &steps.starts),
            failures: &failures,
            capacity_bytes: lines.capacity_bytes,
        };
        let (theme, size_px) = (Theme::of(*theme), area.box_px());
        let scene = strip.scene(size_px, &Style::new(&theme, area.pixel_ratio));
        Some(drawing(&scene, size_px))
    })
}
