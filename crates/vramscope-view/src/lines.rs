//! Lines over a picture: reserved memory, also as replayed with other settings, private pools, the driver's own pools, the
//! device's capacity, rulers and failed allocations.

use vramscope_core::analysis::time::markers::MarkerKind;
use vramscope_core::units::Bytes;

use crate::axes::XUnit;
use crate::colour::{Rgb, ordinal_colour};
use crate::decorations::Decorations;
use crate::line_labels::{End, Room};
use crate::reserved::{Curve, Envelope};
use crate::ruler::Ruler;
use crate::scene::{Across, Area, Down, Ink, Point, Scene, Style};
use crate::steps::steps;
use crate::viewport::Viewport;

/// Font size of the labels, css px.
const FONT_CSS: f64 = 11.0;
/// Font size of the label at a failed allocation, css px.
const OOM_CSS: f64 = 10.0;
/// Height of a line's label, css px.
const LABEL_CSS: f64 = 13.0;
/// Height of the label and the arrow above a picture with failed allocations, css px.
pub const FAILURE_CSS: f64 = 16.0;
/// Width of the line of reserved memory, css px.
const RESERVED_CSS: f64 = 1.5;
/// Opacity of the fill of a pool's envelope.
const POOL_OPACITY: f64 = 0.22;

/// The lines over a picture.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    /// Curves and marks, computed for the visible range or for an earlier one.
    pub decorations: Option<&'a Decorations>,
    /// The device's capacity; `None` to omit it.
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
            // Not clipped, because they are above the picture, where no line is.
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

/// A line with its label.
struct Named {
    points: Vec<Point>,
    width_css: f64,
    words: String,
    colour: Rgb,
    /// The end that its label is close to.
    end: End,
}

/// An envelope with its name.
struct Pool<'a> {
    envelope: &'a Envelope,
    name: String,
    colour: Rgb,
    /// The upper and the lower edge, from left to right.
    edges: [Vec<Point>; 2],
}

impl Canvas<'_> {
    fn draw(&self, scene: &mut Scene) {
        let named = self.named();
        let pools = self.pools();
        let lines = named.iter().map(|line| &line.points);
        let lines = lines
            .chain(pools.iter().flat_map(|pool| &pool.edges))
            .cloned();
        let ((left, top), (width, height)) = (self.area.origin(), self.area.size());
        let picture = ((left, top), (left + width, top + height));
        let mut room = Room::new(picture, lines.collect(), self.style.pixel_ratio);
        for pool in &pools {
            self.draw_pool(scene, &mut room, pool);
        }
        for line in &named {
            scene.line(line.points.clone(), self.css(line.width_css), line.colour);
        }
        for (number, line) in named.iter().enumerate() {
            self.name(scene, &mut room, (number, line));
        }
        for ruler in self.lines.rulers {
            self.draw_ruler(scene, ruler);
        }
    }

    /// The lines with a label. Later ones are drawn over earlier ones.
    fn named(&self) -> Vec<Named> {
        let theme = self.style.theme;
        let mut named = Vec::new();
        let mut curve = |curve: &Curve, words: &str, colour, end| {
            if !curve.bytes.is_empty() {
                let (points, words) = (self.steps(curve, &curve.bytes), words.to_owned());
                named.push(Named {
                    points,
                    width_css: RESERVED_CSS,
                    words,
                    colour,
                    end,
                });
            }
        };
        if let Some(decorations) = self.lines.decorations {
            let Decorations {
                replayed,
                reserved,
                driver,
                ..
            } = decorations;
            curve(&driver.used, "pools, used", theme.muted_text, End::Left);
            curve(
                &driver.reserved,
                "pools, reserved",
                theme.muted_text,
                End::Left,
            );
            curve(replayed, "reserved, replayed", theme.accent, End::Left);
            curve(reserved, "reserved", theme.reserved, End::Right);
        }
        if let Some(bytes) = self.lines.capacity_bytes {
            let (left, width) = (self.area.origin().0, self.area.size().0);
            // The line fills whole rows of px.
            let y = self.y(bytes as f64).round() + self.style.pixel_ratio.round().max(1.0) / 2.0;
            named.push(Named {
                points: vec![(left, y), (left + width, y)],
                width_css: 1.0,
                words: format!("capacity {}", Bytes(bytes)),
                colour: theme.capacity,
                end: End::Left,
            });
        }
        named
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

    /// The step curve of `values`, which are columns of `curve`, from left to right.
    fn steps(&self, curve: &Curve, values: &[u64]) -> Vec<Point> {
        let width = (curve.x_max - curve.x_min) / values.len().max(1) as f64;
        let x = |column: usize| self.x(curve.x_min + width * column as f64);
        steps(values, x, |bytes| self.y(bytes as f64))
    }

    /// Writes a line's label where there is room, on a background that makes it legible.
    fn name(&self, scene: &mut Scene, room: &mut Room, (number, line): (usize, &Named)) {
        let width = self.style.width_px(&line.words, FONT_CSS, false) + self.css(2.0);
        let height = self.css(LABEL_CSS);
        let Some((x, y)) = room.beside(number, (width, height), line.end) else {
            return;
        };
        let paper = Ink::faint(self.style.theme.background, 0.75);
        scene.rect((x, y), (x + width, y + height), paper);
        let middle = (Across::Left, Down::Middle);
        let letters = self.style.letters(FONT_CSS, line.colour, middle);
        let at = (x + self.css(1.0), y + height / 2.0);
        scene.text(at, line.words.as_str(), letters);
    }

    /// The envelopes of private pools, and of memory in no known segment.
    fn pools(&self) -> Vec<Pool<'_>> {
        let theme = self.style.theme;
        let Some(all) = self.lines.decorations else {
            return Vec::new();
        };
        let mut pools = Vec::new();
        for pool in &all.pools {
            let colour = ordinal_colour(theme, pool.ordinal);
            pools.push(self.pool(all, &pool.envelope, pool.text(), colour));
        }
        let unplaced = "pools, unplaced".to_owned();
        pools.push(self.pool(all, &all.driver.unplaced, unplaced, theme.unknown));
        pools
    }

    fn pool<'b>(
        &self,
        all: &Decorations,
        envelope: &'b Envelope,
        name: String,
        colour: Rgb,
    ) -> Pool<'b> {
        let edges = [&envelope.high_bytes, &envelope.low_bytes];
        Pool {
            envelope,
            name,
            colour,
            edges: edges.map(|edge| self.steps(&all.reserved, edge)),
        }
    }

    fn draw_pool(&self, scene: &mut Scene, room: &mut Room, pool: &Pool<'_>) {
        let [high, low] = &pool.edges;
        let outline: Vec<Point> = high.iter().chain(low.iter().rev()).copied().collect();
        if outline.is_empty() {
            return;
        }
        scene.polygon(outline.clone(), Ink::faint(pool.colour, POOL_OPACITY));
        scene.outline(outline, self.css(1.0), pool.colour);
        self.name_pool(scene, room, pool);
    }

    /// Writes the pool's name in its envelope, as far right as the envelope is high enough.
    fn name_pool(&self, scene: &mut Scene, room: &mut Room, pool: &Pool<'_>) {
        let ((left, top), (width, _)) = (self.area.origin(), self.area.size());
        let name = pool.name.as_str();
        let name_px = self.style.width_px(name, FONT_CSS, false) + self.css(12.0);
        let half_px = self.css(LABEL_CSS) / 2.0;
        let place = pool
            .envelope
            .label_px(&self.lines.view, name_px, self.css(15.0));
        let Some((end, middle)) = place.filter(|_| name_px < width) else {
            return;
        };
        let text = self.style.theme.text;
        let letters = self
            .style
            .letters(FONT_CSS, text, (Across::Right, Down::Middle));
        let (right, y) = (left + end.min(width), top + middle);
        room.take(((right - name_px, y - half_px), (right, y + half_px)));
        scene.text((right - self.css(4.0), y), name, letters);
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
        // At the end being moved, but inside the picture.
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

    /// Half the width of a failure's label, with padding.
    fn half_failure_px(&self) -> f64 {
        let half = self.style.width_px("OOM", OOM_CSS, true) / 2.0 + self.css(2.0);
        half.ceil()
    }

    /// Draws a label and an arrow above failed allocations. Labels that would overlap an earlier one are left out.
    fn draw_failures(&self, scene: &mut Scene) {
        let theme = self.style.theme;
        let half_word = self.half_failure_px();
        let px = |css: f64| f64::from(self.style.px(css));
        let ((left, bottom), (width, _)) = (self.area.origin(), self.area.size());
        let (half, top) = (px(4.0), bottom - px(FAILURE_CSS));
        let mut free_from = f64::NEG_INFINITY;
        let marks = self
            .lines
            .decorations
            .iter()
            .flat_map(|decorations| &decorations.marks);
        for mark in marks.filter(|mark| mark.kind == MarkerKind::Oom) {
            let x = left + self.lines.view.x_px(mark.x).clamp(0.0, width).round();
            // Shifted left at the end of a recording, where there is no room on the right.
            let middle = x.min(left + width - half_word).max(left + half_word);
            if middle - half_word < free_from {
                continue;
            }
            free_from = middle + half_word;
            let letters = self
                .style
                .letters(OOM_CSS, theme.growth, (Across::Middle, Down::Top));
            scene.text((middle, top + px(1.0)), "OOM", letters.bold());
            let arrow = vec![
                (x - half, bottom - half),
                (x + half, bottom - half),
                (x, bottom),
            ];
            scene.polygon(arrow, theme.growth);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decorations::{DriverPools, PoolEnvelope};
    use crate::marks::Mark;
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
            stream: "stream 1".to_owned(),
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
    fn pools_of_a_driver_have_curves_and_what_is_not_placed() {
        let curve = |bytes: [u64; 4]| Curve {
            x_min: 0.0,
            x_max: 4.0,
            bytes: bytes.to_vec(),
        };
        let decorations = Decorations {
            reserved: curve([300, 300, 600, 600]),
            driver: DriverPools {
                reserved: curve([200, 200, 500, 500]),
                used: curve([100, 50, 50, 400]),
                unplaced: Envelope {
                    low_bytes: vec![300, 300, 600, 600],
                    high_bytes: vec![300, 300, 900, 900],
                },
            },
            ..Decorations::default()
        };
        let lines = Lines {
            decorations: Some(&decorations),
            capacity_bytes: None,
            rulers: &[],
            view: VIEW,
            unit: XUnit::Events,
            has_failures: false,
        };
        let mut scene = Scene::default();
        lines.draw(&mut scene, &AREA, &Style::new(&Theme::light(), 1.0));
        insta::assert_snapshot!(scene);
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
