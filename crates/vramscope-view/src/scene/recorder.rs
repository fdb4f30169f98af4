//! A backend of plotters that draws into scenes.

use std::convert::Infallible;

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::{Drawable, PointCollection};
use plotters::prelude::IntoDrawingArea;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    FontStyle,
};

use super::{Across, Command, Down, Ink, Letters, Point, Scene};

/// Charts have no edges, so this size exceeds every picture.
const ENDLESS_PX: u32 = 1 << 30;

pub(crate) struct Recorder<'a>(&'a mut Scene);

/// A drawing area for plotters' elements.
pub(crate) struct Chart<'a>(DrawingArea<Recorder<'a>, Shift>);

impl Scene {
    /// A drawing area on this scene, with the same coordinates.
    pub(crate) fn chart(&mut self) -> Chart<'_> {
        Chart(Recorder(self).into_drawing_area())
    }
}

impl<'s> Chart<'s> {
    pub(crate) fn draw<'e, E>(&self, element: &'e E)
    where
        &'e E: PointCollection<'e, (i32, i32)>,
        E: Drawable<Recorder<'s>>,
    {
        // Recording cannot fail.
        let _ = self.0.draw(element);
    }
}

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

fn ink(colour: BackendColor) -> Ink {
    let (r, g, b) = colour.rgb;
    Ink::faint([r, g, b], colour.alpha)
}

fn point((x, y): BackendCoord) -> Point {
    (f64::from(x), f64::from(y))
}

impl DrawingBackend for Recorder<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        (ENDLESS_PX, ENDLESS_PX)
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, colour: BackendColor) -> Drawn {
        self.0
            .rect(point((x, y)), point((x + 1, y + 1)), ink(colour));
        Ok(())
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Drawn {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let (from, to, colour) = (point(upper_left), point(bottom_right), ink(style.color()));
        if fill {
            self.0.rect(from, to, colour);
        } else {
            self.0
                .frame(from, to, f64::from(style.stroke_width()), colour);
        }
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        let points = path.into_iter().map(point).collect();
        let width_px = f64::from(style.stroke_width());
        self.0.line(points, width_px, ink(style.color()));
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        let points = path.into_iter().map(point).collect();
        self.0.polygon(points, ink(style.color()));
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        centre: BackendCoord,
        radius: u32,
        style: &S,
        _fill: bool,
    ) -> Drawn {
        self.0.commands.push(Command::Circle {
            at: point(centre),
            radius_px: f64::from(radius),
            ink: ink(style.color()),
        });
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: BackendCoord) -> Drawn {
        let across = match style.anchor().h_pos {
            HPos::Left => Across::Left,
            HPos::Center => Across::Middle,
            HPos::Right => Across::Right,
        };
        let down = match style.anchor().v_pos {
            VPos::Top => Down::Top,
            VPos::Center => Down::Middle,
            VPos::Bottom => Down::Bottom,
        };
        let letters = Letters {
            size_px: style.size(),
            is_bold: matches!(style.style(), FontStyle::Bold),
            ink: ink(style.color()),
            anchor: (across, down),
        };
        self.0.text(point(at), text, letters);
        Ok(())
    }
}
