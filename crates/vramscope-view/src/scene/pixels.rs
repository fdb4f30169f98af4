//! Draws scenes as pixels, for PNG files.
//!
//! Row by row, each edge of a shape adds how much of every pixel lies right of it. Summed up from
//! the left, this is each pixel's coverage by the shape. Plotters' own bitmap backend is not used,
//! because it supports neither fractions of pixels nor our font.

use vramscope_core::sorting::SortFew;

use super::{Area, Command, Ink, Point, Scene, glyphs};

/// Miters longer than this many times half the line's width are cut off, as in SVG.
const MOST_MITER: f64 = 4.0;
/// Corners of the polygon that stands for a circle.
const CORNERS: u32 = 48;

/// A picture of three bytes per pixel, the top row first.
pub(crate) struct Pixmap<'a> {
    rgb: &'a mut [u8],
    width_px: usize,
    /// The area that may be drawn on: left, top, right, bottom.
    clip: [i32; 4],
}

impl<'a> Pixmap<'a> {
    pub(crate) fn new(rgb: &'a mut [u8], (width_px, height_px): (u32, u32)) -> Self {
        Self {
            rgb,
            width_px: width_px as usize,
            clip: [0, 0, width_px as i32, height_px as i32],
        }
    }

    pub(crate) fn draw(&mut self, scene: &Scene) {
        for command in &scene.commands {
            self.command(command);
        }
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Rect { at, size, ink } => {
                let ((left, top), (right, bottom)) = (*at, (at.0 + size.0, at.1 + size.1));
                if right > left && bottom > top {
                    let corners = vec![(left, top), (right, top), (right, bottom), (left, bottom)];
                    self.fill(&[corners], *ink);
                }
            }
            Command::Line {
                points,
                is_closed,
                width_px,
                ink,
            } => {
                self.fill(&stroke(points, *is_closed, *width_px), *ink);
            }
            Command::Polygon { points, ink } => self.fill(std::slice::from_ref(points), *ink),
            Command::Circle { at, radius_px, ink } => {
                let corner = |corner: u32| {
                    let turn = std::f64::consts::TAU * f64::from(corner) / f64::from(CORNERS);
                    let (sin, cos) = turn.sin_cos();
                    (at.0 + radius_px * cos, at.1 + radius_px * sin)
                };
                self.fill(&[(0..CORNERS).map(corner).collect()], *ink);
            }
            Command::Text { at, text, letters } => {
                glyphs::draw(text, *at, letters, |x_px, y_px, covered| {
                    self.mix(x_px, y_px, letters.ink, covered);
                });
            }
            Command::Clipped { area, scene } => {
                let outer = self.clip;
                self.clip = within(outer, area);
                self.draw(scene);
                self.clip = outer;
            }
        }
    }

    /// Blends a colour into a pixel by its coverage, if the pixel is within the clip.
    fn mix(&mut self, x_px: i32, y_px: i32, ink: Ink, covered: f64) {
        let [left, top, right, bottom] = self.clip;
        if x_px < left || x_px >= right || y_px < top || y_px >= bottom {
            return;
        }
        let at = (y_px as usize * self.width_px + x_px as usize) * 3;
        let alpha = ink.opacity * covered;
        for (below, above) in self.rgb.iter_mut().skip(at).take(3).zip(ink.rgb) {
            let mixed = f64::from(*below) * (1.0 - alpha) + f64::from(above) * alpha;
            *below = (mixed + 0.5) as u8;
        }
    }

    /// Fills the union of polygons: pixels covered by several are filled once.
    fn fill(&mut self, polygons: &[Vec<Point>], ink: Ink) {
        let [left, top, right, bottom] = self.clip;
        if left >= right || top >= bottom {
            return;
        }
        let mut edges: Vec<Edge> = polygons.iter().flat_map(|corners| edges(corners)).collect();
        edges.sort_few_by(|a, b| a.top.1.total_cmp(&b.top.1));
        let lowest = edges
            .iter()
            .map(|edge| edge.bottom.1)
            .fold(f64::NEG_INFINITY, f64::max);
        let first = edges
            .first()
            .map_or(bottom, |edge| edge.top.1.floor() as i32);
        let mut row = Row::new(left, right);
        let (mut next, mut touching) = (0, Vec::new());
        for y_px in first.max(top)..(lowest.ceil() as i32).min(bottom) {
            let (from, to) = (f64::from(y_px), f64::from(y_px) + 1.0);
            while let Some(edge) = edges.get(next).filter(|edge| edge.top.1 < to) {
                touching.push(*edge);
                next += 1;
            }
            touching.retain(|edge| edge.bottom.1 > from);
            for edge in &touching {
                row.add(edge, from, to);
            }
            row.finish(|x_px, covered| self.mix(x_px, y_px, ink, covered));
        }
    }
}

fn within([left, top, right, bottom]: [i32; 4], area: &Area) -> [i32; 4] {
    [
        left.max(area.x_px),
        top.max(area.y_px),
        right.min(area.right_px()),
        bottom.min(area.bottom_px()),
    ]
}

/// A non-horizontal edge, from its upper to its lower end.
#[derive(Clone, Copy)]
struct Edge {
    top: Point,
    bottom: Point,
    /// 1 if the outline runs down the edge, -1 if it runs up.
    sign: f64,
}

fn edges(corners: &[Point]) -> impl Iterator<Item = Edge> + '_ {
    let ends = corners.iter().zip(corners.iter().cycle().skip(1));
    ends.filter_map(|(&from, &to)| {
        let is_known = [from.0, from.1, to.0, to.1].iter().all(|px| px.is_finite());
        let (top, bottom, sign) = if from.1 < to.1 {
            (from, to, 1.0)
        } else {
            (to, from, -1.0)
        };
        (is_known && top.1 < bottom.1).then_some(Edge { top, bottom, sign })
    })
}

/// Changes of coverage from pixel to pixel in one row.
struct Row {
    left: i32,
    changes: Vec<f64>,
}

impl Row {
    fn new(left: i32, right: i32) -> Self {
        let pixels = (right - left).max(0) as usize;
        Self {
            left,
            // Changes may be one pixel after the last.
            changes: vec![0.0; pixels + 2],
        }
    }

    /// Adds the part of an edge between two heights.
    fn add(&mut self, edge: &Edge, from: f64, to: f64) {
        let (upper, lower) = (edge.top.1.max(from), edge.bottom.1.min(to));
        let slope = (edge.bottom.0 - edge.top.0) / (edge.bottom.1 - edge.top.1);
        let x = |y: f64| edge.top.0 + slope * (y - edge.top.1) - f64::from(self.left);
        let (a, b) = (x(upper), x(lower));
        let (low, high) = (a.min(b), a.max(b));
        let height = (lower - upper) * edge.sign;
        // Parts left and right of the row count at its ends.
        let most = (self.changes.len() - 2) as f64;
        let inside = (low.clamp(0.0, most), high.clamp(0.0, most));
        let share = |from: f64, to: f64| {
            let length = (high - low).max(f64::MIN_POSITIVE);
            height * ((to - from) / length).clamp(0.0, 1.0)
        };
        let before = if high <= 0.0 {
            height
        } else {
            share(low, inside.0)
        };
        let behind = if low >= most {
            height
        } else {
            share(inside.1, high)
        };
        self.add_between((0.0, 0.0), before);
        self.add_between(inside, height - before - behind);
        self.add_between((most, most), behind);
    }

    /// Adds a part of an edge that lies within the row.
    fn add_between(&mut self, (low, high): (f64, f64), height: f64) {
        // For pixels under the edge the share to its right; for all further pixels 1.
        let mut before = 0.0;
        for pixel in low as usize..=high as usize {
            let covered = covered_to(pixel as f64 + 1.0, low, high) * height;
            self.changes[pixel] += covered - before;
            before = covered;
        }
        self.changes[high as usize + 1] += height - before;
    }

    /// Calls `mix` with the coverage of each pixel, and clears the row.
    fn finish(&mut self, mut mix: impl FnMut(i32, f64)) {
        let (mut sum, last) = (0.0_f64, self.changes.len() - 2);
        for (pixel, change) in self.changes[..last].iter().enumerate() {
            sum += change;
            let covered = sum.abs().min(1.0);
            if covered > 1.0 / 512.0 {
                mix(self.left + pixel as i32, covered);
            }
        }
        self.changes.fill(0.0);
    }
}

/// The share of the pixel ending at `end` that is to the right of an edge that crosses its row between `low` and `high`.
fn covered_to(end: f64, low: f64, high: f64) -> f64 {
    if high - low < 1e-9 {
        return (end - low).clamp(0.0, 1.0);
    }
    // The area right of the edge, up to `x`.
    let area = |x: f64| {
        let inside = (x.clamp(low, high) - low) / (high - low);
        inside * inside * (high - low) / 2.0 + (x - high).max(0.0)
    };
    area(end) - area(end - 1.0)
}

/// A line as polygons of one orientation: one per segment, and one per bend.
fn stroke(points: &[Point], is_closed: bool, width_px: f64) -> Vec<Vec<Point>> {
    let mut points = points.to_vec();
    points.dedup();
    if is_closed && points.len() > 1 {
        points.push(points[0]);
    }
    // Lines of odd width between whole coordinates fill whole pixels: the coordinates are moved to
    // the pixels' centres.
    let is_whole = |px: f64| px.fract() == 0.0;
    if width_px % 2.0 == 1.0 && points.iter().all(|&(x, y)| is_whole(x) && is_whole(y)) {
        for (x, y) in &mut points {
            (*x, *y) = (*x + 0.5, *y + 0.5);
        }
    }
    let half = width_px / 2.0;
    let sides: Vec<Point> = points
        .windows(2)
        .map(|ends| side(ends[0], ends[1], half))
        .collect();
    let mut polygons: Vec<Vec<Point>> = points
        .windows(2)
        .zip(&sides)
        .map(|(ends, &(dx, dy))| {
            let ((x0, y0), (x1, y1)) = (ends[0], ends[1]);
            vec![
                (x0 + dx, y0 + dy),
                (x1 + dx, y1 + dy),
                (x1 - dx, y1 - dy),
                (x0 - dx, y0 - dy),
            ]
        })
        .collect();
    let bends = points
        .iter()
        .skip(1)
        .zip(sides.iter().zip(sides.iter().skip(1)));
    polygons.extend(bends.filter_map(|(&at, (&a, &b))| bend(at, a, b)));
    if let (true, Some((&first, &last))) = (is_closed, sides.first().zip(sides.last())) {
        polygons.extend(bend(points[0], last, first));
    }
    polygons
}

/// The vector from a line's middle to its left edge.
fn side(from: Point, to: Point, half: f64) -> Point {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(f64::MIN_POSITIVE);
    (dy / length * half, -dx / length * half)
}

/// The polygon that fills the gap on the outside of a bend; `None` without a bend.
fn bend(at: Point, a: Point, b: Point) -> Option<Vec<Point>> {
    let turn = a.0 * b.1 - a.1 * b.0;
    if turn == 0.0 {
        return None;
    }
    // When turning right, the outside is on the left.
    let sign = if turn > 0.0 { 1.0 } else { -1.0 };
    let ((ax, ay), (bx, by)) = ((a.0 * sign, a.1 * sign), (b.0 * sign, b.1 * sign));
    let (mx, my) = (ax + bx, ay + by);
    let reach = 2.0 * (ax * ax + ay * ay) / (mx * mx + my * my);
    let tip = (at.0 + mx * reach, at.1 + my * reach);
    let (a, b) = ((at.0 + ax, at.1 + ay), (at.0 + bx, at.1 + by));
    let is_cut = reach * (mx * mx + my * my).sqrt() > MOST_MITER * ax.hypot(ay);
    let mut corners = if is_cut {
        vec![at, a, b]
    } else {
        vec![at, a, tip, b]
    };
    if sign < 0.0 {
        corners.reverse();
    }
    Some(corners)
}
