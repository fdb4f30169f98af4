//! The contents of a pixel: one allocation, or the number and bytes of several.

use super::bands::Bands;
use super::{BLEND, Frame, NONE};
use crate::viewport::Viewport;

/// The allocations that overlap a range of heights at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Composition {
    /// Rows, lowest in the stack first.
    pub allocations: Vec<u32>,
    /// Sum of their full sizes, saturating at `u64::MAX`.
    pub bytes: u64,
}

/// The contents of a point of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hit {
    /// Outside the picture or the data.
    Outside,
    /// Nothing is allocated here at this moment.
    Free {
        /// The moment the column shows.
        moment: u32,
    },
    /// One allocation.
    Allocation {
        /// The moment the column shows.
        moment: u32,
        /// Its row.
        row: u32,
    },
    /// Several allocations, too thin to distinguish.
    Several {
        /// The moment the column shows.
        moment: u32,
        /// The allocations and their sum.
        composition: Composition,
    },
}

impl Composition {
    /// The allocations live at `moment` between the heights `from_bytes` and `to_bytes`. Takes one pass over two columns.
    #[must_use]
    pub fn at(bands: &Bands<'_>, moment: u32, from_bytes: f64, to_bytes: f64) -> Self {
        let mut found = Self::default();
        let mut low: u128 = 0;
        for row in 0..bands.rows() {
            if bands.bytes[row] == 0 || !bands.is_live(row, moment) {
                continue;
            }
            let high = low + u128::from(bands.bytes[row]);
            if low as f64 >= to_bytes {
                break;
            }
            if high as f64 > from_bytes {
                found.allocations.push(row as u32);
                found.bytes = found.bytes.saturating_add(bands.bytes[row]);
            }
            low = high;
        }
        found
    }
}

impl Hit {
    /// The contents of device px (`x_px`, `y_px`) in a frame that was drawn from these bands with this viewport.
    #[must_use]
    pub fn test(
        bands: &Bands<'_>,
        frame: &Frame,
        viewport: &Viewport,
        x_px: u32,
        y_px: u32,
    ) -> Self {
        if x_px >= frame.width_px || y_px >= frame.height_px {
            return Self::Outside;
        }
        let moment = frame.column_moment[x_px as usize];
        if moment == NONE {
            return Self::Outside;
        }
        match frame.ids[y_px as usize * frame.width_px as usize + x_px as usize] {
            NONE => Self::Free { moment },
            BLEND => {
                let (top, bottom) = (
                    viewport.bytes_at(f64::from(y_px)),
                    viewport.bytes_at(f64::from(y_px) + 1.0),
                );
                Self::Several {
                    moment,
                    composition: Composition::at(bands, moment, bottom, top),
                }
            }
            row => Self::Allocation { moment, row },
        }
    }
}
