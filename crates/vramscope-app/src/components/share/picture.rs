//! Saving the visible view as a picture.

use vramscope_protocol::ThemeName;
use wasm_bindgen::JsValue;
use yew::UseReducerHandle;

use crate::browser::png::SVG_TYPE;
use crate::browser::{download, png};
use crate::components::commands::Commands;
use crate::engine::Session;
use crate::state::State;
use crate::state::saved::Saved;
use vramscope_view::plot::views::Sheet;

/// The part of the page that has the view.
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
    /// Whether the view is a picture, not a table or text.
    pub(super) fn is_picture(&self) -> bool {
        self.question(1.0).is_some()
    }

    /// Offers the view as an SVG file.
    pub(super) fn save_svg(&self, name: String) {
        self.draw(screen_ratio(), move |svg| {
            if let Some(svg) = svg {
                download::save(&name, SVG_TYPE, &svg);
            }
        });
    }

    /// Offers the view as a PNG file. Calls `done` with whether that worked.
    pub(super) fn save_png(&self, name: String, done: impl FnOnce(bool) + 'static) {
        self.draw(screen_ratio().max(LEAST_RATIO), move |svg| {
            wasm_bindgen_futures::spawn_local(async move {
                let blob = match svg {
                    Some(svg) => png::of_svg(&svg).await.ok(),
                    None => None,
                };
                if let Some(blob) = &blob {
                    download::save_blob(&name, blob);
                }
                done(blob.is_some());
            });
        });
    }

    fn question(&self, pixel_ratio: f64) -> Option<Saved> {
        Saved::of(&self.state, sheet(pixel_ratio, self.theme)?)
    }

    /// Calls `take` with the SVG, with so many pixels per CSS px; with `None` if there is no picture.
    fn draw(&self, pixel_ratio: f64, take: impl FnOnce(Option<JsValue>) + 'static) {
        match self.question(pixel_ratio) {
            Some(Saved::View(question)) => self.session.ask_once(question, move |answer, svg| {
                take(answer.map(|_| svg));
            }),
            Some(Saved::Comparison(id, question)) => match self.commands.session.emit(id) {
                Some(session) => {
                    let session = session.within(self.state.search.pool().as_deref());
                    session.ask_once(question, move |answer, svg| take(answer.map(|_| svg)));
                }
                None => take(None),
            },
            None => take(None),
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
