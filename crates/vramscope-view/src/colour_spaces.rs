//! Colours in sRGB, linear light and OKLCH, and conversions between them.

/// Red, green, blue: sRGB, 8 bits each.
pub type Rgb = [u8; 3];

/// Converts OKLCH (lightness 0 to 1, chroma, hue in degrees) to sRGB. Chroma is lowered until the
/// colour is within sRGB.
#[must_use]
pub fn oklch(lightness: f64, chroma: f64, hue: f64) -> Rgb {
    let (sin, cos) = sin_cos(hue);
    let mut chroma = chroma;
    for _ in 0..64 {
        let rgb = oklab_to_linear([lightness, chroma * cos, chroma * sin]);
        if rgb.iter().all(|v| (-1e-4..=1.0001).contains(v)) {
            return rgb.map(|v| srgb8(v as f32));
        }
        chroma *= 0.96;
    }
    oklab_to_linear([lightness, 0.0, 0.0]).map(|v| srgb8(v as f32))
}

/// Sine and cosine of an angle in degrees. std's are exact for any angle, however large, but add 6 KB to the page.
pub(crate) fn sin_cos(degrees: f64) -> (f64, f64) {
    let quarters = (degrees / 90.0).round();
    let angle = (degrees - quarters * 90.0).to_radians();
    // Taylor's series: up to 45 degrees the terms left out are below 1e-12.
    let series = |first: f64, from: u32| {
        let (mut term, mut sum) = (first, first);
        for n in (from..from + 12).step_by(2) {
            term *= -angle * angle / f64::from(n * (n + 1));
            sum += term;
        }
        sum
    };
    let (sin, cos) = (series(angle, 2), series(1.0, 1));
    match (quarters as i64).rem_euclid(4) {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

/// OKLab to linear sRGB; the matrices are Björn Ottosson's.
fn oklab_to_linear([l, a, b]: [f64; 3]) -> [f64; 3] {
    let cube = |v: f64| v * v * v;
    let l_ = cube(l + 0.396_337_777_4 * a + 0.215_803_757_3 * b);
    let m_ = cube(l - 0.105_561_345_8 * a - 0.063_854_172_8 * b);
    let s_ = cube(l - 0.089_484_177_5 * a - 1.291_485_548_0 * b);
    [
        4.076_741_662_1 * l_ - 3.307_711_591_3 * m_ + 0.230_969_929_2 * s_,
        -1.268_438_004_6 * l_ + 2.609_757_401_1 * m_ - 0.341_319_396_5 * s_,
        -0.004_196_086_3 * l_ - 0.703_418_614_7 * m_ + 1.707_614_701_0 * s_,
    ]
}

/// Linear light, 0 to 1, of an sRGB channel.
#[must_use]
pub fn linear(channel: u8) -> f32 {
    let v = f32::from(channel) / 255.0;
    if v <= 0.040_45 {
        v / 12.92
    } else {
        ((v + 0.055) / 1.055).powf(2.4)
    }
}

/// Linear light of an sRGB channel in 12 bits.
pub(crate) fn linear12(channel: u8) -> u16 {
    (linear(channel) * 4095.0 + 0.5) as u16
}

/// The sRGB channel of linear light, 0 to 1.
#[must_use]
pub fn srgb8(light: f32) -> u8 {
    let v = light.clamp(0.0, 1.0);
    let coded = if v <= 0.003_130_8 {
        v * 12.92
    } else {
        1.055 * v.powf(1.0 / 2.4) - 0.055
    };
    (coded * 255.0 + 0.5) as u8
}
