//! Pictures: which are drawn, what is under a pixel, where a band runs.

use vramscope_core::ids::AllocationId;
use vramscope_view::raster::{ColumnSpan, Frame, Hit, NONE, Paint, TimelineRaster};
use vramscope_view::theme::Theme;
use vramscope_view::viewport::Viewport;

use super::colours::Colours;
use super::document::{Device, Document};
use crate::protocol::{Axis, DrawRequest, EventPlace};

/// Columns by which a band's lowest and highest edges are found.
const FIT_COLUMNS: u32 = 1_024;

/// Draws; keeps buffers, colours and the last frame.
#[derive(Default)]
pub(super) struct Painter {
    raster: TimelineRaster,
    frame: Frame,
    /// What `frame` shows.
    drawn: Option<DrawRequest>,
    pub(super) colours: Colours,
    /// One pixel, for places that the last frame does not show.
    probe: Frame,
}

impl Painter {
    /// Draws a picture.
    pub(super) fn draw(&mut self, document: &Document, draw: &DrawRequest) -> Option<&Frame> {
        let device = document.device(draw.look.device)?;
        self.drawn = None;
        let mut frame = std::mem::take(&mut self.frame);
        self.paint(document, device, draw, &mut frame);
        self.frame = frame;
        self.drawn = Some(*draw);
        Some(&self.frame)
    }

    /// What is at device px (`x_px`, `y_px`) of a picture.
    pub(super) fn hit(
        &mut self,
        document: &Document,
        draw: &DrawRequest,
        x_px: u32,
        y_px: u32,
    ) -> Option<Hit> {
        let device = document.device(draw.look.device)?;
        let bands = device.bands(draw.look.axis);
        if self.drawn.as_ref() == Some(draw) {
            return Some(Hit::test(&bands, &self.frame, &draw.viewport, x_px, y_px));
        }
        // The page shows a stretched picture: draw the one pixel as it will be.
        let view = &draw.viewport;
        let pixel = Viewport {
            x_min: view.x_at(f64::from(x_px)),
            x_max: view.x_at(f64::from(x_px) + 1.0),
            y_min_bytes: view.bytes_at(f64::from(y_px) + 1.0),
            y_max_bytes: view.bytes_at(f64::from(y_px)),
            width_px: 1,
            height_px: 1,
        };
        let mut probe = std::mem::take(&mut self.probe);
        self.paint(
            document,
            device,
            &DrawRequest {
                viewport: pixel,
                ..*draw
            },
            &mut probe,
        );
        let hit = Hit::test(&bands, &probe, &pixel, 0, 0);
        self.probe = probe;
        Some(hit)
    }

    fn paint(
        &mut self,
        document: &Document,
        device: Device<'_>,
        draw: &DrawRequest,
        frame: &mut Frame,
    ) {
        let groups = self.colours.of(document, device, &draw.look);
        let matches = document.matches(device, draw.look.filter);
        let theme = Theme::of(draw.look.theme);
        let paint = Paint {
            colours: &groups.colours,
            matches: matches.as_deref(),
            theme: &theme,
        };
        let bands = device.bands(draw.look.axis);
        self.raster
            .draw(&bands, device.index(), &draw.viewport, &paint, frame);
    }
}

/// The outline of a band in a picture, in its device px; empty if it is not in it.
pub(super) fn outline(
    device: Device<'_>,
    draw: &DrawRequest,
    allocation: AllocationId,
) -> Vec<(f64, f64)> {
    ColumnSpan::outline(&spans(device, draw.look.axis, &draw.viewport, allocation))
}

/// Where a band lies in the whole timeline.
pub(super) fn place(device: Device<'_>, allocation: AllocationId) -> EventPlace {
    let table = &device.history.allocations;
    let moments = device.history.active_bytes.len() as u32;
    let (born, died) = (
        table.born[allocation.index()],
        table.died[allocation.index()].min(moments),
    );
    let bounds = device.bounds(Axis::Events);
    let life = Viewport {
        x_min: f64::from(born),
        x_max: f64::from(died.max(born + 1)),
        y_min_bytes: 0.0,
        y_max_bytes: bounds.y_end_bytes,
        width_px: FIT_COLUMNS.min(died.saturating_sub(born)).max(1),
        height_px: 1,
    };
    let spans = spans(device, Axis::Events, &life, allocation);
    let lowest = spans
        .iter()
        .map(|span| life.bytes_at(span.bottom_px))
        .fold(f64::INFINITY, f64::min);
    let highest = spans
        .iter()
        .map(|span| life.bytes_at(span.top_px))
        .fold(0.0, f64::max);
    let times = device.bands(Axis::Time);
    let x = |moment: u32| times.moment_x(moment as usize);
    EventPlace {
        moments: (born, died),
        time_us: device.has_times().then(|| (x(born), x(died))),
        edges_bytes: (lowest.min(highest), highest),
    }
}

fn spans(
    device: Device<'_>,
    axis: Axis,
    viewport: &Viewport,
    allocation: AllocationId,
) -> Vec<ColumnSpan> {
    let (bands, index) = (device.bands(axis), device.index());
    let moment = |x_px: u32| {
        let (from, to) = (
            viewport.x_at(f64::from(x_px)),
            viewport.x_at(f64::from(x_px + 1)),
        );
        bands
            .moments_in(from, to)
            .map_or(NONE, |moments| index.highest_in(&bands, moments))
    };
    let moments: Vec<_> = (0..viewport.width_px).map(moment).collect();
    ColumnSpan::of_row(&bands, &moments, viewport, allocation.0)
}
