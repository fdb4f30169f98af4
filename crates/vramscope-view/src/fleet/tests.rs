//! The heat map, compared with a slow one that computes every pixel.

use proptest::prelude::*;
use vramscope_core::fleet::{Curve, Failure, Fleet, Place, Rank, StepLevels};

use super::layout::{Layout, MarkKind, Offers, Unit};
use super::raster::{Hit, Size, hit, pixels, rows_at};
use super::{Along, Frame, Look, Memory, draw, reference, row_span, shade};
use crate::scene::{Area, Scene, Style};
use crate::theme::{Theme, contrast};

const SECOND: i64 = 1_000_000;

/// A rank with one bin per level, each a second long.
fn rank(number: u32, start_us: Option<i64>, levels: &[u16]) -> Rank {
    let peak = (0_u32..).zip(levels).max_by_key(|(_, level)| **level);
    let peak = peak.map_or(0, |(bin, _)| bin);
    Rank {
        place: Place {
            rank: number,
            ..Place::default()
        },
        peak_moment: peak,
        peak_time_us: start_us.map(|start| start + i64::from(peak) * SECOND),
        curve: Curve {
            unit_bytes: 10,
            start_us,
            length: match start_us {
                Some(_) => levels.len() as u64 * SECOND as u64,
                None => levels.len() as u64,
            },
            lowest: vec![0; levels.len()],
            highest: levels.to_vec(),
            reserved: levels.iter().map(|level| level.saturating_add(1)).collect(),
            steps: Vec::new(),
        },
        ..Rank::default()
    }
}

fn fleet(ranks: Vec<Rank>) -> Fleet {
    Fleet {
        ranks,
        ..Fleet::default()
    }
}

fn look(along: Along) -> Look {
    Look {
        memory: Memory::Active,
        along,
    }
}

fn size(width_px: u32, height_px: u32) -> Size {
    Size {
        width_px,
        height_px,
        scale: 1,
    }
}

/// The levels of each row's cells, left to right, in a picture of one line per row without marks.
fn levels(layout: &Layout, width: u32, rows: u32) -> Vec<Vec<Option<u64>>> {
    let order: Vec<u32> = (0..rows).collect();
    let at = |x, y| {
        hit(layout, &order, size(width, rows), (x, y))
            .unwrap()
            .bytes
    };
    (0..rows)
        .map(|y| (0..width).map(|x| at(x, y)).collect())
        .collect()
}

#[test]
fn clocks_place_ranks_and_starts_do_not() {
    let two = fleet(vec![
        rank(0, Some(10 * SECOND), &[1, 2, 3]),
        rank(1, Some(11 * SECOND), &[4, 5]),
    ]);
    let by_clock = Layout::of(&two, look(Along::Clock));
    assert_eq!((by_clock.start, by_clock.length), (10 * SECOND, 3_000_000));
    assert_eq!(
        levels(&by_clock, 3, 2),
        [[Some(10), Some(20), Some(30)], [None, Some(40), Some(50)]]
    );
    let by_start = Layout::of(&two, look(Along::Start));
    assert_eq!((by_start.start, by_start.unit), (0, Unit::Time));
    assert_eq!(levels(&by_start, 3, 2)[1], [Some(40), Some(50), None]);
    // The second rank's own time begins a second later.
    assert_eq!(by_clock.own_range(1, 1_500_000), Some((0, 1_000_000)));
    assert_eq!(by_clock.own_range(1, 500_000), None);
    assert_eq!(by_clock.own_range(0, 3_000_000), None);
    assert_eq!(
        by_start.own_range(1, 1_500_000),
        Some((1_000_000, 2_000_000))
    );
}

#[test]
fn what_files_do_not_tell_is_replaced_or_left_blank() {
    let mixed = fleet(vec![rank(0, Some(0), &[1]), rank(1, None, &[2])]);
    let layout = Layout::of(&mixed, look(Along::Clock));
    assert!(!layout.is_blank(0) && layout.is_blank(1) && layout.is_blank(2));
    let untimed = fleet(vec![rank(0, None, &[1, 2])]);
    let layout = Layout::of(&untimed, look(Along::Step));
    assert_eq!(layout.look.along, Along::Start);
    assert_eq!((layout.unit, layout.length), (Unit::Events, 2));
    let mut without = untimed.clone();
    without.ranks[0].curve.reserved.clear();
    let reserved = Look {
        memory: Memory::Reserved,
        along: Along::Start,
    };
    assert_eq!(Layout::of(&untimed, reserved).highest_bytes, 30);
    assert_eq!(Layout::of(&without, reserved).highest_bytes, 20);
    assert_eq!(Offers::of(&without), Offers::default());
    let none = Layout::of(&Fleet::default(), look(Along::Clock));
    assert_eq!((none.length, none.highest_bytes), (1, 0));
    assert_eq!(hit(&none, &[], size(9, 9), (0, 0)), None);
}

#[test]
fn steps_are_cells_of_one_width() {
    let mut one = rank(0, Some(0), &[1, 2, 3, 4]);
    let step = |number, from: u64, highest| StepLevels {
        number,
        from: from * SECOND as u64,
        lowest: 0,
        highest,
    };
    one.curve.steps = vec![step(7, 0, 3), step(9, 1, 5)];
    // The peak is 3 s after the start: two thirds into the second step.
    let fleet = fleet(vec![one]);
    let layout = Layout::of(&fleet, look(Along::Step));
    assert_eq!((layout.start, layout.length), (7, 3_000));
    assert_eq!(levels(&layout, 3, 1), [[Some(30), None, Some(50)]]);
    assert_eq!(layout.rows[0].marks[0].at, 2_666);
    let reserved = Look {
        memory: Memory::Reserved,
        along: Along::Step,
    };
    let layout = Layout::of(&fleet, reserved);
    assert_eq!(levels(&layout, 3, 1), [[Some(20), None, Some(50)]]);
    assert_eq!(layout.own_range(0, 1_500), None);
    assert_eq!(layout.own_range(0, 2_500), Some((1_000_000, 4_000_000)));
}

#[test]
fn numbers_of_any_size_are_laid_out() {
    let mut wild = rank(0, Some(i64::MIN), &[u16::MAX; 3]);
    wild.curve.length = u64::MAX;
    wild.curve.unit_bytes = u64::MAX;
    wild.peak_time_us = Some(i64::MAX);
    let step = |number| StepLevels {
        number,
        ..StepLevels::default()
    };
    wild.curve.steps = vec![step(u64::MAX), step(0), step(3)];
    let mut late = rank(1, Some(i64::MAX), &[]);
    late.curve.length = 0;
    let fleet = fleet(vec![wild, late]);
    for along in [Along::Clock, Along::Start, Along::Step] {
        let layout = Layout::of(&fleet, look(along));
        let rgba = pixels(&layout, &[1, 0, 9], size(7, 5), &Theme::light());
        assert_eq!(rgba.len(), 7 * 5 * 4);
        let frame = Frame::of(&layout, 3, (5, 1.0), |row| row.to_string());
        draw(
            &mut Scene::default(),
            &Area {
                x_px: 72,
                y_px: 0,
                width_px: 300,
                height_px: 5,
            },
            &frame,
            &Style::new(&Theme::light(), 1.0),
        );
    }
}

#[test]
fn a_line_of_several_rows_shows_their_most_and_names_whose_it_is() {
    let ranks = (0..10).map(|number| rank(number, Some(0), &[number as u16 % 7, 1]));
    let layout = Layout::of(&fleet(ranks.collect()), look(Along::Clock));
    let order: Vec<u32> = (0..10).rev().collect();
    // Upper line: ranks 9 to 5, of which 6 has the most. Its index from the top is 3.
    let upper = hit(&layout, &order, size(20, 2), (5, 0)).unwrap();
    assert_eq!((upper.row, upper.bytes), (3, Some(60)));
    let lower = hit(&layout, &order, size(20, 2), (5, 1)).unwrap();
    assert_eq!((lower.row, lower.bytes), (5, Some(40)));
}

#[test]
fn failed_requests_stand_out_from_peaks() {
    let mut one = rank(3, Some(0), &[1, 9, 1, 1]);
    one.failures = vec![Failure {
        moment: 77,
        time_us: Some(3 * SECOND),
        ..Failure::default()
    }];
    let layout = Layout::of(&fleet(vec![one]), look(Along::Clock));
    let at = |x| hit(&layout, &[0], size(40, 10), (x, 4)).unwrap().mark;
    assert_eq!(at(10), Some((MarkKind::Peak, 1_000_000, 1)));
    assert_eq!(at(31), Some((MarkKind::Oom, 3_000_000, 77)));
    assert_eq!(at(20), None);
    let theme = Theme::dark();
    let rgba = pixels(&layout, &[0], size(40, 10), &theme);
    let ink = |x: usize| rgba[x * 4..x * 4 + 3].to_vec();
    assert_eq!(ink(10), theme.text);
    assert_eq!(
        (ink(29), ink(31)),
        (theme.growth.into(), theme.growth.into())
    );
    assert_eq!(
        (ink(9), ink(28)),
        (theme.background.into(), theme.background.into())
    );
}

#[test]
fn more_memory_is_further_from_the_ground() {
    for theme in [Theme::light(), Theme::dark()] {
        let away: Vec<f64> = (0..=255)
            .map(|level| contrast(shade(&theme, level), theme.background))
            .collect();
        assert!(away[0] > 1.05, "{away:?}");
        // Colours are rounded.
        assert!(
            away.windows(2).all(|pair| pair[1] > pair[0] - 0.02),
            "{away:?}"
        );
        assert!(away[255] > 7.0);
    }
}

#[test]
fn names_keep_their_distance() {
    let layout = Layout::of(&fleet(vec![rank(0, Some(0), &[1; 90])]), look(Along::Clock));
    let names = |rows: u32, height_px| {
        let frame = Frame::of(&layout, rows, (height_px, 1.0), |row| format!("r{row}"));
        let names = frame.names.iter().take(3).map(|(_, name)| name.clone());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(8, 600), "r0 r1 r2");
    assert_eq!(names(1_000, 600), "r0 r50 r100");
    assert_eq!(names(1_000, 0), "r0");
    assert_eq!(names(0, 600), "");
    let frame = Frame::of(&layout, 4, (80, 1.0), |row| format!("r{row}"));
    let area = Area {
        x_px: 72,
        y_px: 20,
        width_px: 400,
        height_px: 80,
    };
    let mut scene = Scene::default();
    draw(&mut scene, &area, &frame, &Style::new(&Theme::light(), 1.0));
    insta::assert_snapshot!(scene);
}

fn any_rank() -> impl Strategy<Value = Rank> {
    let levels = proptest::collection::vec(0..50_u16, 0..6);
    (0..40_i64, 1..60_u64, levels, 0..60_u32, any::<bool>()).prop_map(
        |(start, length, levels, at, fails)| {
            let mut rank = rank(0, Some(start), &levels);
            rank.curve.length = length;
            rank.peak_time_us = Some(start + i64::from(at / 2));
            let failure = Failure {
                time_us: Some(start + i64::from(at)),
                ..Failure::default()
            };
            rank.failures = fails.then_some(failure).into_iter().collect();
            rank
        },
    )
}

proptest! {
    #[test]
    fn pixels_are_as_the_obvious_way(
        ranks in proptest::collection::vec(any_rank(), 1..9), width in 1..70_u32, height in 1..30_u32, scale in 1..3_u32,
        turn in any::<usize>(), along in prop_oneof![Just(Along::Clock), Just(Along::Start)],
    ) {
        let mut order: Vec<u32> = (0..ranks.len() as u32).collect();
        order.rotate_left(turn % ranks.len());
        let layout = Layout::of(&fleet(ranks), look(along));
        let (size, theme) = (Size { width_px: width, height_px: height, scale }, Theme::light());
        let rgba = pixels(&layout, &order, size, &theme);
        for (place, pixel) in (0..).zip(rgba.chunks(4)) {
            let at = (place % width, place / width);
            let [r, g, b] = reference::pixel(&layout, &order, size, &theme, at);
            prop_assert_eq!(pixel, [r, g, b, 255], "at {:?}", at);
        }
    }

    #[test]
    fn every_row_is_on_a_line_that_its_span_has(rows in 1..200_u32, height in 1..200_u32) {
        for row in 0..rows {
            let (top, bottom) = row_span(row, rows, height);
            prop_assert!(top < bottom && bottom <= height);
            for y in 0..height {
                let is_on = rows_at(y, rows as usize, height).contains(&(row as usize));
                prop_assert_eq!(is_on, (top..bottom).contains(&y), "row {} at {}", row, y);
            }
        }
    }

    #[test]
    fn a_hit_is_what_is_drawn(
        ranks in proptest::collection::vec(any_rank(), 1..9), width in 1..70_u32, height in 1..30_u32,
    ) {
        let order: Vec<u32> = (0..ranks.len() as u32).collect();
        let layout = Layout::of(&fleet(ranks), look(Along::Clock));
        let (size, theme) = (size(width, height), Theme::light());
        let rgba = pixels(&layout, &order, size, &theme);
        for (place, pixel) in (0..).zip(rgba.chunks(4)) {
            let at = (place % width, place / width);
            let Some(Hit { bytes, mark: None, .. }) = hit(&layout, &order, size, at) else { continue };
            let expected = bytes.map_or(theme.background, |bytes| shade(&theme, layout.level(bytes)));
            prop_assert!(pixel[..3] == expected || pixel[..3] == theme.background, "at {:?}", at);
        }
    }
}
