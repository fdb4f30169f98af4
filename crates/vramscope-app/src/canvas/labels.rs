//! The texts in the bands of a timeline.
//!
//! They are asked for once a picture is sharp. While the view moves, the last ones move with their bands.

use vramscope_protocol::{BandLabels, BandLabelsOf, DrawRequest, Picture};
use web_sys::CanvasRenderingContext2d;

use super::PlotArea;
use super::painter::add_scene;

/// The texts of one picture, and the picture that they were last asked for.
#[derive(Default)]
pub(super) struct Labels {
    known: Option<(DrawRequest, BandLabels)>,
    asked: Option<DrawRequest>,
}

impl Labels {
    /// The question about a sharp picture; `None` if it was asked already, or has no texts.
    pub(super) fn ask(&mut self, sharp: &DrawRequest, pixel_ratio: f64) -> Option<BandLabelsOf> {
        let is_due = sharp.look.picture == Picture::Timeline && self.asked.as_ref() != Some(sharp);
        let draw = is_due.then(|| sharp.clone())?;
        self.asked = Some(draw.clone());
        Some(BandLabelsOf { draw, pixel_ratio })
    }

    /// Whether those of a picture are asked for and not here.
    pub(super) fn are_awaited(&self, draw: &DrawRequest) -> bool {
        self.asked.as_ref() == Some(draw) && self.known.as_ref().map(|(of, _)| of) != Some(draw)
    }

    pub(super) fn take(&mut self, draw: DrawRequest, labels: BandLabels) {
        self.known = Some((draw, labels));
    }

    /// Draws the texts over a picture. Those of another device or other colours would be wrong.
    pub(super) fn draw(
        &self,
        context: &CanvasRenderingContext2d,
        area: &PlotArea,
        wanted: &DrawRequest,
    ) {
        let known = self.known.as_ref().filter(|(of, _)| of.look == wanted.look);
        if let Some((_, labels)) = known {
            add_scene(context, area, wanted.look.theme, |scene, style| {
                labels.draw(scene, &area.picture(), &wanted.viewport, style);
            });
        }
    }
}
