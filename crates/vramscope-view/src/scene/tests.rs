//! Scenes as text and as SVG; shapes as pixels, compared with their exact coverage.

use super::*;

fn letters() -> Letters {
    Style::new(&Theme::light(), 1.0).letters(11.0, [1, 2, 3], (Across::Right, Down::Middle))
}

fn everything() -> Scene {
    let mut scene = Scene::default();
    scene.rect((1.0, 2.0), (11.5, 4.0), [255, 0, 16]);
    scene.line(vec![(0.0, 0.0), (3.0, 0.0), (3.0, 4.25)], 1.5, [0; 3]);
    let area = Area {
        x_px: 5,
        y_px: 6,
        width_px: 7,
        height_px: 8,
    };
    scene.clipped(&area, |scene| {
        let corners = vec![(-0.001, 0.0), (3.333_3, 0.0), (3.0, 4.0)];
        scene.polygon(corners.clone(), Ink::faint([9; 3], 0.25));
        scene.outline(corners, 1.0, [9; 3]);
    });
    scene.text((2.0, 3.0), "a \"<b>\" & \u{202e}c\u{1}", letters().bold());
    scene
}

#[test]
fn a_scene_is_text() {
    insta::assert_snapshot!(everything());
}

#[test]
fn a_scene_is_an_svg() {
    insta::assert_snapshot!(everything().to_svg((20, 30), "sans-serif"));
}

#[test]
fn a_point_that_repeats_is_written_once() {
    let mut scene = Scene::default();
    scene.line(vec![(0.0, 0.0), (0.001, 0.0), (3.0, 4.0)], 1.0, [0; 3]);
    let svg = scene.to_svg((9, 9), "");
    assert!(svg.contains("points=\"0,0 3,4 \""), "{svg}");
}

#[cfg(feature = "font")]
mod pixels {
    use proptest::prelude::*;

    use super::super::pixels::Pixmap;
    use super::*;

    const SIDE: u32 = 24;

    /// The coverage of each pixel by a white scene on black, 0 to 255.
    fn covered(scene: &Scene) -> Vec<u8> {
        let mut rgb = vec![0; (SIDE * SIDE * 3) as usize];
        Pixmap::new(&mut rgb, (SIDE, SIDE)).draw(scene);
        rgb.chunks_exact(3).map(|pixel| pixel[0]).collect()
    }

    #[test]
    fn lines_of_whole_pixels_fill_pixels() {
        let mut scene = Scene::default();
        let points = vec![(2.0, 3.0), (10.0, 3.0), (10.0, 9.0)];
        scene.line(points, 1.0, [255; 3]);
        for (at, covered) in covered(&scene).into_iter().enumerate() {
            let (x, y) = (at as u32 % SIDE, at as u32 / SIDE);
            let is_on = (y == 3 && (3..=10).contains(&x)) || (x == 10 && (3..9).contains(&y));
            // The line is half a pixel longer at both ends.
            let is_end = (x, y) == (2, 3) || (x, y) == (10, 9);
            let expected = if is_on { 255 } else { 0 };
            assert!(is_end || covered == expected, "{x},{y}: {covered}");
        }
    }

    #[test]
    fn nothing_is_drawn_beside_a_clip() {
        let area = Area {
            x_px: 4,
            y_px: 5,
            width_px: 6,
            height_px: 7,
        };
        let mut scene = Scene::default();
        scene.clipped(&area, |scene| {
            scene.rect((-9.0, -9.0), (99.0, 99.0), [255; 3])
        });
        for (at, covered) in covered(&scene).into_iter().enumerate() {
            let (x, y) = (at as u32 % SIDE, at as u32 / SIDE);
            let is_inside = (4..10).contains(&x) && (5..12).contains(&y);
            assert_eq!(covered, if is_inside { 255 } else { 0 }, "{x},{y}");
        }
    }

    /// The share of a pixel inside a convex polygon, by sampling points.
    fn share(corners: &[Point], x: u32, y: u32) -> f64 {
        const POINTS: u32 = 16;
        let is_inside = |point: Point| {
            let ends = corners.iter().zip(corners.iter().cycle().skip(1));
            let mut turns = ends
                .map(|(a, b)| (b.0 - a.0) * (point.1 - a.1) - (b.1 - a.1) * (point.0 - a.0) >= 0.0);
            let first = turns.next();
            turns.all(|turn| Some(turn) == first)
        };
        let at = |place: u32, pixel: u32| {
            f64::from(pixel) + (f64::from(place) + 0.5) / f64::from(POINTS)
        };
        let points =
            (0..POINTS * POINTS).map(|place| (at(place % POINTS, x), at(place / POINTS, y)));
        points.filter(|&point| is_inside(point)).count() as f64 / f64::from(POINTS * POINTS)
    }

    proptest! {
        #[test]
        fn triangles_cover_what_lies_in_them(
            corners in prop::collection::vec((-10.0..34.0, -10.0..34.0), 3),
        ) {
            let mut scene = Scene::default();
            scene.polygon(corners.clone(), [255; 3]);
            for (at, covered) in covered(&scene).into_iter().enumerate() {
                let expected = share(&corners, at as u32 % SIDE, at as u32 / SIDE);
                let drawn = f64::from(covered) / 255.0;
                prop_assert!((drawn - expected).abs() < 0.13, "{} {}: {} {}", at as u32 % SIDE, at as u32 / SIDE, drawn, expected);
            }
        }

        #[test]
        fn nothing_panics(
            points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..5), width in any::<f64>(), closed in any::<bool>(),
        ) {
            let mut scene = Scene::default();
            if closed {
                scene.outline(points.clone(), width, [255; 3]);
            } else {
                scene.line(points.clone(), width, [255; 3]);
            }
            scene.polygon(points, [255; 3]);
            let _ = (covered(&scene), scene.to_svg((9, 9), ""));
        }
    }
}
