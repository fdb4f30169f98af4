//! PNG encoding, and pixels as parts of pictures.

use base64::Engine as _;

use super::PlotError;
use crate::scene::{Area, Scene};

/// A part of a picture made of pixels.
#[derive(Clone, Debug)]
pub struct Pixels {
    /// Position and size in the picture.
    pub area: Area,
    /// R, G, B, A (not premultiplied) of each pixel of the area, the top row first.
    pub rgba: Vec<u8>,
    /// Texts in the picture.
    pub labels: Scene,
}

impl Pixels {
    /// Blends the pixels over a picture of R, G, B.
    #[cfg(feature = "font")]
    pub(super) fn blit(&self, picture: &mut [u8], width_px: usize) {
        let Area { x_px, y_px, .. } = self.area;
        let (left, top) = (x_px.max(0) as usize, y_px.max(0) as usize);
        let rows = self
            .rgba
            .chunks_exact(self.area.width_px.max(1) as usize * 4);
        for (y, row) in rows.enumerate() {
            let start = ((top + y) * width_px + left) * 3;
            let target = picture.get_mut(start..).unwrap_or_default();
            for (below, above) in target.chunks_exact_mut(3).zip(row.chunks_exact(4)) {
                let alpha = u32::from(above[3]);
                for (low, &high) in below.iter_mut().zip(above) {
                    let sum = u32::from(high) * alpha + u32::from(*low) * (255 - alpha);
                    *low = ((sum + 127) / 255) as u8;
                }
            }
        }
    }

    /// The pixels as an SVG image element with an embedded PNG.
    pub(super) fn to_svg(&self) -> Result<String, PlotError> {
        let Area {
            x_px,
            y_px,
            width_px,
            height_px,
        } = self.area;
        let image = png(&self.rgba, (width_px, height_px), ::png::ColorType::Rgba)?;
        let image = base64::engine::general_purpose::STANDARD.encode(image);
        Ok(format!(
            "<image x=\"{x_px}\" y=\"{y_px}\" width=\"{width_px}\" height=\"{height_px}\" \
             style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{image}\"/>\n"
        ))
    }
}

pub(super) fn png(
    pixels: &[u8],
    (width_px, height_px): (u32, u32),
    colour: ::png::ColorType,
) -> Result<Vec<u8>, PlotError> {
    let mut file = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut file, width_px, height_px);
    encoder.set_color(colour);
    encoder.set_depth(::png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(file)
}
