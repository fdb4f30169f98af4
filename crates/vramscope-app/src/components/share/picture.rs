//! Saving the visible view as a picture.

use vramscope_protocol::ThemeName;
use wasm_bindgen::JsValue;
use yew::UseReducerHandle;

use crate::browser::download;
use crate::components::commands::Commands;
use crate::engine::Session;
use crate::saving::{SVG_TYPE, save_png, svg_of};
use crate::state::State;
use crate::state::saved::Saved;
use vramscope_view::plot::views::Sheet;

/// The part of the page that is saved.
const PICTURED: &str = "main > .view";

/// Pixels of a PNG per CSS px at least, so that text is legible in a document.
const LEAST_RATIO: f64 = 2.0;

/// The visible view, and the workers that draw it.
#[derive(Clone)]
pub(super) struct Seen {
    pub(super) state: UseReducerHandle<State>,
    pub(super) theme: ThemeName,
    /// The worker of the shown file.
    pub(super) session: Session,
    pub(super) commands: Commands,
}

impl Seen {
    /// Offers the view as an SVG file.
    pub(super) fn save_svg(&self, name: String) {
        self.draw(screen_ratio(), move |drawn| {
            if let Some((svg, _)) = drawn {
                download::save(&name, SVG_TYPE, &svg);
            }
        });
    }

    /// Offers the view as a PNG file. Calls `done` with whether that worked.
    pub(super) fn save_png(&self, name: String, done: impl FnOnce(bool) + 'static) {
        let ratio = screen_ratio().max(LEAST_RATIO);
        self.draw(ratio, move |drawn| match drawn {
            Some((svg, missing_ratio)) => save_png(&svg, missing_ratio, name, done),
            None => done(false),
        });
    }

    /// Calls `take` with the SVG, and with the pixels per px of it that make `pixel_ratio` pixels per CSS px;
    /// with `None` if there is no picture.
    fn draw(&self, pixel_ratio: f64, take: impl FnOnce(Option<(JsValue, f64)>) + 'static) {
        let sheet = sheet(pixel_ratio, self.theme);
        let wanted = sheet.and_then(|sheet| Saved::of(&self.state, sheet));
        let drawn = |is_answered: bool, svg: JsValue| is_answered.then_some((svg, 1.0));
        match wanted {
            Some(Saved::View(question)) => self.session.ask_once(question, move |answer, svg| {
                take(drawn(answer.is_some(), svg));
            }),
            Some(Saved::Comparison(id, question)) => match self.commands.session.emit(id) {
                Some(session) => {
                    let session = session.within(self.state.search.pool().as_deref());
                    session.ask_once(question, move |answer, svg| {
                        take(drawn(answer.is_some(), svg));
                    });
                }
                None => take(None),
            },
            None => take(svg_of(PICTURED).map(|svg| (svg.into(), pixel_ratio))),
        }
    }
}

fn screen_ratio() -> f64 {
    gloo::utils::window().device_pixel_ratio()
}

/// A sheet of the size of the view.
fn sheet(pixel_ratio: f64, theme: ThemeName) -> Option<Sheet> {
    let part = gloo::utils::document().query_selector(PICTURED).ok()??;
    let place = part.get_bounding_client_rect();
    let px = |css: f64| (css * pixel_ratio).round() as u32;
    let sheet = Sheet {
        width_px: px(place.width()),
        height_px: px(place.height()),
        is_flexible: true,
        pixel_ratio,
        theme,
    };
    Some(sheet.clamped())
}
