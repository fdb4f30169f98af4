//! Widths of texts in the font of saved pictures.
//!
//! They determine how much of a text fits. The page has the widths but not the font, which is large, so that page and
//! command line save the same picture.

use super::Measure;

/// DejaVu Sans Condensed without kerning: as narrow as common system fonts, so text that fits on screen fits here. Other
/// fonts used to show an SVG have about the same widths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuiltIn;

impl BuiltIn {
    /// The width of a text whose characters are all in the table; `None` for other texts and for an empty one.
    pub(super) fn exact_px(self, text: &str, size_px: f64, is_bold: bool) -> Option<f64> {
        let is_known = |c: char| matches!(c, ' '..='~' | '·' | '…' | '→' | '▸');
        let is_exact = !text.is_empty() && text.chars().all(is_known);
        is_exact.then(|| self.width_px(text, size_px, is_bold))
    }
}

impl Measure for BuiltIn {
    fn width_px(&self, text: &str, size_px: f64, is_bold: bool) -> f64 {
        let widths = &WIDTHS[usize::from(is_bold)];
        let ascii = |c: char| widths[c as usize - ' ' as usize];
        let width = |c: char| match c {
            '·' => ascii('.'),
            '…' => ELLIPSIS,
            // Symbols and scripts that are wide in every font.
            '\u{2000}'.. => EM,
            ' '..='~' => ascii(c),
            _ => ascii('n'),
        };
        let units: u32 = text.chars().map(|c| u32::from(width(c))).sum();
        f64::from(units) * size_px / f64::from(EM)
    }
}

/// The font's units per em.
const EM: u16 = 2048;

/// Advance width of `…`, regular and bold.
const ELLIPSIS: u16 = 1843;

/// Advance widths of the printable characters of ASCII, regular and bold, in the font's units.
#[rustfmt::skip]
const WIDTHS: [[u16; 95]; 2] = [
    [
        585, 738, 847, 1544, 1172, 1751, 1437, 506, 719, 719, 921, 1544, 585, 665, 585, 621,
        1172, 1172, 1172, 1172, 1172, 1172, 1172, 1172, 1172, 1172, 621, 621, 1544, 1544, 1544,
        978, 1843, 1260, 1264, 1287, 1419, 1164, 1060, 1428, 1386, 543, 543, 1208, 1026, 1590,
        1378, 1450, 1111, 1450, 1280, 1170, 1125, 1349, 1260, 1822, 1262, 1125, 1262, 719, 621,
        719, 1544, 921, 921, 1129, 1170, 1013, 1170, 1134, 648, 1170, 1168, 512, 512, 1067, 512,
        1795, 1168, 1127, 1170, 1170, 757, 960, 722, 1168, 1090, 1507, 1090, 1090, 967, 1172,
        621, 1172, 1544,
    ],
    [
        641, 840, 960, 1544, 1282, 1846, 1607, 564, 842, 842, 963, 1544, 700, 765, 700, 673,
        1282, 1282, 1282, 1282, 1282, 1282, 1282, 1282, 1282, 1282, 737, 737, 1544, 1544, 1544,
        1069, 1843, 1426, 1404, 1352, 1530, 1259, 1259, 1512, 1542, 685, 685, 1428, 1174, 1834,
        1542, 1566, 1350, 1566, 1419, 1327, 1257, 1496, 1426, 2033, 1421, 1334, 1336, 842, 673,
        842, 1544, 921, 921, 1243, 1319, 1092, 1319, 1250, 801, 1319, 1312, 631, 631, 1225, 631,
        1920, 1312, 1266, 1319, 1319, 909, 1097, 881, 1312, 1201, 1702, 1188, 1201, 1072, 1312,
        673, 1312, 1544,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_a_width() {
        let [regular, bold] = [false, true].map(|bold| BuiltIn.width_px("reserved", 100.0, bold));
        assert!((300.0..500.0).contains(&regular) && bold > regular);
        assert_eq!(BuiltIn.width_px("", 100.0, false), 0.0);
        assert_eq!(BuiltIn.width_px("→", 100.0, false), 100.0);
        assert_eq!(
            BuiltIn.width_px("é·", 100.0, true),
            BuiltIn.width_px("n.", 100.0, true)
        );
    }
}
