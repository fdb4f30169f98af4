//! Lines over a picture: reserved memory, also as replayed with other settings, private pools, the device's capacity, rulers and failed
//! allocations.

use vramscope_core::analysis::time::markers::MarkerKind;
use vramscope_core::units::Bytes;

use crate::axes::XUnit;
use crate::colour::{Rgb, ordinal_colour};
use crate::decorations::{Decorations, PoolEnvelope};
use crate::reserved::Curve;
use crate::ruler::Ruler;
use crate::scene::{Across, Area, Down, Ink, Point, Scene, Style};
use crate::steps::steps;
use crate::viewport::Viewport;

/// Font size of the labels, css px.
const FONT_CSS: f64 = 11.0;
/// Font size of the label at a failed allocation, css px.
const OOM_CSS: f64 = 10.0;
/// The label of a failure this close to the right edge pushes other labels to the left, css px.
const NEAR_CSS: f64 = 90.0;
/// Width of the line of reserved memory, css px.
const RESERVED_CSS: f64 = 1.5;
/// Opacity of the fill of a pool's envelope.
const POOL_OPACITY: f64 = 0.22;

/// The lines over a picture.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    /// Curves and marks, computed for the visible range or for an earlier one.
    pub decorations: Option<&'a Decorations>,
    /// The device's capacity; `None` if it is not drawn.
    pub capacity_bytes: Option<u64>,
    /// All rulers, including the one being drawn.
    pub rulers: &'a [Ruler],
    /// The visible part of the data, as large as the picture in device px.
    pub view: Viewport,
    /// The unit of the x axis.
    pub unit: XUnit,
    /// Whether to draw a label and an arrow at failed allocations. The page draws them as elements,
    /// which can be hovered.
    pub has_failures: bool,
}

impl Lines<'_> {
    /// Draws the lines over a picture that fills `area`.
    pub fn draw(&self, scene: &mut Scene, area: &Area, style: &Style<'_>) {
        let canvas = Canvas {
            lines: self,
            area,
            style,
        };
        scene.clipped(area, |scene| canvas.draw(scene));
        if self.has_failures {
            // Not clipped, because at the end of a recording half of the arrow lies beside the
            // picture.
            canvas.draw_failures(scene);
        }
    }
}

/// Lines with the area and style they are drawn with.
struct Canvas<'a> {
    lines: &'a Lines<'a>,
    area: &'a Area,
    style: &'a Style<'a>,
}

impl Canvas<'_> {
    fn draw(&self, scene: &mut Scene) {
        let theme = self.style.theme;
        if let Some(decorations) = self.lines.decorations {
            for pool in &decorations.pools {
                self.draw_pool(scene, &decorations.reserved, pool);
            }
            if let Some(&first) = decorations.replayed.bytes.first() {
                let line = self.steps(&decorations.replayed, &decorations.replayed.bytes);
                scene.line(line, self.css(RESERVED_CSS), theme.accent);
                let place = (Across::Left, 0.0);
                self.words(scene, "reserved, replayed", first, theme.accent, place);
            }
            if let Some(&last) = decorations.reserved.bytes.last() {
                let line = self.steps(&decorations.reserved, &decorations.reserved.bytes);
                scene.line(line, self.css(RESERVED_CSS), theme.reserved);
                let taken_px = self.taken_px(decorations);
                let place = (Across::Right, taken_px);
                self.words(scene, "reserved", last, theme.reserved, place);
            }
        }
        if let Some(bytes) = self.lines.capacity_bytes {
            self.draw_capacity(scene, bytes);
        }
        for ruler in self.lines.rulers {
            self.draw_ruler(scene, ruler);
        }
    }

    /// A length in css px as device px.
    fn css(&self, css: f64) -> f64 {
        css * self.style.pixel_ratio
    }

    fn x(&self, x: f64) -> f64 {
        self.area.origin().0 + self.lines.view.x_px(x)
    }

    fn y(&self, bytes: f64) -> f64 {
        self.area.origin().1 + self.lines.view.y_px(bytes)
    }

    /// The step curve of one of a curve's columns of values, from left to right.
    fn steps(&self, curve: &Curve, values: &[u64]) -> Vec<Point> {
        let width = (curve.x_max - curve.x_min) / values.len().max(1) as f64;
        let x = |column: usize| self.x(curve.x_min + width * column as f64);
        steps(values, x, |bytes| self.y(bytes as f64))
    }

    fn draw_capacity(&self, scene: &mut Scene, bytes: u64) {
        let colour = self.style.theme.capacity;
        let ((left, top), (width, _)) = (self.area.origin(), self.area.size());
        let y = top + self.lines.view.y_px(bytes as f64).round();
        let thick = self.style.pixel_ratio.round().max(1.0);
        scene.rect((left, y), (left + width, y + thick), colour);
        let words = format!("capacity {}", Bytes(bytes));
        // On the left, because most failures are at the end of a recording.
        self.words(scene, &words, bytes, colour, (Across::Left, 0.0));
    }

    /// Writes a label above a line, at its left or right end, `taken_px` from there; nothing if the
    /// line is out of sight.
    fn words(
        &self,
        scene: &mut Scene,
        words: &str,
        bytes: u64,
        colour: Rgb,
        (side, taken_px): (Across, f64),
    ) {
        let y = self.lines.view.y_px(bytes as f64);
        let ((left, top), (width, height)) = (self.area.origin(), self.area.size());
        if !(0.0..=height).contains(&y) {
            return;
        }
        let (edge, dy) = if y < self.css(16.0) {
            (Down::Top, self.css(3.0))
        } else {
            (Down::Bottom, self.css(-2.0))
        };
        let air = taken_px + self.css(4.0);
        let x = match side {
            Across::Left => left + air,
            _ => left + width - air,
        };
        let letters = self.style.letters(FONT_CSS, colour, (side, edge));
        scene.text((x, top + y + dy), words, letters);
    }

    fn draw_pool(&self, scene: &mut Scene, curve: &Curve, pool: &PoolEnvelope) {
        let mut outline = self.steps(curve, &pool.envelope.high_bytes);
        outline.extend(
            self.steps(curve, &pool.envelope.low_bytes)
                .into_iter()
                .rev(),
        );
        if outline.is_empty() {
            return;
        }
        let colour = ordinal_colour(self.style.theme, pool.ordinal);
        scene.polygon(outline.clone(), Ink::faint(colour, POOL_OPACITY));
        scene.outline(outline, self.css(1.0), colour);
        self.name_pool(scene, pool);
    }

    /// Writes the pool's name at the right end of its envelope, if that is high enough.
    fn name_pool(&self, scene: &mut Scene, pool: &PoolEnvelope) {
        let ((left, top), (width, _)) = (self.area.origin(), self.area.size());
        let name = pool.text();
        let name_px = self.style.width_px(&name, FONT_CSS, false) + self.css(12.0);
        let place = pool
            .envelope
            .label_y_px(&self.lines.view, name_px, self.css(15.0));
        let Some(middle) = place.filter(|_| name_px < width) else {
            return;
        };
        let text = self.style.theme.text;
        let letters = self
            .style
            .letters(FONT_CSS, text, (Across::Right, Down::Middle));
        scene.text((left + width - self.css(4.0), top + middle), name, letters);
    }

    fn draw_ruler(&self, scene: &mut Scene, ruler: &Ruler) {
        let theme = self.style.theme;
        let (x0, x1) = (self.x(ruler.x.0), self.x(ruler.x.1));
        let (y0, y1) = (self.y(ruler.bytes.0), self.y(ruler.bytes.1));
        let (from, to) = ((x0.min(x1), y0.min(y1)), (x0.max(x1), y0.max(y1)));
        let thick = self.css(1.0);
        scene.rect(from, to, Ink::faint(theme.accent, 0.08));
        scene.frame(from, to, thick, theme.accent);
        let (bytes, along) = ruler.words(self.lines.unit);
        let text = format!("{bytes} · {along}");
        let width = self.style.width_px(&text, FONT_CSS, false) + self.css(10.0);
        let height = self.css(18.0);
        // At the end that moves, but inside the picture.
        let ((x, y), room) = (self.area.origin(), self.area.size());
        let left = (x1 - x + self.css(6.0)).clamp(0.0, (room.0 - width).max(0.0)) + x;
        let top = (y1 - y - height - self.css(6.0)).clamp(0.0, (room.1 - height).max(0.0)) + y;
        let corner = (left + width, top + height);
        scene.rect((left, top), corner, theme.background);
        scene.frame((left, top), corner, thick, theme.accent);
        let letters = self
            .style
            .letters(FONT_CSS, theme.text, (Across::Left, Down::Middle));
        let at = (left + self.css(5.0), top + height / 2.0 + thick);
        scene.text(at, text, letters);
    }

    /// How far other labels must stay from the right edge because of the last failure's label.
    fn taken_px(&self, decorations: &Decorations) -> f64 {
        let mut marks = decorations
            .marks
            .iter()
            .rev()
            .filter(|_| self.lines.has_failures);
        let Some(last) = marks.find(|mark| mark.kind == MarkerKind::Oom) else {
            return 0.0;
        };
        let half = self.half_failure_px();
        let width = self.area.size().0;
        let x = self.lines.view.x_px(last.x).min(width - half);
        Some(width - x + half)
            .filter(|taken| *taken < self.css(NEAR_CSS))
            .unwrap_or(0.0)
    }

    /// Half the width of a failure's label, with padding.
    fn half_failure_px(&self) -> f64 {
        let half = self.style.width_px("OOM", OOM_CSS, true) / 2.0 + self.css(2.0);
        half.ceil()
    }

    /// Draws a label and an arrow where allocations failed. Labels that would overlap an earlier
    /// one are left out.
    fn draw_failures(&self, scene: &mut Scene) {
        let theme = self.style.theme;
        let half_word = self.half_failure_px();
        let px = |css: f64| f64::from(self.style.px(css));
        let ((left, top), (width, _)) = (self.area.origin(), self.area.size());
        let (half, bottom) = (px(4.0), top + px(13.0));
        let mut free_from = f64::NEG_INFINITY;
        let marks = self
            .lines
            .decorations
            .iter()
            .flat_map(|decorations| &decorations.marks);
        for mark in marks.filter(|mark| mark.kind == MarkerKind::Oom) {
            let x = left + self.lines.view.x_px(mark.x).clamp(0.0, width).round();
            // Moved to the left at the end of a recording, where there is no room on the right.
            let middle = x.min(left + width - half_word).max(left + half_word);
            if middle - half_word < free_from {
                continue;
            }
            free_from = middle + half_word;
            let ground = (
                (middle - half_word, top),
                (middle + half_word, bottom - px(1.0)),
            );
            scene.rect(ground.0, ground.1, Ink::faint(theme.background, 0.75));
            let letters = self
                .style
                .letters(OOM_CSS, theme.growth, (Across::Middle, Down::Top));
            scene.text((middle, top + px(1.0)), "OOM", letters.bold());
            let arrow = vec![(x - half, bottom), (x + half, bottom), (x, bottom + half)];
            scene.polygon(arrow, theme.growth);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::Mark;
    use crate::reserved::Envelope;
    use crate::theme::Theme;

    const AREA: Area = Area {
        x_px: 10,
        y_px: 20,
        width_px: 400,
        height_px: 100,
    };
    const VIEW: Viewport = Viewport {
        x_min: 0.0,
        x_max: 4.0,
        y_min_bytes: 0.0,
        y_max_bytes: 1_000.0,
        width_px: 400,
        height_px: 100,
    };

    fn oom(x: f64) -> Mark {
        Mark {
            kind: MarkerKind::Oom,
            x,
            x_last: x,
            moment: 0,
            last_moment: 0,
            count: 1,
            bytes: 1,
        }
    }

    fn decorations() -> Decorations {
        let pool = PoolEnvelope {
            pool: "Smaller private pools".to_owned(),
            stream_number: 1,
            ordinal: 2,
            envelope: Envelope {
                low_bytes: vec![100, 100, 200, 200],
                high_bytes: vec![300, 300, 300, 500],
            },
        };
        Decorations {
            marks: vec![oom(1.0), oom(1.01), oom(4.0)],
            reserved: Curve {
                x_min: 0.0,
                x_max: 4.0,
                bytes: vec![500, 500, 800, 800],
            },
            replayed: Curve {
                x_min: 0.0,
                x_max: 4.0,
                bytes: vec![400, 500, 600, 600],
            },
            pools: vec![pool],
            ..Decorations::default()
        }
    }

    fn scene(has_failures: bool, ratio: f64) -> Scene {
        let ruler = Ruler {
            x: (1.0, 3.0),
            bytes: (100.0, 600.0),
        };
        let decorations = decorations();
        let lines = Lines {
            decorations: Some(&decorations),
            capacity_bytes: Some(990),
            rulers: &[ruler],
            view: VIEW,
            unit: XUnit::Events,
            has_failures,
        };
        let mut scene = Scene::default();
        lines.draw(&mut scene, &AREA, &Style::new(&Theme::light(), ratio));
        scene
    }

    #[test]
    fn lines_over_the_page() {
        insta::assert_snapshot!(scene(false, 1.0));
    }

    #[test]
    fn lines_over_a_plot_make_room_for_failures() {
        insta::assert_snapshot!(scene(true, 2.0));
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let decorations = Decorations::default();
        let lines = Lines {
            decorations: Some(&decorations),
            capacity_bytes: None,
            rulers: &[],
            view: VIEW,
            unit: XUnit::Time,
            has_failures: true,
        };
        let mut scene = Scene::default();
        lines.draw(&mut scene, &AREA, &Style::new(&Theme::dark(), 1.0));
        assert_eq!(scene.to_string(), "within 10,20 400x100\n");
    }
}
