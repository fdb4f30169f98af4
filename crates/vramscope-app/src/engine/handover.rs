//! How the small page of an embedded viewer (`mini.html`) hands its file over to the whole page, which is another program: its
//! worker and the file's news go with it, so that nothing is loaded or read twice.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, Uint8Array};
use serde::{Deserialize, Serialize};
use vramscope_protocol::{Reply, from_bytes, to_bytes};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{File, Worker};
use yew::Callback;

use super::port::Port;
use super::session::Session;
use super::{Engine, Source};

/// What the whole page begins with.
#[derive(Default)]
pub struct Handover {
    /// The open file.
    pub session: Option<Session>,
    /// Files to open beside it.
    pub more: Vec<Source>,
    /// The origin of the page around this one, if that has asked whether this one listens.
    pub host: Option<String>,
    /// Whether that page was told that the file is shown.
    pub has_told: bool,
    /// Whether a picture of the file is there, which stays until the page has its own.
    pub has_picture: bool,
}

/// All of it but workers and files, which travel beside.
#[derive(Serialize, Deserialize)]
struct Words {
    /// The open file, if there is one, and the others.
    sources: Vec<Origin>,
    open: Option<OpenWords>,
    host: Option<String>,
    has_told: bool,
    has_picture: bool,
}

#[derive(Serialize, Deserialize)]
struct OpenWords {
    is_held: bool,
    news: Option<Reply>,
}

/// The origin of a file.
#[derive(Serialize, Deserialize)]
enum Origin {
    File,
    Handed,
    Linked(String),
}

impl Handover {
    /// As `www/page.js` passes it on: the words as bytes, the worker or `null`, and a `File` or `null` for each file.
    #[must_use]
    pub fn into_js(self) -> JsValue {
        let own = self.session.as_ref().map(Session::source).cloned();
        let (mut origins, files) = (Vec::new(), Array::new());
        for source in own.into_iter().chain(self.more) {
            let (origin, file) = match source {
                Source::File(file) => (Origin::File, file.into()),
                Source::Handed(file) => (Origin::Handed, file.into()),
                Source::Linked(url) => (Origin::Linked(url), JsValue::NULL),
                // The small page opens no others.
                Source::Sample(_) | Source::Served(_) | Source::Open(_) => continue,
            };
            origins.push(origin);
            files.push(&file);
        }
        let worker = self.session.as_ref().and_then(Session::release);
        // A file that waits for a planner is opened anew.
        let open = self.session.and_then(|session| {
            let news = session.take_kept();
            (worker.is_some() || news.is_some()).then(|| OpenWords {
                is_held: session.is_held(),
                news,
            })
        });
        let words = to_bytes(&Words {
            sources: origins,
            open,
            host: self.host,
            has_told: self.has_told,
            has_picture: self.has_picture,
        });
        let words = Uint8Array::from(&words[..]);
        let worker = worker.map_or(JsValue::NULL, |port| port.into_worker().into());
        Array::of3(&words, &worker, &files).into()
    }

    /// What was handed over; `None` if nothing was.
    #[must_use]
    pub fn of_js(value: &JsValue, engine: &Engine) -> Option<Self> {
        let value = value.dyn_ref::<Array>()?;
        let words = value.get(0).dyn_into::<Uint8Array>().ok()?.to_vec();
        let words: Words = from_bytes(&words).ok()?;
        let files = value.get(2).unchecked_into::<Array>();
        let source = |(origin, file): (Origin, JsValue)| match origin {
            Origin::File => Source::File(file.unchecked_into::<File>()),
            Origin::Handed => Source::Handed(file.unchecked_into::<File>()),
            Origin::Linked(url) => Source::Linked(url),
        };
        let mut sources = words.sources.into_iter().zip(files.iter()).map(source);
        let worker = value.get(1).dyn_into::<Worker>().ok();
        let session = words.open.and_then(|open| {
            let session = engine.adopt(&sources.next()?, worker.map(Port::of), open.is_held);
            if let Some(news) = open.news {
                session.keep(news);
            }
            Some(session)
        });
        Some(Self {
            session,
            more: sources.collect(),
            host: words.host,
            has_told: words.has_told,
            has_picture: words.has_picture,
        })
    }
}

impl Engine {
    /// The session of a file whose worker was another program's; without a worker, that has failed. News are kept for the
    /// first who [opens](Engine::open) it.
    fn adopt(&self, source: &Source, port: Option<Port>, is_held: bool) -> Session {
        let keeper = Rc::new(RefCell::new(None::<Session>));
        let listener = {
            let keeper = keeper.clone();
            Callback::from(move |news| {
                if let Some(session) = &*keeper.borrow() {
                    session.keep(news);
                }
            })
        };
        let session = self.session(source, listener);
        // The listener goes once somebody opens the file, and the session with it.
        keeper.replace(Some(session.clone()));
        session.go_on_from_other(is_held);
        if let Some(port) = port {
            session.start(port, || {});
        }
        session
    }
}
