//! Draws the header.

use super::{Header, Target};
use crate::decorations::{Decorations, NamedItem};
use crate::lanes::{ItemPosition, LayoutRow, drawn_px, elided, lane_fill};
use crate::marks::{self, Mark, SYMBOL_CSS, TRACK_CSS, track};
use crate::scene::{Across, Area, Down, Scene, Style};
use crate::viewport::Viewport;

/// Font size of labels, css px.
const FONT_CSS: f64 = 11.0;

impl Header {
    /// Draws the header's contents for the visible range of the x axis. `view` must be as wide as
    /// `area`.
    pub fn draw(
        &self,
        scene: &mut Scene,
        area: &Area,
        decorations: &Decorations,
        view: &Viewport,
        hovered: Option<Target>,
        style: &Style<'_>,
    ) {
        let canvas = Canvas {
            header: self,
            area,
            view,
            hovered,
            style,
        };
        scene.clipped(area, |scene| canvas.draw(scene, decorations));
    }
}

/// A header with the area and style it is drawn with.
struct Canvas<'a> {
    header: &'a Header,
    area: &'a Area,
    view: &'a Viewport,
    hovered: Option<Target>,
    style: &'a Style<'a>,
}

impl Canvas<'_> {
    fn draw(&self, scene: &mut Scene, decorations: &Decorations) {
        for row in &self.header.lanes.rows {
            let lane = decorations.lanes.get(row.lane);
            let items = lane.and_then(|lane| lane.rows.get(row.row));
            for (item, range) in items.into_iter().flatten().enumerate() {
                let (lane, row_of_lane) = (row.lane, row.row);
                let place = ItemPosition {
                    lane,
                    row: row_of_lane,
                    item,
                };
                self.draw_item(scene, row, range, self.hovered == Some(Target::Item(place)));
            }
        }
        // Marks are sorted by importance; the most important is drawn last, over the others.
        for (place, mark) in decorations.marks.iter().enumerate().rev() {
            if let Some(top_css) = self.header.tracks[track(mark.kind)] {
                self.draw_mark(
                    scene,
                    mark,
                    top_css,
                    self.hovered == Some(Target::Mark(place)),
                );
            }
        }
    }

    fn draw_item(&self, scene: &mut Scene, row: &LayoutRow, range: &NamedItem, is_hovered: bool) {
        let ratio = self.style.pixel_ratio;
        let (from, to) = drawn_px(&range.item, self.view, ratio);
        let (x, y) = self.area.origin();
        let (left, right) = (x + from, x + to);
        let top = y + (row.top_css * ratio).round();
        let bottom = top + ((row.height_css - 1.0) * ratio).round();
        let (fill, line) = lane_fill(self.style.theme, &range.name, range.colour);
        scene.rect((left, top), (right, bottom), fill);
        let edge = (2.0 * ratio).round().min(to - from);
        if range.item.count > 1 {
            // Several ranges have no common start, so the line runs along the bottom.
            scene.rect((left, bottom - edge), (right, bottom), line);
        } else {
            scene.rect((left, top), (left + edge, bottom), line);
        }
        let text = self.style.theme.text;
        if is_hovered {
            let (from, to) = ((left + 0.5, top + 0.5), (right - 0.5, bottom - 0.5));
            scene.frame(from, to, ratio, text);
        }
        if self.header.lanes.is_folded {
            return;
        }
        // The label stays visible if its range begins left of the picture.
        let (start, end) = (from.max(0.0), to.min(f64::from(self.view.width_px)));
        if let Some(label) = elided(&range.text(), (end - start) / ratio) {
            let middle = f64::midpoint(top, bottom) + 0.5 * ratio;
            let letters = self
                .style
                .letters(FONT_CSS, text, (Across::Left, Down::Middle));
            scene.text((x + start + 5.0 * ratio, middle), label, letters);
        }
    }

    fn draw_mark(&self, scene: &mut Scene, mark: &Mark, top_css: f64, is_hovered: bool) {
        let ratio = self.style.pixel_ratio;
        let (x, y) = self.area.origin();
        let middle = y + (top_css + TRACK_CSS / 2.0) * ratio;
        let grown = if mark.count > 1 || is_hovered {
            1.15
        } else {
            0.85
        };
        let half = SYMBOL_CSS * ratio * grown;
        let colour = if is_hovered {
            self.style.theme.accent
        } else {
            marks::colour(self.style.theme, mark.kind)
        };
        let corners = marks::symbol(mark.kind, (x + self.view.x_px(mark.x), middle), half);
        if marks::is_hollow(mark.kind) {
            scene.outline(corners, ratio.max(1.0), colour);
        } else {
            scene.polygon(corners, colour);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decorations::DecoratedLane;
    use crate::lanes::Item;
    use crate::theme::Theme;
    use vramscope_core::analysis::time::lanes::LaneKind;
    use vramscope_core::analysis::time::markers::MarkerKind;

    const VIEW: Viewport = Viewport {
        x_min: 0.0,
        x_max: 100.0,
        y_min_bytes: 0.0,
        y_max_bytes: 1.0,
        width_px: 200,
        height_px: 1,
    };

    fn item(x: (f64, f64), count: u32, name: &str) -> NamedItem {
        NamedItem {
            item: Item { x, first: 0, count },
            name: name.to_owned(),
            label: name.to_owned(),
            moments: (0, 1),
            is_open: false,
            colour: None,
            about: String::new(),
        }
    }

    fn decorations() -> Decorations {
        let mark = |kind, x, count| Mark {
            kind,
            x,
            x_last: x,
            moment: 0,
            last_moment: 0,
            count,
            bytes: 0,
        };
        Decorations {
            lanes: vec![DecoratedLane {
                kind: LaneKind::Annotations,
                rows: vec![
                    vec![
                        item((-50.0, 60.0), 1, "ProfilerStep#7"),
                        item((60.0, 61.0), 5, ""),
                    ],
                    vec![item((10.0, 20.0), 1, "forward")],
                ],
            }],
            marks: vec![
                mark(MarkerKind::Oom, 50.0, 1),
                mark(MarkerKind::SegmentAlloc, 5.0, 3),
                mark(MarkerKind::SegmentFree, 0.0, 1),
            ],
            ..Decorations::default()
        }
    }

    fn scene(is_folded: bool, hovered: Option<Target>) -> Scene {
        let header = Header::new(&[2], is_folded, [true, true]);
        let area = Area {
            x_px: 72,
            y_px: 0,
            width_px: 200,
            height_px: 70,
        };
        let mut scene = Scene::default();
        let theme = Theme::light();
        let style = Style::new(&theme, 1.0);
        header.draw(&mut scene, &area, &decorations(), &VIEW, hovered, &style);
        scene
    }

    #[test]
    fn ranges_and_marks() {
        insta::assert_snapshot!(scene(false, None));
    }

    #[test]
    fn what_is_hovered_stands_out() {
        let place = ItemPosition {
            lane: 0,
            row: 1,
            item: 0,
        };
        let plain = scene(false, None).to_string();
        for target in [Target::Item(place), Target::Mark(0)] {
            assert_ne!(scene(false, Some(target)).to_string(), plain);
        }
    }

    #[test]
    fn folded_lanes_have_no_labels() {
        assert!(!scene(true, None).to_string().contains("text"));
    }
}
