//! The position of a picture of one viewport in another viewport.

use vramscope_view::viewport::Viewport;

/// A rectangle in device px.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RectPx {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The visible part of a picture and its position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Placement {
    /// The visible part, in px of the picture.
    pub(super) source: RectPx,
    /// Its position, in px of the wanted viewport.
    pub(super) target: RectPx,
}

/// Places a picture of the viewport `shown` in `wanted`; `None` if nothing of it is visible.
///
/// Only the visible part is returned, because the whole picture could be millions of px wide after
/// zooming in.
pub(super) fn place(shown: &Viewport, wanted: &Viewport) -> Option<Placement> {
    let (source_x, target_x) = cut(
        (shown.x_min, shown.x_max, f64::from(shown.width_px)),
        (wanted.x_min, wanted.x_max, f64::from(wanted.width_px)),
    )?;
    // Negated, because px grow downwards.
    let (source_y, target_y) = cut(
        (
            -shown.y_max_bytes,
            -shown.y_min_bytes,
            f64::from(shown.height_px),
        ),
        (
            -wanted.y_max_bytes,
            -wanted.y_min_bytes,
            f64::from(wanted.height_px),
        ),
    )?;
    let rect = |x: (f64, f64), y: (f64, f64)| RectPx {
        x: x.0,
        y: y.0,
        width: x.1 - x.0,
        height: y.1 - y.0,
    };
    Some(Placement {
        source: rect(source_x, source_y),
        target: rect(target_x, target_y),
    })
}

/// The common part of two ranges of data, each (from, to, px), in the px of either.
fn cut(shown: (f64, f64, f64), wanted: (f64, f64, f64)) -> Option<((f64, f64), (f64, f64))> {
    let (from, to) = (shown.0.max(wanted.0), shown.1.min(wanted.1));
    let px = |range: (f64, f64, f64)| {
        let at = |data: f64| (data - range.0) / (range.1 - range.0) * range.2;
        (at(from), at(to))
    };
    (from < to).then(|| (px(shown), px(wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Viewport = Viewport {
        x_min: 0.0,
        x_max: 1_000.0,
        y_min_bytes: 0.0,
        y_max_bytes: 400.0,
        width_px: 500,
        height_px: 200,
    };

    #[test]
    fn the_same_viewport_fills_it() {
        let all = RectPx {
            x: 0.0,
            y: 0.0,
            width: 500.0,
            height: 200.0,
        };
        assert_eq!(
            place(&WHOLE, &WHOLE),
            Some(Placement {
                source: all,
                target: all
            })
        );
    }

    #[test]
    fn zoomed_in_only_a_part_is_seen() {
        let wanted = Viewport {
            x_min: 250.0,
            x_max: 500.0,
            y_min_bytes: 300.0,
            y_max_bytes: 400.0,
            ..WHOLE
        };
        let source = RectPx {
            x: 125.0,
            y: 0.0,
            width: 125.0,
            height: 50.0,
        };
        let target = RectPx {
            x: 0.0,
            y: 0.0,
            width: 500.0,
            height: 200.0,
        };
        assert_eq!(place(&WHOLE, &wanted), Some(Placement { source, target }));
    }

    #[test]
    fn zoomed_out_it_covers_a_part() {
        let shown = Viewport {
            x_min: 250.0,
            x_max: 500.0,
            y_min_bytes: 100.0,
            y_max_bytes: 200.0,
            ..WHOLE
        };
        let source = RectPx {
            x: 0.0,
            y: 0.0,
            width: 500.0,
            height: 200.0,
        };
        let target = RectPx {
            x: 125.0,
            y: 100.0,
            width: 125.0,
            height: 50.0,
        };
        assert_eq!(place(&shown, &WHOLE), Some(Placement { source, target }));
    }

    #[test]
    fn beside_it_nothing_is_seen() {
        let wanted = Viewport {
            x_min: 0.0,
            x_max: 10.0,
            ..WHOLE
        };
        let shown = Viewport {
            x_min: 10.0,
            x_max: 20.0,
            ..WHOLE
        };
        assert_eq!(place(&shown, &wanted), None);
    }
}
