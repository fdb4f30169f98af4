//! A file's pictures over the x axis on the screen: which picture is wanted, which bitmaps are
//! available, and what the worker is asked.

mod versions;

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use vramscope_protocol::{
    BandLabels, BandLabelsOf, Bounds, DrawRequest, DrawnFrame, Hit, HitOf, OutlineColumns,
    OutlineOf, Thing, Viewport,
};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::ImageBitmap;
use yew::Callback;

use super::labels::Labels;
use super::overlay::{Overlay, Shown};
use super::painter::{add_scene, emptied};
use super::picture::{Picture, Pictures};
use super::ticks::draw_ticks;
use super::{BoxCss, Canvases, PlotArea};
use crate::browser::{clock, frame};
use crate::engine::{Asker, Session};

/// The User Timing mark set after every finished frame.
const PAINTED: &str = "vramscope:painted";

/// A file's picture over the x axis on the screen. Cheap to clone; equal if the same. Drawing ends
/// when the last clone is dropped.
#[derive(Clone)]
pub struct TimelineCanvas {
    inner: Rc<Inner>,
}

impl PartialEq for TimelineCanvas {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.inner, &other.inner)
    }
}

struct Inner {
    askers: Askers,
    /// `None` until they are in the document.
    canvases: RefCell<Option<Canvases>>,
    on_hit: Callback<Hit>,
    own: Weak<Inner>,
    state: RefCell<State>,
    /// Whether the next animation frame will draw.
    is_scheduled: Cell<bool>,
}

/// One asker per kind of question, so that a question supersedes only older ones of its kind.
struct Askers {
    picture: Asker,
    labels: Asker,
    hit: Asker,
    hover: Asker,
    pin: Asker,
}

/// One of the two outlines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outlined {
    /// Around what is under the pointer.
    Hovered,
    Pinned,
}

#[derive(Default)]
struct State {
    area: PlotArea,
    wanted: Option<(DrawRequest, Bounds)>,
    pictures: Pictures,
    /// The picture being drawn by the worker. It gets one request at a time, so that the next one
    /// is always the newest.
    drawing: Option<DrawRequest>,
    /// The picture that the worker could not draw; it is not requested again before another one.
    refused: Option<DrawRequest>,
    labels: Labels,
    /// Number of pictures received so far.
    pictures_drawn: u32,
    /// Number of the last sharp picture that was marked.
    marked: u32,
    pointer: Option<(f64, f64)>,
    is_moving: bool,
    /// A clicked position that the worker is still to be asked about.
    clicked: Option<HitOf>,
    /// Whether the worker is being asked about a position, and whether the pointer has moved since.
    is_hitting: bool,
    is_hit_stale: bool,
    hovered: Option<Thing>,
    pinned: Option<Thing>,
    hover_outline: Option<OutlineColumns>,
    pin_outline: Option<OutlineColumns>,
    selection: Option<BoxCss>,
    overlay_shows: Shown,
    /// What the picture's canvas shows now, so that a mouse move does not redraw it.
    picture_shows: Option<(PlotArea, DrawRequest)>,
    /// What it showed last, be it out of date.
    last_shown: Option<(PlotArea, DrawRequest)>,
}

impl TimelineCanvas {
    /// Shows the pictures of `session`, once it has canvases. `on_hit` is called with what is
    /// under the pointer or was clicked; the hover outline follows without it.
    #[must_use]
    pub fn new(session: &Session, on_hit: Callback<Hit>) -> Self {
        let askers = Askers {
            picture: session.asker(),
            labels: session.asker(),
            hit: session.asker(),
            hover: session.asker(),
            pin: session.asker(),
        };
        let inner = Rc::new_cyclic(|own: &Weak<Inner>| Inner {
            askers,
            canvases: RefCell::default(),
            on_hit,
            own: own.clone(),
            state: RefCell::default(),
            is_scheduled: Cell::new(false),
        });
        Self { inner }
    }

    /// Draws on these canvases from now on.
    pub fn attach(&self, canvases: Canvases) {
        self.inner.canvases.replace(Some(canvases));
    }

    /// Sets the size of the box. Must be called after [`attach`](Self::attach) and before [`show`](Self::show), and on
    /// every change.
    pub fn resize(&self, area: PlotArea) {
        if self.inner.state.borrow().area == area {
            return;
        }
        let (width, height) = area.box_px();
        if let Some(canvases) = &*self.inner.canvases.borrow() {
            for canvas in [&canvases.picture, &canvases.overlay] {
                // Setting a size clears a canvas, even if the size stays the same.
                if canvas.width() != width || canvas.height() != height {
                    canvas.set_width(width);
                    canvas.set_height(height);
                }
            }
        }
        {
            let state = &mut *self.inner.state.borrow_mut();
            state.area = area;
            state.picture_shows = None;
        }
        self.inner.schedule();
    }

    /// Shows a picture. Its viewport must have the size [`PlotArea::size_px`]; `bounds` are those
    /// of the whole axis. Must be called on every change of viewport, axis, device, colours or
    /// theme. Returns at once.
    pub fn show(&self, draw: DrawRequest, bounds: Bounds) {
        {
            let state = &mut *self.inner.state.borrow_mut();
            if let Some((before, of)) = &state.wanted
                && (before, *of) == (&draw, bounds)
            {
                return;
            }
            state.pictures.keep_only(&draw.look);
            if state.wanted.as_ref().is_none_or(|(before, _)| {
                (before.look.device, before.look.picture) != (draw.look.device, draw.look.picture)
            }) {
                state.hovered = None;
                state.hover_outline = None;
            }
            if state.is_other_version(&draw) {
                // Its number means another thing now. Its outline stays until what is there is known.
                state.hovered = None;
            }
            state.wanted = Some((draw, bounds));
        }
        self.inner.ask_for_picture();
        self.inner.schedule();
    }

    /// Says whether the picture moves. Then this must be called in an animation frame, which shows it, and the worker is
    /// not asked what is under the mouse.
    pub fn set_moving(&self, is_moving: bool) {
        let was_moving = std::mem::replace(&mut self.inner.state.borrow_mut().is_moving, is_moving);
        if is_moving {
            self.inner.present_scheduled();
        } else if was_moving {
            self.inner.ask_what_is_there();
        }
    }

    /// Sets the mouse's position in the box (css px), `None` outside. Moves the crosshair and asks
    /// the worker what is there.
    pub fn point(&self, at_css: Option<(f64, f64)>) {
        {
            let state = &mut *self.inner.state.borrow_mut();
            state.pointer = at_css;
            if at_css.is_none() {
                state.hovered = None;
                state.hover_outline = None;
            }
        }
        self.inner.ask_what_is_there();
        self.inner.schedule();
    }

    /// Outlines what is under the mouse in another picture beside this one.
    pub fn echo(&self, thing: Option<Thing>) {
        {
            let state = &mut *self.inner.state.borrow_mut();
            if state.pointer.is_some() || state.hovered == thing {
                return;
            }
            state.hovered = thing;
            state.hover_outline = None;
        }
        self.inner.ask_for_outline(Outlined::Hovered);
        self.inner.schedule();
    }

    /// Asks what is at a position (device px) of a picture, wherever the mouse moves meanwhile.
    pub fn click(&self, draw: DrawRequest, at_px: (f64, f64)) {
        self.inner.state.borrow_mut().clicked = Some(HitOf { draw, at_px });
        self.inner.ask_what_is_there();
    }

    /// Outlines what is pinned, two px wide; `None` removes the outline.
    pub fn pin(&self, thing: Option<Thing>) {
        {
            let state = &mut *self.inner.state.borrow_mut();
            state.pinned = thing;
            let outline = state.pin_outline.take();
            // That of another version stays until the new one is known.
            state.pin_outline =
                outline.filter(|outline| thing.is_some() && state.is_other_version(&outline.draw));
        }
        self.inner.ask_for_outline(Outlined::Pinned);
        self.inner.schedule();
    }

    /// Shows the box that the user is drawing; `None` removes it.
    pub fn select(&self, selection: Option<BoxCss>) {
        self.inner.state.borrow_mut().selection = selection;
        self.inner.schedule();
    }
}

impl Inner {
    /// Takes the answer to a request for a picture; `None` if the worker could not draw it.
    fn drawn(&self, frame: Option<DrawnFrame>, bitmap: JsValue) {
        let bitmap = bitmap.dyn_into::<ImageBitmap>().ok();
        let is_shown = match frame.zip(bitmap) {
            Some((frame, bitmap)) => self.state.borrow_mut().take(frame, bitmap),
            None => {
                let state = &mut *self.state.borrow_mut();
                state.refused = state.drawing.take();
                false
            }
        };
        self.ask_for_labels();
        self.ask_for_picture();
        if is_shown {
            for which in [Outlined::Hovered, Outlined::Pinned] {
                self.ask_for_outline(which);
            }
            self.schedule();
        }
    }

    fn labelled(&self, draw: DrawRequest, labels: BandLabels) {
        {
            let state = &mut *self.state.borrow_mut();
            state.labels.take(draw, labels);
            state.picture_shows = None;
        }
        self.schedule();
    }

    fn outline(&self, which: Outlined, outline: OutlineColumns) {
        {
            let state = &mut *self.state.borrow_mut();
            let (shown, slot) = match which {
                Outlined::Hovered => (state.hovered, &mut state.hover_outline),
                Outlined::Pinned => (state.pinned, &mut state.pin_outline),
            };
            if shown != Some(outline.thing) {
                return;
            }
            *slot = Some(outline);
        }
        self.schedule();
    }

    fn hit(&self, hit: Option<Hit>) {
        if let Some(hit) = &hit {
            let state = &mut *self.state.borrow_mut();
            // A row of another device is another allocation. An answer for an older viewport is
            // still useful: its outline is shown until the answer for the new one arrives.
            let is_elsewhere = state.wanted.as_ref().is_none_or(|(wanted, _)| {
                let (look, asked) = (&wanted.look, &hit.draw.look);
                (look.device, look.picture) != (asked.device, asked.picture)
            });
            let hovered = match &hit.on {
                _ if state.pointer.is_none() || is_elsewhere => None,
                on => on.thing(),
            };
            if hovered != state.hovered {
                state.hovered = hovered;
                state.hover_outline = None;
            }
        }
        self.state.borrow_mut().is_hitting = false;
        self.ask_for_outline(Outlined::Hovered);
        if self.state.borrow().is_hit_stale {
            self.ask_what_is_there();
        }
        self.schedule();
        if let Some(hit) = hit {
            self.on_hit.emit(hit);
        }
    }

    /// Requests the next picture, unless it is available or being drawn.
    fn ask_for_picture(&self) {
        let mut state = self.state.borrow_mut();
        let Some(draw) = state
            .missing()
            .filter(|draw| state.refused.as_ref() != Some(draw))
        else {
            return;
        };
        state.drawing = Some(draw.clone());
        drop(state);
        let own = self.own.clone();
        self.askers.picture.ask(draw, move |frame, bitmap| {
            if let Some(inner) = own.upgrade() {
                inner.drawn(frame, bitmap);
            }
        });
    }

    /// Requests the texts in the bands of the sharp picture. Before the background of that: the worker still has its
    /// frame.
    fn ask_for_labels(&self) {
        let Some(asked) = self.state.borrow_mut().ask_for_labels() else {
            return;
        };
        let (own, draw) = (self.own.clone(), asked.draw.clone());
        self.askers.labels.ask(asked, move |labels, _| {
            if let Some(inner) = own.upgrade() {
                let none = |view| BandLabels {
                    view,
                    labels: Vec::new(),
                };
                inner.labelled(draw.clone(), labels.unwrap_or_else(|| none(draw.viewport)));
            }
        });
    }

    fn ask_what_is_there(&self) {
        let mut state = self.state.borrow_mut();
        let Some((wanted, _)) = &state.wanted else {
            return;
        };
        let pointer = state.pointer.filter(|_| !state.is_moving);
        let hovered = pointer.map(|at| HitOf {
            draw: wanted.clone(),
            at_px: state.area.to_px(at),
        });
        let Some(question) = state.clicked.clone().or(hovered) else {
            return;
        };
        state.is_hit_stale = state.is_hitting;
        if state.is_hit_stale {
            return;
        }
        // After a click, ask next about where the mouse has moved to.
        state.is_hit_stale = state.clicked.take().is_some();
        state.is_hitting = true;
        drop(state);
        let own = self.own.clone();
        self.askers.hit.ask(question, move |hit, _| {
            if let Some(inner) = own.upgrade() {
                inner.hit(hit);
            }
        });
    }

    fn ask_for_outline(&self, which: Outlined) {
        let Some(question) = self.state.borrow().missing_outline(which) else {
            return;
        };
        let asker = match which {
            Outlined::Hovered => &self.askers.hover,
            Outlined::Pinned => &self.askers.pin,
        };
        let own = self.own.clone();
        asker.ask(question, move |outline, _| {
            if let (Some(inner), Some(outline)) = (own.upgrade(), outline) {
                inner.outline(which, outline);
            }
        });
    }

    /// Draws in the next animation frame.
    fn schedule(&self) {
        if self.is_scheduled.replace(true) {
            return;
        }
        let own = self.own.clone();
        clock::next_frame(move |_| {
            if let Some(inner) = own.upgrade() {
                inner.present_scheduled();
            }
        });
    }

    fn present_scheduled(&self) {
        if self.is_scheduled.replace(false) {
            self.present();
        }
    }

    fn present(&self) {
        let state = &mut *self.state.borrow_mut();
        let Some((wanted, _)) = state.wanted.clone() else {
            return;
        };
        let canvases = self.canvases.borrow();
        let Some(Canvases { picture, overlay }) = &*canvases else {
            return;
        };
        // The first picture comes sooner than axes could be shown without it.
        if state.pictures_drawn == 0 && state.drawing.is_some() {
            return;
        }
        // The last version of the file stays until this one is drawn, with its texts.
        if state.awaits_version(&wanted) {
            return;
        }
        let area = state.area;
        let (left, top) = area.origin_px();
        let shown = Some((area, wanted.clone()));
        if state.picture_shows != shown
            && let Some(context) = emptied(picture, area.box_px())
        {
            state.last_shown = shown.clone();
            state.picture_shows = shown;
            context.set_image_smoothing_enabled(false);
            state
                .pictures
                .present(&context, &wanted, (f64::from(left), f64::from(top)));
            // They are drawn after the bitmaps, as these clear what is below them.
            let _ = context.set_global_composite_operation("destination-over");
            add_scene(&context, &area, wanted.look.theme, |scene, style| {
                draw_ticks(scene, &area, &wanted, style);
            });
            let _ = context.set_global_composite_operation("source-over");
            state.labels.draw(&context, &area, &wanted);
        }
        // The style sheet shows "Drawing…" over a picture that has nothing yet.
        let _ = picture.toggle_attribute_with_force("data-drawn", !state.pictures.is_empty());
        let floating = Overlay {
            // What is under the pointer is known again when the picture rests.
            hover: state.hover_outline.as_ref().filter(|_| !state.is_moving),
            pin: state.pin_outline.as_ref(),
            pointer: state.pointer,
            selection: state.selection,
        };
        let shown = floating.shown(area, wanted.look.theme);
        // Each canvas that is drawn on costs time, without a GPU most.
        if (shown == Shown::Outlines || shown != state.overlay_shows)
            && let Some(context) = emptied(overlay, area.box_px())
        {
            floating.draw(&context, &area, &wanted);
            state.overlay_shows = shown;
        }
        state.mark(&wanted);
    }
}

impl State {
    /// Stores a picture; returns whether it has the wanted device and colours.
    fn take(&mut self, frame: DrawnFrame, bitmap: ImageBitmap) -> bool {
        (self.drawing, self.refused) = (None, None);
        self.pictures_drawn += 1;
        let picture = Picture {
            frame,
            bitmap,
            number: self.pictures_drawn,
        };
        let drawn = picture.draw();
        let wanted = self.wanted.as_ref();
        let Some((wanted, bounds)) = wanted.filter(|(wanted, _)| wanted.look == drawn.look) else {
            // Colours or device have changed since it was requested.
            return false;
        };
        let is_whole = shows_all(&drawn.viewport, bounds);
        // A picture of the whole range that was requested as background must not hide a sharper
        // one.
        let is_shown = drawn == wanted || !is_whole || self.pictures.is_empty();
        self.pictures.take(picture, is_whole, is_shown);
        self.picture_shows = None;
        true
    }

    /// The next picture to request: the wanted one, then the whole range as its background.
    fn missing(&self) -> Option<DrawRequest> {
        let (wanted, bounds) = self.wanted.as_ref()?;
        if self.drawing.is_some() {
            return None;
        }
        if self.pictures.sharp(wanted).is_none() {
            return Some(wanted.clone());
        }
        let Viewport {
            width_px,
            height_px,
            ..
        } = wanted.viewport;
        (!self.pictures.has_whole(&wanted.look)).then(|| DrawRequest {
            look: wanted.look.clone(),
            viewport: Viewport::fit_all(bounds, width_px, height_px),
        })
    }

    fn ask_for_labels(&mut self) -> Option<BandLabelsOf> {
        let (draw, _) = self.wanted.as_ref()?;
        let sharp = self.pictures.sharp(draw)?;
        self.labels.ask(sharp.draw(), self.area.pixel_ratio)
    }

    /// The outline to request, unless it is available.
    fn missing_outline(&self, which: Outlined) -> Option<OutlineOf> {
        let (draw, _) = self.wanted.as_ref()?;
        let (thing, known) = match which {
            Outlined::Hovered => (self.hovered?, &self.hover_outline),
            Outlined::Pinned => (self.pinned?, &self.pin_outline),
        };
        if known.as_ref().is_some_and(|known| known.draw == *draw) {
            return None;
        }
        // Finding a band takes a pass over all below it. While the view moves, the available
        // outline is stretched with the picture; a new one is requested once the sharp picture is
        // there.
        if self.pictures.sharp(draw).is_none() && self.refused.as_ref() != Some(draw) {
            return None;
        }
        let draw = draw.clone();
        Some(OutlineOf { draw, thing })
    }

    /// Sets a User Timing mark the first time that a sharp picture is drawn.
    fn mark(&mut self, wanted: &DrawRequest) {
        let Some(sharp) = self.pictures.sharp(wanted) else {
            return;
        };
        let (frame, number) = (&sharp.frame, sharp.number);
        if number == self.marked {
            return;
        }
        let detail = [
            ("view", view_name(wanted.look.picture).into()),
            ("events", frame.events.into()),
            ("allocations", frame.allocations.into()),
            ("request", number.into()),
            ("version", wanted.look.version.into()),
            ("sharp", true.into()),
            ("drawMs", frame.draw_ms.into()),
        ];
        clock::mark_with(PAINTED, &detail);
        self.marked = number;
        frame::uncover_soon();
    }
}

/// The name of a picture's view, as [`ViewKind::name`](crate::state::ViewKind::name).
fn view_name(picture: vramscope_protocol::Picture) -> &'static str {
    use vramscope_protocol::Picture;
    match picture {
        Picture::Timeline => "timeline",
        Picture::Segments => "segments",
        Picture::Map => "map",
        Picture::Packing => "what-if",
    }
}

/// Whether the viewport shows everything.
fn shows_all(viewport: &Viewport, bounds: &Bounds) -> bool {
    viewport.x_min <= 0.0
        && viewport.x_max >= bounds.x_end
        && viewport.y_min_bytes <= 0.0
        && viewport.y_max_bytes >= bounds.y_end_bytes
}
