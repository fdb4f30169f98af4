//! The first picture of an embedded viewer (`mini.html`), before the page.
//!
//! A program of its own without components: a file is opened, its timeline and figures are shown, and the page around is told.
//! The page itself is loaded when somebody moves the pointer over the picture, presses a key or asks for the full viewer, and
//! for all that is shown here only in part: then it takes over the open file ([`Handover`]) and shows the same at the same
//! place. Nothing is loaded or read twice.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gloo::events::EventListener;
use js_sys::{Function, Object, Promise, Reflect};
use vramscope_protocol::{
    Axis, Bounds, Curve, DeviceFacts, DrawRequest, Look, Opened, Picture, Progress, Reply,
    ReservedOf, ThemeName, UNASKED_BYTES,
};
use vramscope_view::address;
use vramscope_view::decorations::Decorations;
use vramscope_view::lines::Lines;
use vramscope_view::viewport::Viewport;
use vramscope_view::views::ViewKind;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Element, Event, File, HtmlCanvasElement, MediaQueryList, MessageEvent, PointerEvent,
    ResizeObserver,
};
use yew::Callback;

use crate::browser::door::{self, Message};
use crate::browser::{error_text, frame, history, url};
use crate::canvas::{Canvases, PlotArea, TimelineCanvas, draw_scene};
use crate::engine::{Engine, Handover, Session, Source, Starters};
use crate::state::choices::LanesChoices;
use crate::state::sentences;

/// The page's element, which replaces what is in the body.
const ROOT: &str = "#app";

/// What can have the focus here and in the page.
const FOCUSABLE: [&str; 3] = [".stage", ".in-full", "select"];

/// What is shown before the page.
struct Mini {
    engine: Engine,
    /// `www/page.js`'s function that promises the start of the page, which takes a [`Handover`].
    load_page: Function,
    session: RefCell<Option<Session>>,
    picture: RefCell<Option<Shown>>,
    /// The origin of the page around this one, once it has asked whether this one listens.
    host: RefCell<Option<String>>,
    /// What that page is to be told of the file last, and of what is shown.
    news: RefCell<Vec<JsValue>>,
    listeners: RefCell<Vec<EventListener>>,
    /// Whether the page is being loaded.
    is_ending: Cell<bool>,
    /// What it is to open beside the file.
    more: RefCell<Vec<Source>>,
}

/// The picture of a file.
struct Shown {
    canvas: TimelineCanvas,
    facts: DeviceFacts,
    bounds: Bounds,
    has_reserved: bool,
    /// Reserved memory over the picture of this area.
    reserved: Option<(PlotArea, Curve)>,
    sizes: Option<(ResizeObserver, Closure<dyn FnMut()>)>,
}

/// Shows the first picture of a file: one of those in the page, or that its address names. `load_page` promises the start of the
/// page.
pub fn start(starters: Starters, load_page: Function, files: Vec<File>) {
    frame::show_controls();
    frame::show_sleep();
    frame::show_theme();
    let linked = url::sources().into_iter().map(Source::Linked);
    let mut sources: Vec<_> = Source::files(files).into_iter().chain(linked).collect();
    let engine = Engine::new(starters, false);
    engine.start_spare();
    let mini = Rc::new(Mini {
        engine,
        load_page,
        session: RefCell::default(),
        picture: RefCell::default(),
        host: RefCell::default(),
        news: RefCell::default(),
        listeners: RefCell::default(),
        is_ending: Cell::new(false),
        more: RefCell::default(),
    });
    mini.listen();
    // What the address tells is the page's own to show.
    if sources.len() > 1 || !history::fragment().is_empty() {
        return mini.end(sources);
    }
    if let Some(source) = sources.pop() {
        mini.open(source);
    }
}

impl Mini {
    fn listen(self: &Rc<Self>) {
        let window = gloo::utils::window();
        let document = gloo::utils::document();
        let on =
            |target: &web_sys::EventTarget, name: &'static str, take: fn(&Rc<Self>, &Event)| {
                let mini = self.clone();
                let listener = EventListener::new(target, name, move |event| take(&mini, event));
                self.listeners.borrow_mut().push(listener);
            };
        on(&window, "message", |mini, event| {
            if let Some(event) = event.dyn_ref() {
                mini.hear(event);
            }
        });
        on(&window, "hashchange", |mini, _| mini.end(Vec::new()));
        on(&window, "resize", |mini, _| mini.draw());
        on(&document, "keydown", |mini, _| mini.touched());
        on(&document, "pointerdown", |mini, _| mini.touched());
        on(&document, "pointermove", |mini, event| {
            // Browsers also say so when the page around is scrolled under a resting pointer.
            let moved = event.dyn_ref::<PointerEvent>();
            if moved.is_some_and(|event| event.movement_x() != 0 || event.movement_y() != 0) {
                mini.touched();
            }
        });
        if let Some(button) = found(".in-full") {
            on(&button, "click", |mini, _| {
                frame::show_all_controls();
                mini.end(Vec::new());
            });
        }
        if let Some(query) = dark_query() {
            on(&query, "change", |mini, _| mini.draw());
        }
    }

    /// Loads the page, as somebody looks closer at the picture.
    fn touched(self: &Rc<Self>) {
        if self.picture.borrow().is_some() {
            self.end(Vec::new());
        }
    }

    /// Takes a message of another page.
    fn hear(self: &Rc<Self>, event: &MessageEvent) {
        let is_of_host = door::is_of_host(event);
        match door::message(event) {
            Some(Message::Ping) if is_of_host => {
                self.host.replace(Some(event.origin()));
                door::answer_ping(event);
                for news in self.news.borrow().iter() {
                    door::post_to_host(&event.origin(), news, self.is_handed());
                }
            }
            // The page answers it, and what follows, once it is there.
            Some(Message::Ping) => self.end(Vec::new()),
            Some(Message::File(file)) if is_of_host => self.take_file(file),
            Some(Message::Look(look)) if is_of_host || door::is_own(event) => {
                if let Some(theme) = look.theme {
                    frame::set_theme(&theme);
                }
                for (name, value) in look.variables {
                    frame::set_variable(name, &value);
                }
                self.draw();
            }
            _ => {}
        }
    }

    fn take_file(self: &Rc<Self>, file: File) {
        let has_one = self.session.borrow().is_some();
        let source = Source::Handed(file);
        match has_one || self.is_ending.get() {
            true => self.end(vec![source]),
            false => self.open(source),
        }
    }

    fn open(self: &Rc<Self>, source: Source) {
        let mini = self.clone();
        let listener = Callback::from(move |reply| mini.take(reply));
        let session = self.engine.open(&source, listener);
        gloo::utils::document().set_title(session.name());
        if let Some(heading) = found("h1") {
            heading.set_text_content(Some(session.name()));
        }
        self.session.replace(Some(session));
    }

    /// Takes what the worker tells.
    fn take(self: &Rc<Self>, reply: Reply) {
        let Some(session) = self.session.borrow().clone() else {
            return;
        };
        match reply {
            Reply::Progress(progress) => self.progress(&session, progress),
            Reply::Opened(opened) => {
                session.keep(Reply::Opened(opened.clone()));
                self.show(&session, &opened);
            }
            Reply::OpenedGraphs(_)
            | Reply::OpenedFleet(_)
            | Reply::OpenedText(_)
            | Reply::Failed(_) => {
                session.keep(reply);
                self.end(Vec::new());
            }
            // The session takes these itself, and versions are read by the page alone.
            Reply::Ready
            | Reply::Mark { .. }
            | Reply::ForPlanner
            | Reply::Answer { .. }
            | Reply::Reloaded(_) => {}
        }
    }

    fn progress(self: &Rc<Self>, session: &Session, progress: Progress) {
        let total = progress.total_bytes;
        if total.is_some_and(|bytes| bytes > UNASKED_BYTES) {
            // The page asks first.
            session.hold(true);
            self.end(Vec::new());
        }
        let total = total.map_or(JsValue::NULL, |bytes| JsValue::from(bytes as f64));
        self.tell(
            0,
            &[
                ("event", "progress".into()),
                ("name", session.name().into()),
                ("loaded", JsValue::from(progress.done_bytes as f64)),
                ("total", total),
            ],
        );
    }

    /// Whether the page around has the file itself.
    fn is_handed(&self) -> bool {
        let session = self.session.borrow();
        session.as_ref().is_some_and(Session::is_handed)
    }

    /// Tells the page around of the file (0), or of what is shown (1).
    fn tell(&self, topic: usize, entries: &[(&str, JsValue)]) {
        let news = Object::new();
        for (name, value) in entries {
            let _ = Reflect::set(&news, &(*name).into(), value);
        }
        let news = JsValue::from(news);
        if let Some(host) = &*self.host.borrow() {
            door::post_to_host(host, &news, self.is_handed());
        }
        let mut kept = self.news.borrow_mut();
        kept.truncate(topic);
        kept.push(news);
    }

    fn show(self: &Rc<Self>, session: &Session, opened: &Opened) {
        let (first, file_bytes) = (opened.devices.first(), opened.file.file_bytes);
        let first = first.filter(|facts| facts.has_trace && facts.allocations > 0);
        let Some(facts) = first else {
            return self.end(Vec::new());
        };
        self.tell(
            0,
            &[
                ("event", "load".into()),
                ("name", session.name().into()),
                ("bytes", JsValue::from(file_bytes as f64)),
            ],
        );
        let place = address::of_file(session.name(), file_bytes, ViewKind::Timeline);
        self.tell(1, &[("event", "place".into()), ("place", place.into())]);
        write_figures(opened, facts);
        self.picture.replace(self.shown(session, facts));
        self.draw();
        if opened.has_more_than_timeline() {
            self.end(Vec::new());
        }
    }

    fn shown(self: &Rc<Self>, session: &Session, facts: &DeviceFacts) -> Option<Shown> {
        let canvas = TimelineCanvas::new(session, Callback::noop());
        canvas.attach(Canvases {
            picture: canvas_element(0)?,
            overlay: canvas_element(1)?,
        });
        let mini = self.clone();
        let on_change = Closure::<dyn FnMut()>::new(move || mini.draw());
        let observer = ResizeObserver::new(on_change.as_ref().unchecked_ref()).ok()?;
        observer.observe(&found(".stage")?);
        let lines = LanesChoices::default();
        Some(Shown {
            canvas,
            bounds: lines.bounds(facts, Picture::Timeline, Axis::Events),
            has_reserved: lines.lines(facts, Picture::Timeline).reserved,
            facts: facts.clone(),
            reserved: None,
            sizes: Some((observer, on_change)),
        })
    }

    /// Draws the picture as large as its place, in the colours of the theme.
    fn draw(self: &Rc<Self>) {
        let area = found(".stage").and_then(|stage| PlotArea::of(&stage));
        let (Some(area), Some(shown), Some(session)) = (
            area,
            &mut *self.picture.borrow_mut(),
            &*self.session.borrow(),
        ) else {
            return;
        };
        let (width, height) = area.size_px();
        let viewport = Viewport::fit_all(&shown.bounds, width, height);
        let look = Look {
            device: shown.facts.device,
            colour_by: shown.facts.colour_by,
            theme: theme(),
            ..Look::default()
        };
        shown.canvas.resize(area);
        shown
            .canvas
            .show(DrawRequest { look, viewport }, shown.bounds);
        match &shown.reserved {
            Some((of, _)) if *of == area => shown.draw_reserved(),
            _ if shown.has_reserved => {
                let asked = ReservedOf {
                    device: shown.facts.device,
                    axis: Axis::Events,
                    viewport,
                };
                let mini = self.clone();
                session.ask_once(asked, move |curve, _| {
                    if let (Some(shown), Some(curve)) = (&mut *mini.picture.borrow_mut(), curve) {
                        shown.reserved = Some((area, curve));
                        shown.draw_reserved();
                    }
                });
            }
            _ => {}
        }
    }

    /// Loads the page, which takes over the file and opens these as well.
    fn end(self: &Rc<Self>, more: Vec<Source>) {
        self.more.borrow_mut().extend(more);
        if self.is_ending.replace(true) {
            return;
        }
        let mini = self.clone();
        wasm_bindgen_futures::spawn_local(async move {
            match mini.loaded().await {
                Ok(start_page) => mini.give_over(&start_page),
                Err(error) => mini.cannot_end(&error_text(&error)),
            }
        });
    }

    /// The start of the page, which is loaded.
    async fn loaded(&self) -> Result<Function, JsValue> {
        let page = self.load_page.call0(&JsValue::NULL)?;
        let page = JsFuture::from(page.unchecked_into::<Promise>()).await?;
        Ok(page.unchecked_into())
    }

    fn give_over(&self, start_page: &Function) {
        self.listeners.borrow_mut().clear();
        let has_picture = self.picture.take().is_some();
        let handover = Handover {
            session: self.session.take(),
            more: self.more.take(),
            host: self.host.take(),
            has_told: has_picture,
            has_picture,
        };
        // Its errors are the page's own to tell.
        let _ = start_page.call1(&JsValue::NULL, &handover.into_js());
    }

    /// The picture stays, and it can be tried again.
    fn cannot_end(&self, words: &str) {
        self.is_ending.set(false);
        frame::show_controls();
        let message = format!("The viewer could not be loaded: {words}");
        write_line(&[&message]);
        if self.picture.borrow().is_none() {
            let name = self.session.borrow();
            let name = name.as_ref().map_or("", |session| session.name());
            self.tell(
                0,
                &[
                    ("event", "error".into()),
                    ("name", name.into()),
                    ("message", message.into()),
                    ("advice", "Load the page again.".into()),
                ],
            );
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        // Else it would call what is no more.
        if let Some((observer, _)) = &self.sizes {
            observer.disconnect();
        }
    }
}

impl Shown {
    fn draw_reserved(&self) {
        let (Some((area, curve)), Some(canvas)) = (&self.reserved, canvas_element(2)) else {
            return;
        };
        let decorations = Decorations {
            reserved: curve.clone(),
            ..Decorations::default()
        };
        let (width, height) = area.size_px();
        let lines = Lines {
            decorations: Some(&decorations),
            capacity_bytes: None,
            rulers: &[],
            view: Viewport::fit_all(&self.bounds, width, height),
            unit: Axis::Events,
            has_failures: false,
        };
        draw_scene(&canvas, area, theme(), |scene, style| {
            lines.draw(scene, &area.picture(), style);
        });
    }
}

/// Writes the devices above the picture, and the figures of the first below it.
fn write_figures(opened: &Opened, facts: &DeviceFacts) {
    if let Some(list) = found("select") {
        list.set_text_content(None);
        for device in &opened.devices {
            if let Ok(option) = gloo::utils::document().create_element("option") {
                option.set_text_content(Some(&sentences::device(device)));
                let _ = list.append_child(&option);
            }
        }
    }
    let [events, allocations, peak] = sentences::totals(facts, false);
    write_line(&[&events, &allocations, &peak]);
}

/// Writes the line below the picture.
fn write_line(texts: &[&str]) {
    let Some(line) = found(".statusbar") else {
        return;
    };
    line.set_text_content(None);
    for text in texts {
        if let Ok(span) = gloo::utils::document().create_element("span") {
            span.set_text_content(Some(text));
            let _ = line.append_child(&span);
        }
    }
}

/// The picture and what is around it, which the page replaces.
#[must_use]
pub fn picture() -> Option<Element> {
    found(ROOT)
}

/// What of it has the focus.
#[must_use]
pub fn focus() -> Option<&'static str> {
    frame::focused(&FOCUSABLE)
}

/// An element of `mini.html`.
fn found(selector: &str) -> Option<Element> {
    let document = gloo::utils::document();
    document.query_selector(selector).ok().flatten()
}

fn canvas_element(place: u32) -> Option<HtmlCanvasElement> {
    let canvases = gloo::utils::document().get_elements_by_tag_name("canvas");
    canvases.item(place)?.dyn_into().ok()
}

fn dark_query() -> Option<MediaQueryList> {
    let window = gloo::utils::window();
    window
        .match_media("(prefers-color-scheme: dark)")
        .ok()
        .flatten()
}

/// The theme to draw with.
fn theme() -> ThemeName {
    let is_dark = match frame::theme().as_deref() {
        Some(name) => name == "dark",
        None => dark_query().is_some_and(|query| query.matches()),
    };
    match is_dark {
        true => ThemeName::Dark,
        false => ThemeName::Light,
    }
}
