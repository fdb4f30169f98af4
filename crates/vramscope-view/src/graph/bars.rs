//! Bars as pixels: a pixel that several bars share shows their mean colour.

use crate::colour::{Rgb, linear, linear12, oklch, srgb8};
use crate::coverage::{Coverage, Sums, WHOLE, stripes};
use crate::theme::Theme;
use crate::viewport::Viewport;

/// A bar; x is in steps, y in rows or bytes (see [`Viewport::y_px`]).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bar {
    /// Left and right edge.
    pub x: (f64, f64),
    /// Lower and upper edge.
    pub y: (f64, f64),
    /// Its colour.
    pub colour: Rgb,
}

/// Hue and chroma of the kinds of buffers, see [`kind_colour`].
const KINDS: [(f64, f64); 3] = [(250.0, 0.11), (75.0, 0.11), (155.0, 0.11)];

/// The colour of a kind of buffer: 0 is an intermediate, 1 an input that is freed, 2 an output.
/// Every other buffer is drawn a little darker, so that neighbours can be told apart.
#[must_use]
pub fn kind_colour(theme: &Theme, kind: usize, is_darker: bool) -> Rgb {
    let (hue, chroma) = KINDS[kind % KINDS.len()];
    let step = if is_darker { 0.07 } else { 0.0 };
    oklch(theme.ring_lightness - step, chroma, hue)
}

/// Least width of a bar, device px: a buffer that lives for one step of thousands stays visible.
const LEAST_PX: f64 = 1.0;

/// Left, top, right and bottom of a bar in device px, clipped to the picture; `None` if it is
/// outside.
#[must_use]
pub fn place(bar: &Bar, view: &Viewport) -> Option<[f64; 4]> {
    let (width, height) = (f64::from(view.width_px), f64::from(view.height_px));
    let (left, right) = (view.x_px(bar.x.0), view.x_px(bar.x.1));
    let (top, bottom) = (view.y_px(bar.y.1), view.y_px(bar.y.0));
    if !(right > 0.0 && left < width && bottom > 0.0 && top < height) {
        return None;
    }
    let right = right.max(left + LEAST_PX);
    Some([
        left.max(0.0),
        top.max(0.0),
        right.min(width),
        bottom.min(height),
    ])
}

/// Draws the bars as `width × height` pixels of R, G, B, A, the top row first.
#[must_use]
pub fn draw(bars: &[Bar], view: &Viewport, background: Rgb) -> Vec<u8> {
    // 64 bits, because widened bars may overlap, any number of them on one pixel.
    let mut coverage = Coverage::<i64>::default();
    let mut rgba = vec![0; view.width_px as usize * view.height_px as usize * 4];
    let background = background.map(linear);
    let placed = bars.iter().filter_map(|bar| {
        let [left, top, right, bottom] = place(bar, view)?.map(|px| px as f32);
        Some(((left, right), (top, bottom), light(bar.colour)))
    });
    let placed: Vec<_> = placed.collect();
    for (rows, pixels) in stripes(&mut rgba, view.width_px) {
        coverage.begin(view.width_px, rows);
        for &(x, y, light) in &placed {
            coverage.add(x.0, [(x.1, light)], y);
        }
        coverage.pixels(pixels, |sums| blend(sums, background));
    }
    rgba
}

/// What a whole pixel of a colour adds to the sums.
fn light(colour: Rgb) -> Sums<i64> {
    let [r, g, b] = colour.map(|channel| i64::from(linear12(channel)));
    [r, g, b, 1]
}

/// The most light of a channel, in 12 bits.
const MOST_LIGHT: f32 = 4_095.0;

fn blend(sums: Sums<i64>, background: [f32; 3]) -> [u8; 4] {
    let [r, g, b, covered] = sums.map(|sum| sum as f32 / WHOLE);
    // Where widened bars overlap, their colours are averaged.
    let scale = 1.0 / covered.max(1.0);
    let ground = (1.0 - covered).clamp(0.0, 1.0);
    let [back_r, back_g, back_b] = background;
    let channel = |light: f32, back: f32| srgb8(light / MOST_LIGHT * scale + back * ground);
    [
        channel(r, back_r),
        channel(g, back_g),
        channel(b, back_b),
        u8::MAX,
    ]
}

/// The bar at a position in device px, or the nearest within `reach_px`.
#[must_use]
pub fn hit(
    bars: &[Bar],
    view: &Viewport,
    (x_px, y_px): (f64, f64),
    reach_px: f64,
) -> Option<usize> {
    let distance = |bar: &Bar| {
        let [left, top, right, bottom] = place(bar, view)?;
        let beside = (left - x_px).max(x_px - right).max(0.0);
        let above = (top - y_px).max(y_px - bottom).max(0.0);
        Some(beside.max(above))
    };
    let near = bars.iter().enumerate().filter_map(|(number, bar)| {
        let distance = distance(bar)?;
        (distance <= reach_px).then_some((number, distance))
    });
    near.min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BACK: Rgb = [255, 255, 255];

    fn view(width_px: u32, height_px: u32) -> Viewport {
        Viewport {
            x_min: 0.0,
            x_max: 100.0,
            y_min_bytes: 0.0,
            y_max_bytes: 40.0,
            width_px,
            height_px,
        }
    }

    fn bar(x: (f64, f64), y: (f64, f64)) -> Bar {
        Bar {
            x,
            y,
            colour: [200, 30, 90],
        }
    }

    fn pixel(rgba: &[u8], width: usize, x: usize, y: usize) -> Rgb {
        let at = (y * width + x) * 4;
        [rgba[at], rgba[at + 1], rgba[at + 2]]
    }

    #[test]
    fn a_bar_fills_its_pixels_and_no_others() {
        let view = view(100, 40);
        let rgba = draw(&[bar((10.0, 20.0), (0.0, 4.0))], &view, BACK);
        assert_eq!(rgba.len(), 100 * 40 * 4);
        for y in 0..40 {
            for x in 0..100 {
                let inside = (10..20).contains(&x) && y >= 36;
                let expected = if inside { [200, 30, 90] } else { BACK };
                assert_eq!(pixel(&rgba, 100, x, y), expected, "{x} {y}");
            }
        }
    }

    #[test]
    fn what_is_thinner_than_a_pixel_is_blended_and_what_is_shorter_is_seen() {
        let rgba = draw(&[bar((50.0, 50.001), (0.0, 20.0))], &view(10, 2), BACK);
        assert_eq!(pixel(&rgba, 10, 5, 1), [200, 30, 90]);
        let half = draw(&[bar((0.0, 100.0), (0.0, 10.0))], &view(10, 2), BACK);
        let [r, g, _] = pixel(&half, 10, 4, 1);
        assert!((201..255).contains(&r) && (31..254).contains(&g));
    }

    #[test]
    fn hits_what_is_drawn() {
        let bars = [bar((0.0, 10.0), (0.0, 1.0)), bar((10.0, 30.0), (1.0, 2.0))];
        let view = view(100, 40);
        assert_eq!(hit(&bars, &view, (5.0, 39.5), 0.0), Some(0));
        assert_eq!(hit(&bars, &view, (20.0, 38.5), 0.0), Some(1));
        assert_eq!(hit(&bars, &view, (60.0, 38.5), 0.0), None);
        assert_eq!(hit(&bars, &view, (31.5, 38.5), 2.0), Some(1));
        assert_eq!(hit(&[], &view, (0.0, 0.0), 9.0), None);
    }

    /// The obvious way: every bar adds its share of every pixel.
    fn reference(bars: &[Bar], view: &Viewport) -> Vec<[f32; 4]> {
        let (width, height) = (view.width_px as usize, view.height_px as usize);
        let mut sums = vec![[0.0; 4]; width * height];
        for bar in bars {
            let Some([left, top, right, bottom]) = place(bar, view) else {
                continue;
            };
            for (number, sum) in sums.iter_mut().enumerate() {
                let (x, y) = ((number % width) as f64, (number / width) as f64);
                let across = (right.min(x + 1.0) - left.max(x)).max(0.0);
                let down = (bottom.min(y + 1.0) - top.max(y)).max(0.0);
                let share = (across * down) as f32;
                let [r, g, b] = bar.colour.map(linear);
                for (sum, light) in sum.iter_mut().zip([r, g, b, 1.0]) {
                    *sum += light * share;
                }
            }
        }
        sums
    }

    proptest! {
        #[test]
        fn every_pixel_is_the_mean_of_what_lies_in_it(
            bars in proptest::collection::vec((-20.0..110.0, 0.001..90.0, 0..40_u32, any::<Rgb>()), 0..30),
        ) {
            let row = |(x, length, row, colour): (f64, f64, u32, Rgb)| Bar {
                x: (x, x + length),
                y: (f64::from(row) * 0.9, f64::from(row) * 0.9 + 0.9),
                colour,
            };
            let bars: Vec<_> = bars.into_iter().map(row).collect();
            let view = view(23, 11);
            let rgba = draw(&bars, &view, BACK);
            for (drawn, [r, g, b, covered]) in rgba.chunks(4).zip(reference(&bars, &view)) {
                let scale = 1.0 / covered.max(1.0);
                let ground = (1.0 - covered).clamp(0.0, 1.0);
                for (channel, light) in drawn.iter().zip([r, g, b]) {
                    let expected = srgb8((light * scale + ground).clamp(0.0, 1.0));
                    prop_assert!(channel.abs_diff(expected) <= 1, "{} {}", channel, expected);
                }
            }
        }

        #[test]
        fn nothing_panics(
            x in any::<(f64, f64)>(), y in any::<(f64, f64)>(), at in any::<(f64, f64)>(), width in 0..4_u32,
        ) {
            let bars = [bar(x, y)];
            let view = view(width, 3);
            let _ = draw(&bars, &view, BACK);
            let _ = hit(&bars, &view, at, 1.0);
        }
    }
}
