//! The size, format and legend of a picture.

use vramscope_view::groups::{GroupTotal, Groups};
use vramscope_view::plot::{Content, LegendLine, Plot, PlotError, PlotStyle};
use vramscope_view::theme::Theme;

use super::arguments::{Format, Size};
use crate::failure::Failure;

/// The default size.
const USUAL: Size = Size {
    width_px: 1600,
    height_px: 900,
};
/// The greatest height that is chosen where no size is given.
const MOST_HEIGHT_PX: u32 = 12_000;

/// The output settings of a picture.
pub(super) struct Sheet<'a> {
    pub(super) format: Format,
    /// `None`: the default width and the height that shows everything.
    pub(super) size: Option<Size>,
    /// Device px per css px.
    pub(super) scale: f64,
    pub(super) theme: &'a Theme,
}

impl Sheet<'_> {
    /// Encodes the picture. Fails if its size is out of range.
    pub(super) fn file<C: Content>(&self, plot: &Plot<'_, C>) -> Result<Vec<u8>, Failure> {
        let size = self.size.unwrap_or(USUAL);
        let mut style = PlotStyle {
            width_px: size.width_px,
            height_px: size.height_px,
            pixel_ratio: self.scale,
            theme: self.theme,
        };
        if self.size.is_none() {
            style.height_px = plot.height_px(&style).min(MOST_HEIGHT_PX);
        }
        let picture = match self.format {
            Format::Png => plot.to_png(&style),
            Format::Svg => plot.to_svg(&style).map(String::into_bytes),
        };
        picture.map_err(|error| match error {
            PlotError::TooSmall { .. } | PlotError::TooLarge { .. } => {
                Failure::Usage(error.to_string())
            }
            other => Failure::Input(other.to_string()),
        })
    }
}

/// One line per group, in the order of the totals.
pub(super) fn legend_lines(groups: &Groups, totals: &[GroupTotal]) -> Vec<LegendLine> {
    let line = |total: &GroupTotal| {
        let group = total.group as usize;
        Some(LegendLine {
            rgb: *groups.rgb.get(group)?,
            label: groups.labels.get(group)?.clone(),
            bytes: Some(total.bytes),
        })
    };
    totals.iter().filter_map(line).collect()
}
