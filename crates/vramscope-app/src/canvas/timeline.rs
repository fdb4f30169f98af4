//! One file's timeline on the screen: what is wanted, what is at hand, and who is asked.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use super::overlay::Overlay;
use super::picture::Pictures;
use super::{BoxCss, Canvases, PlotArea, axes, context_2d};
use crate::browser::clock;
use crate::engine::{CanvasListener, DrawnBitmap, Session};
use crate::protocol::{
    Bounds, DrawRequest, Hit, OutlineColumns, OutlineSlot, Picture, Reply, Request, RequestId,
    Thing, Viewport,
};

/// The mark left after every finished frame.
const PAINTED: &str = "vramscope:painted";

/// One file's timeline on the screen. Cheap to clone; equal if the same. Nothing is drawn any more once
/// the last clone is gone.
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
    session: Session,
    canvases: Canvases,
    own: Weak<Inner>,
    state: RefCell<State>,
    /// Whether the next animation frame will present.
    is_scheduled: Cell<bool>,
}

#[derive(Default)]
struct State {
    area: PlotArea,
    wanted: Option<(DrawRequest, Bounds)>,
    pictures: Pictures,
    /// The picture that the worker is asked for: it gets one at a time, so that the next is always the
    /// newest.
    drawing: Option<(RequestId, DrawRequest)>,
    /// What the worker could not draw: asked for again only once something else was.
    refused: Option<DrawRequest>,
    /// The last sharp picture that a mark was left for.
    marked: RequestId,
    pointer: Option<(f64, f64)>,
    /// A clicked place (device px of the picture) that the worker is still to be asked about.
    clicked: Option<(DrawRequest, (f64, f64))>,
    /// The place that the worker is asked about, and whether the pointer has moved since.
    hitting: Option<RequestId>,
    is_hit_stale: bool,
    hovered: Option<Thing>,
    pinned: Option<Thing>,
    hover_outline: Option<OutlineColumns>,
    pin_outline: Option<OutlineColumns>,
    selection: Option<BoxCss>,
    /// What the axes and the picture's canvas show: a mouse move needs neither drawn again.
    axes_show: Option<(PlotArea, DrawRequest)>,
    picture_shows: Option<(PlotArea, DrawRequest)>,
}

impl TimelineCanvas {
    /// Shows the pictures of `session` on `canvases` from now on.
    ///
    /// It also hears [`Reply::Hit`] and moves the hover outline by itself.
    #[must_use]
    pub fn new(session: &Session, canvases: Canvases) -> Self {
        let inner = Rc::new_cyclic(|own: &Weak<Inner>| Inner {
            session: session.clone(),
            canvases,
            own: own.clone(),
            state: RefCell::default(),
            is_scheduled: Cell::new(false),
        });
        let own: Weak<Inner> = inner.own.clone();
        session.attach_canvas(own);
        Self { inner }
    }

    /// Says how large the box is. Call it once before [`show`](Self::show) and whenever it changes.
    pub fn resize(&self, area: PlotArea) {
        let (width, height) = area.box_px();
        let Canvases {
            axes,
            picture,
            overlay,
        } = &self.inner.canvases;
        for canvas in [axes, picture, overlay] {
            // Setting a size empties a canvas, even to what it was.
            if canvas.width() != width || canvas.height() != height {
                canvas.set_width(width);
                canvas.set_height(height);
            }
        }
        {
            let state = &mut *self.inner.state.borrow_mut();
            state.area = area;
            (state.axes_show, state.picture_shows) = (None, None);
        }
        self.inner.schedule();
    }

    /// Shows this. Its viewport's size must be [`PlotArea::size_px`]; `bounds` is the whole of the axis.
    /// Call it on every change of viewport, axis, device, colours or theme: it returns at once.
    pub fn show(&self, draw: DrawRequest, bounds: Bounds) {
        {
            let state = &mut *self.inner.state.borrow_mut();
            if state.wanted == Some((draw, bounds)) {
                return;
            }
            state.pictures.keep_only(&draw.look);
            if state.wanted.is_none_or(|(before, _)| {
                (before.look.device, before.look.picture) != (draw.look.device, draw.look.picture)
            }) {
                state.hovered = None;
                state.hover_outline = None;
            }
            state.wanted = Some((draw, bounds));
        }
        self.inner.ask_for_picture();
        self.inner.schedule();
    }

    /// The mouse is at this place of the box (css px), or has left: moves the crosshair and asks the
    /// worker what is there ([`Reply::Hit`] goes to the session's listener).
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

    /// Outlines what the mouse is on in another picture beside this one.
    pub fn echo(&self, thing: Option<Thing>) {
        {
            let state = &mut *self.inner.state.borrow_mut();
            if state.pointer.is_some() || state.hovered == thing {
                return;
            }
            state.hovered = thing;
            state.hover_outline = None;
        }
        self.inner.ask_for_outline(OutlineSlot::Hover);
        self.inner.schedule();
    }

    /// Asks what is at a place (device px) of a picture, whatever the mouse does meanwhile.
    pub fn click(&self, draw: DrawRequest, at_px: (f64, f64)) {
        self.inner.state.borrow_mut().clicked = Some((draw, at_px));
        self.inner.ask_what_is_there();
    }

    /// Outlines what is pinned, two pixels wide, until told otherwise.
    pub fn pin(&self, thing: Option<Thing>) {
        {
            let state = &mut *self.inner.state.borrow_mut();
            state.pinned = thing;
            state.pin_outline = None;
        }
        self.inner.ask_for_outline(OutlineSlot::Pin);
        self.inner.schedule();
    }

    /// Shows the box that the user is drawing.
    pub fn select(&self, selection: Option<BoxCss>) {
        self.inner.state.borrow_mut().selection = selection;
        self.inner.schedule();
    }
}

impl CanvasListener for Inner {
    fn drawn(&self, drawn: DrawnBitmap) -> Option<DrawnBitmap> {
        {
            let state = &mut *self.state.borrow_mut();
            let is_asked = state.is_drawing(drawn.frame.request);
            if is_asked {
                state.drawing = None;
                state.refused = None;
            }
            let wanted = state
                .wanted
                .filter(|(wanted, _)| wanted.look == drawn.frame.draw.look);
            let Some((wanted, bounds)) = wanted else {
                // The colours or the device have changed since, or it is another canvas's.
                if is_asked {
                    self.ask_again();
                }
                return Some(drawn);
            };
            let made = drawn.frame.draw;
            let is_whole = shows_all(&made.viewport, &bounds);
            // A picture of the whole that was asked for as background is not to hide a sharper one.
            let is_shown = made == wanted || !is_whole || state.pictures.is_empty();
            state.pictures.take(drawn, is_whole, is_shown);
            state.picture_shows = None;
        }
        self.ask_again();
        for slot in [OutlineSlot::Hover, OutlineSlot::Pin] {
            self.ask_for_outline(slot);
        }
        self.schedule();
        None
    }

    fn outline(&self, outline: &OutlineColumns) {
        {
            let state = &mut *self.state.borrow_mut();
            let is_here = |(wanted, _): (DrawRequest, Bounds)| {
                wanted.look.picture == outline.draw.look.picture
            };
            if !state.wanted.is_some_and(is_here) {
                return;
            }
            let (shown, slot) = match outline.slot {
                OutlineSlot::Hover => (state.hovered, &mut state.hover_outline),
                OutlineSlot::Pin => (state.pinned, &mut state.pin_outline),
            };
            if shown != Some(outline.thing) {
                return;
            }
            *slot = Some(outline.clone());
        }
        self.schedule();
    }

    fn other(&self, reply: &Reply) {
        match reply {
            Reply::Hit(hit) => self.hit(hit),
            Reply::NotDrawn { request } => {
                let state = &mut *self.state.borrow_mut();
                if state.is_drawing(*request) {
                    state.refused = state.drawing.take().map(|(_, draw)| draw);
                }
                self.ask_again();
            }
            _ => {}
        }
    }
}

impl Inner {
    fn hit(&self, hit: &Hit) {
        {
            let state = &mut *self.state.borrow_mut();
            if state
                .hitting
                .take_if(|asked| *asked == hit.request)
                .is_none()
            {
                // Another canvas has asked.
                return;
            }
            // A row of another device is another allocation; of an older view the outline still stands for
            // what moves away under the pointer, until the answer for the new one comes.
            let is_elsewhere = state.wanted.is_none_or(|(wanted, _)| {
                let (look, asked) = (wanted.look, hit.draw.look);
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
        self.ask_for_outline(OutlineSlot::Hover);
        if self.state.borrow().is_hit_stale {
            self.ask_what_is_there();
        }
        self.schedule();
    }

    /// Asks for what is wanted, unless it is there or being drawn.
    fn ask_for_picture(&self) {
        let mut state = self.state.borrow_mut();
        let Some((wanted, bounds)) = state.wanted else {
            return;
        };
        if state.drawing.is_some() {
            return;
        }
        let draw = if state.pictures.sharp(&wanted).is_none() {
            wanted
        } else if state.pictures.has_whole(&wanted.look) {
            return;
        } else {
            let (width_px, height_px) = (wanted.viewport.width_px, wanted.viewport.height_px);
            DrawRequest {
                viewport: Viewport::fit_all(&bounds, width_px, height_px),
                ..wanted
            }
        };
        if state.refused == Some(draw) {
            return;
        }
        let request = self.session.next_request();
        state.drawing = Some((request, draw));
        drop(state);
        self.session.ask(&Request::Draw { request, draw });
    }

    fn ask_again(&self) {
        // The caller may hold the state; the answer to the next question comes later in any case.
        let own = self.own.clone();
        clock::soon(move || {
            if let Some(inner) = own.upgrade() {
                inner.ask_for_picture();
            }
        });
    }

    fn ask_what_is_there(&self) {
        let mut state = self.state.borrow_mut();
        let Some((wanted, _)) = state.wanted else {
            return;
        };
        let hovered = state.pointer.map(|at| (wanted, state.area.to_px(at)));
        let Some((draw, (x_px, y_px))) = state.clicked.or(hovered) else {
            return;
        };
        state.is_hit_stale = state.hitting.is_some();
        if state.is_hit_stale {
            return;
        }
        // After a click, what the mouse has moved to since is asked next.
        state.is_hit_stale = state.clicked.take().is_some();
        let request = self.session.next_request();
        state.hitting = Some(request);
        drop(state);
        self.session.ask(&Request::Hit {
            request,
            draw,
            x_px,
            y_px,
        });
    }

    fn ask_for_outline(&self, slot: OutlineSlot) {
        let (thing, draw) = {
            let state = self.state.borrow();
            let Some((draw, _)) = state.wanted else {
                return;
            };
            let (thing, known) = match slot {
                OutlineSlot::Hover => (state.hovered, &state.hover_outline),
                OutlineSlot::Pin => (state.pinned, &state.pin_outline),
            };
            let Some(thing) = thing else { return };
            if known.as_ref().is_some_and(|known| known.draw == draw) {
                return;
            }
            // A band is found by going past all below it. While the view moves, the outline at hand is
            // stretched with the picture; the next one is asked for when the sharp picture is there.
            if state.pictures.sharp(&draw).is_none() && state.refused != Some(draw) {
                return;
            }
            (thing, draw)
        };
        self.session.ask(&Request::Outline { slot, draw, thing });
    }

    /// Presents in the next animation frame.
    fn schedule(&self) {
        if self.is_scheduled.replace(true) {
            return;
        }
        let own = self.own.clone();
        clock::next_frame(move |_| {
            if let Some(inner) = own.upgrade() {
                inner.is_scheduled.set(false);
                inner.present();
            }
        });
    }

    fn present(&self) {
        let state = &mut *self.state.borrow_mut();
        let Some((wanted, _)) = state.wanted else {
            return;
        };
        let area = state.area;
        let (left, top) = area.origin_px();
        let cleared = |canvas: &HtmlCanvasElement| -> Option<CanvasRenderingContext2d> {
            let context = context_2d(canvas)?;
            context.clear_rect(
                0.0,
                0.0,
                f64::from(canvas.width()),
                f64::from(canvas.height()),
            );
            Some(context)
        };
        let Canvases {
            axes,
            picture,
            overlay,
        } = &self.canvases;
        let shown = Some((area, wanted));
        if state.axes_show != shown && cleared(axes).is_some() {
            axes::draw(axes, &area, &wanted);
            state.axes_show = shown;
        }
        if state.picture_shows != shown
            && let Some(context) = cleared(picture)
        {
            state.picture_shows = shown;
            context.set_image_smoothing_enabled(false);
            state
                .pictures
                .present(&context, &wanted, (f64::from(left), f64::from(top)));
        }
        // The style sheet says "Drawing…" over a picture that has nothing yet.
        let _ = picture.toggle_attribute_with_force("data-drawn", !state.pictures.is_empty());
        if let Some(context) = cleared(overlay) {
            let floating = Overlay {
                hover: state.hover_outline.as_ref(),
                pin: state.pin_outline.as_ref(),
                pointer: state.pointer,
                selection: state.selection,
            };
            floating.draw(&context, &area, &wanted);
        }
        state.mark(&wanted);
    }
}

impl State {
    fn is_drawing(&self, request: RequestId) -> bool {
        self.drawing.is_some_and(|(drawing, _)| drawing == request)
    }

    /// Leaves a mark the first time that a sharp picture is presented.
    fn mark(&mut self, wanted: &DrawRequest) {
        let Some(sharp) = self.pictures.sharp(wanted) else {
            return;
        };
        let frame = sharp.frame();
        if frame.request == self.marked {
            return;
        }
        let detail = [
            ("view", view_name(wanted.look.picture).into()),
            ("events", frame.events.into()),
            ("allocations", frame.allocations.into()),
            ("request", frame.request.into()),
            ("sharp", true.into()),
            ("drawMs", frame.draw_ms.into()),
        ];
        self.marked = frame.request;
        clock::mark_with(PAINTED, &detail);
    }
}

/// The view of a picture, as [`ViewKind::name`](crate::state::ViewKind::name) has it.
fn view_name(picture: Picture) -> &'static str {
    match picture {
        Picture::Timeline => "timeline",
        Picture::Segments => "segments",
        Picture::Map => "map",
        Picture::Packing => "what-if",
    }
}

/// Whether nothing lies outside.
fn shows_all(viewport: &Viewport, bounds: &Bounds) -> bool {
    viewport.x_min <= 0.0
        && viewport.x_max >= bounds.x_end
        && viewport.y_min_bytes <= 0.0
        && viewport.y_max_bytes >= bounds.y_end_bytes
}
