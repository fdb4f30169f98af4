//! Writes call site and size into those bands of the timeline that have room.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::recording::Device;
use vramscope_core::units::Bytes;

use crate::colour::Rgb;
use crate::raster::{BandRoom, Bands, Frame, Paint, TextSizes};
use crate::restacked::Restacked;
use crate::scene::{Across, Area, Down, Scene, Style};
use crate::viewport::Viewport;

/// Font size, css px.
const FONT_CSS: f64 = 11.0;
/// Space between a text and the left and right edge of its band, css px.
const PAD_CSS: f64 = 6.0;
/// In lower bands a text would be cut off or cramped, css px.
const LEAST_HEIGHT_CSS: f64 = 18.0;
/// Width of the shortest call sites, and of the longest that can be read quickly, css px.
const WIDTHS_CSS: (f64, f64) = (56.0, 260.0);
/// Most texts; more would not help.
const MOST_LABELS: usize = 32;

/// The text of one band, and its room.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BandLabel {
    /// The pixels that belong only to the band.
    pub room: BandRoom,
    /// The band's colour.
    pub rgb: Rgb,
    /// The allocation's call site; empty if not recorded.
    pub site: String,
    /// Its size.
    pub bytes: u64,
}

/// Labels of one picture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BandLabels {
    /// The part of the data visible in the picture.
    pub view: Viewport,
    /// The labels of the largest bands, largest first.
    pub labels: Vec<BandLabel>,
}

/// The allocations that the bands of a timeline stand for.
#[derive(Clone, Copy, Debug)]
pub struct BandNames<'a> {
    /// The device of the allocations.
    pub device: Device<'a>,
    /// The order of the bands; `None` for the order of birth.
    pub restacked: Option<&'a Restacked>,
}

/// A drawn timeline.
#[derive(Clone, Copy, Debug)]
pub struct DrawnBands<'a> {
    /// The pixels.
    pub frame: &'a Frame,
    /// The part of the data visible in it.
    pub view: Viewport,
    /// The bands drawn.
    pub bands: &'a Bands<'a>,
    /// The colours of the bands.
    pub paint: &'a Paint<'a>,
}

impl BandLabels {
    /// The labels of a drawn timeline.
    #[must_use]
    pub fn of(names: BandNames<'_>, drawn: &DrawnBands<'_>, pixel_ratio: f64) -> Self {
        let px = |css: f64| (css * pixel_ratio).ceil() as u32;
        let sizes = TextSizes {
            least_px: (px(WIDTHS_CSS.0), px(LEAST_HEIGHT_CSS)),
            most_px: (px(WIDTHS_CSS.1), px(2.0 * LEAST_HEIGHT_CSS)),
        };
        let DrawnBands {
            frame,
            view,
            bands,
            paint,
        } = *drawn;
        let rooms = BandRoom::all(frame, bands, paint.matches, sizes, MOST_LABELS);
        let (sites, site_of) = (names.device.call_sites(), names.device.site_of());
        let labels = rooms.into_iter().map(|room| {
            let row = room.row as usize;
            let allocation = names.restacked.map_or(row, |of| of.allocation_of(row));
            let site = site_of.get(allocation).filter(|site| site.index() > 0);
            BandLabel {
                room,
                rgb: paint.colours.of(row),
                site: site.map_or_else(String::new, |&site| sites.get(site).label.clone()),
                bytes: bands.bytes[row],
            }
        });
        Self {
            view,
            labels: labels.collect(),
        }
    }

    /// Draws the labels into a picture of `now` that fills `area`. If it shows another part of the data than the picture
    /// that the labels were made for, they move with their bands.
    pub fn draw(&self, scene: &mut Scene, area: &Area, now: &Viewport, style: &Style<'_>) {
        let made = &self.view;
        let pad_px = PAD_CSS * style.pixel_ratio;
        let least_px = (LEAST_HEIGHT_CSS * style.pixel_ratio).floor();
        for label in &self.labels {
            let BandRoom { x_px, y_px, .. } = label.room;
            let x = |px: u32| {
                now.x_px(made.x_at(f64::from(px)))
                    .clamp(0.0, f64::from(area.width_px))
            };
            let y = |px: u32| {
                now.y_px(made.bytes_at(f64::from(px)))
                    .clamp(0.0, f64::from(area.height_px))
            };
            let (left, right) = (x(x_px.0) + pad_px, x(x_px.1) - pad_px);
            let (top, bottom) = (y(y_px.0), y(y_px.1));
            if bottom - top < least_px {
                continue;
            }
            let Some(text) =
                label.text(|text| style.width_px(text, FONT_CSS, false) <= right - left)
            else {
                continue;
            };
            let ink = style.theme.ink_on(label.rgb);
            let letters = style.letters(FONT_CSS, ink, (Across::Left, Down::Middle));
            let (from_left, from_top) = area.origin();
            // Whole px make letters sharp.
            let middle = (f64::midpoint(top, bottom) + style.pixel_ratio / 2.0).round();
            scene.text((from_left + left.round(), from_top + middle), text, letters);
        }
    }
}

impl BandLabel {
    /// As much of call site (file, line, function) and size as fits. `None` if file and line do not fit.
    fn text(&self, fits: impl Fn(&str) -> bool) -> Option<String> {
        let size = Bytes(self.bytes).to_string();
        if self.site.is_empty() {
            return Some(size).filter(|size| fits(size));
        }
        let (place, function) = self.site.split_once(' ').unwrap_or((&self.site, ""));
        let file = place.rsplit_once('/').map_or(place, |(_, file)| file);
        let texts = [
            format!("{file} {function}").trim_end().to_owned() + " · " + &size,
            format!("{file} · {size}"),
            file.to_owned(),
        ];
        texts.into_iter().find(|text| fits(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(site: &str, most: usize) -> Option<String> {
        let label = BandLabel {
            room: BandRoom::default(),
            rgb: [0; 3],
            site: site.to_owned(),
            bytes: 3 << 19,
        };
        label.text(|text| text.chars().count() <= most)
    }

    #[test]
    fn what_has_no_room_is_left_out_whole() {
        let site = "models/llama.py:12 forward";
        let told = |most| text(site, most);
        assert_eq!(told(30).as_deref(), Some("llama.py:12 forward · 1.50 MiB"));
        assert_eq!(told(29).as_deref(), Some("llama.py:12 · 1.50 MiB"));
        assert_eq!(told(21).as_deref(), Some("llama.py:12"));
        assert_eq!(told(10), None);
        assert_eq!(text("", 8).as_deref(), Some("1.50 MiB"));
        assert_eq!(text("", 7), None);
        assert_eq!(
            text("at::_ops::mm::call", 40).as_deref(),
            Some("at::_ops::mm::call · 1.50 MiB")
        );
    }
}
