//! The marks of a viewport. Marks that would overlap are merged into one with a count.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::time::markers::{MarkerKind, Markers};

use crate::colour::{Rgb, sin_cos};
use crate::raster::Bands;
use crate::theme::Theme;
use crate::viewport::Viewport;

/// Width of a mark, css px. Events of a kind that are closer are merged.
pub const CELL_CSS: f64 = 9.0;
/// Half the width of a mark's symbol, css px.
pub const SYMBOL_CSS: f64 = 4.0;
/// Height of a track, css px.
pub const TRACK_CSS: f64 = 12.0;

/// A drawn mark: one event, or several of one kind.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Mark {
    /// The kind of event.
    pub kind: MarkerKind,
    /// Position of the first event, in the axis's unit.
    pub x: f64,
    /// Position of the last event.
    pub x_last: f64,
    /// The moment that begins with the first event.
    pub moment: u32,
    /// The moment that begins with the last event.
    pub last_moment: u32,
    /// Number of events, at least 1.
    pub count: u32,
    /// Total bytes of the events, counted as described at [`MarkerKind`].
    pub bytes: u64,
}

/// The marks within the viewport, sorted by kind, then from left to right. `cell_px` (device px) is the least distance
/// between the first events of two marks of a kind. O(kinds · px · log events).
#[must_use]
pub fn marks(markers: &Markers, bands: &Bands<'_>, view: &Viewport, cell_px: f64) -> Vec<Mark> {
    let cell_px = cell_px.max(1.0);
    let x = |moment: u32| bands.moment_x(moment as usize);
    let mut marks = Vec::new();
    for kind in MarkerKind::ALL {
        let column = markers.column(kind);
        let moments = &column.moments;
        let mut first = moments.partition_point(|&moment| x(moment) < view.x_min);
        let end = moments.partition_point(|&moment| x(moment) <= view.x_max);
        while first < end {
            let edge = view.x_px(x(moments[first])) + cell_px;
            let more = moments[first..end].partition_point(|&moment| view.x_px(x(moment)) < edge);
            let next = first + more.max(1);
            marks.push(Mark {
                kind,
                x: x(moments[first]),
                x_last: x(moments[next - 1]),
                moment: moments[first],
                last_moment: moments[next - 1],
                count: (next - first) as u32,
                bytes: column.bytes(first, next),
            });
            first = next;
        }
    }
    marks
}

/// The track of a kind: 0 (above) for events of the program, 1 (below) for events of segments.
#[must_use]
pub fn track(kind: MarkerKind) -> usize {
    match kind {
        MarkerKind::Oom | MarkerKind::Snapshot | MarkerKind::Annotate => 0,
        MarkerKind::SegmentAlloc
        | MarkerKind::SegmentMap
        | MarkerKind::SegmentFree
        | MarkerKind::SegmentUnmap => 1,
    }
}

/// The colour of a kind.
#[must_use]
pub fn colour(theme: &Theme, kind: MarkerKind) -> Rgb {
    match kind {
        MarkerKind::Oom => theme.growth,
        MarkerKind::Annotate => theme.accent,
        MarkerKind::Snapshot => theme.text,
        MarkerKind::SegmentAlloc
        | MarkerKind::SegmentMap
        | MarkerKind::SegmentFree
        | MarkerKind::SegmentUnmap => theme.reserved,
    }
}

/// Whether a kind's symbol is an outline, as it is for freed and unmapped segments.
#[must_use]
pub fn is_hollow(kind: MarkerKind) -> bool {
    matches!(kind, MarkerKind::SegmentFree | MarkerKind::SegmentUnmap)
}

/// The corners of a kind's symbol, `2 · half` wide, around a position.
#[must_use]
pub fn symbol(kind: MarkerKind, (x, y): (f64, f64), half: f64) -> Vec<(f64, f64)> {
    let flat = half * 0.8;
    match kind {
        MarkerKind::Oom | MarkerKind::SegmentFree | MarkerKind::SegmentUnmap => {
            vec![(x - half, y - flat), (x + half, y - flat), (x, y + flat)]
        }
        MarkerKind::SegmentAlloc | MarkerKind::SegmentMap => {
            vec![(x - half, y + flat), (x + half, y + flat), (x, y - flat)]
        }
        MarkerKind::Snapshot => vec![(x - half, y), (x, y - half), (x + half, y), (x, y + half)],
        // 16 corners look like a circle.
        MarkerKind::Annotate => (0..16)
            .map(|corner| {
                let (sin, cos) = sin_cos(f64::from(corner) * 22.5);
                (x + cos * half * 0.7, y + sin * half * 0.7)
            })
            .collect(),
    }
}

/// The index of the mark under `x_px` (device px) in a track: of those whose symbol covers it, the
/// most important kind, then the nearest.
#[must_use]
pub fn at(
    marks: &[Mark],
    on_track: usize,
    x_px: f64,
    view: &Viewport,
    cell_px: f64,
) -> Option<usize> {
    let distance = |mark: &Mark| (view.x_px(mark.x) - x_px).abs();
    let near = marks
        .iter()
        .enumerate()
        .filter(|(_, mark)| track(mark.kind) == on_track && distance(mark) <= cell_px / 2.0 + 1.0);
    let rank = |mark: &Mark| (mark.kind, distance(mark).to_bits());
    near.min_by_key(|(_, mark)| rank(mark))
        .map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use vramscope_core::analysis::time::history::History;
    use vramscope_core::decode;

    fn file(actions: &[usize]) -> (Markers, History) {
        const NAMES: [&str; 4] = ["segment_alloc", "segment_free", "oom", "alloc"];
        let events: Vec<String> = actions
            .iter()
            .enumerate()
            .map(|(i, &action)| {
                let (name, size) = (NAMES[action % 4], 512 * (i + 1));
                let addr = 1_000_000 * (i + 1);
                format!(
                    r#"{{"action": "{name}", "addr": {addr}, "size": {size}, "stream": 0, "time_us": {}}}"#,
                    10 + i * i % 50 + i * 3
                )
            })
            .collect();
        let file = format!(
            r#"{{"segments": [], "device_traces": [[{}]]}}"#,
            events.join(",")
        );
        let snapshot = decode(file.as_bytes()).unwrap();
        let history = History::of(&snapshot, 0);
        (Markers::of(&snapshot, &history), history)
    }

    proptest! {
        #[test]
        fn nothing_in_view_is_left_out(
            actions in prop::collection::vec(0_usize..4, 1..120),
            from in 0.0..0.9, width in 0.01..1.0, width_px in 1_u32..400, with_time in any::<bool>()
        ) {
            let (markers, history) = file(&actions);
            let bands = Bands::of(&history, with_time);
            let x_min = from * bands.x_end();
            let view = Viewport {
                x_min, x_max: x_min + width * bands.x_end(),
                y_min_bytes: 0.0, y_max_bytes: 1.0, width_px, height_px: 1,
            };
            let marks = marks(&markers, &bands, &view, 9.0);
            for kind in MarkerKind::ALL {
                let own: Vec<&Mark> = marks.iter().filter(|mark| mark.kind == kind).collect();
                let inside = |moment: &&u32| {
                    let x = bands.moment_x(**moment as usize);
                    view.x_min <= x && x <= view.x_max
                };
                let expected = markers.column(kind).moments.iter().filter(inside).count();
                prop_assert_eq!(own.iter().map(|mark| mark.count as usize).sum::<usize>(), expected);
                let bytes: u64 = markers.column(kind).moments.iter().filter(inside)
                    .map(|&moment| 512 * u64::from(moment)).sum();
                prop_assert_eq!(own.iter().map(|mark| mark.bytes).sum::<u64>(), bytes);
                for pair in own.windows(2) {
                    prop_assert!(pair[0].last_moment < pair[1].moment);
                    prop_assert!(view.x_px(pair[1].x) - view.x_px(pair[0].x) >= 9.0 - 1e-6);
                }
            }
        }
    }

    #[test]
    fn the_pointer_finds_the_nearest_and_most_important() {
        let (markers, history) = file(&[0, 3, 3, 3, 2, 1]);
        let bands = Bands::of(&history, false);
        let view = Viewport {
            x_min: 0.0,
            x_max: 7.0,
            y_min_bytes: 0.0,
            y_max_bytes: 1.0,
            width_px: 700,
            height_px: 1,
        };
        let marks = marks(&markers, &bands, &view, 9.0);
        assert_eq!(marks.len(), 3);
        let found =
            |track, x_px| at(&marks, track, x_px, &view, 9.0).map(|place| marks[place].kind);
        assert_eq!(found(0, 503.0), Some(MarkerKind::Oom));
        assert_eq!(found(1, 98.0), Some(MarkerKind::SegmentAlloc));
        assert_eq!(found(1, 503.0), None);
        assert_eq!(found(0, 300.0), None);
    }
}
