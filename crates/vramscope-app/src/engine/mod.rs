//! The page's access to workers: one worker per open file, to which it sends questions.
//!
//! ```text
//! Engine::open(source, listener) ──> Session ──> Asker ──ask(question, take)──> worker
//!                                    listener <──Reply──      take <──answer── worker
//! ```
//!
//! Another program, the planner, has a worker of its own: for a file of graphs in place of the file's worker, for a snapshot beside
//! it (`planner`).
//!
//! A spare worker, with compiled module and memory, waits from the page's start on, so that opening a
//! file takes no start-up time. A file's worker ends with its [`Session`]: closing a tab, or cancelling,
//! frees all its memory at once.

mod handover;
mod planner;
mod port;
mod session;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use vramscope_core::invisible;
use vramscope_protocol::{Reply, Request};
use yew::Callback;

use crate::browser::{clock, url};
pub use handover::Handover;
pub use planner::Planning;
use port::Port;
pub use port::Starters;
pub use session::{Asker, Session, SessionId};

/// The time from opening a file to starting the next spare worker, in ms.
const REFILL_AFTER_MS: i32 = 500;

/// The most files that are read at once. Reading takes a core and much memory for each.
const AT_ONCE: usize = 8;

/// The origin of a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A file of the user's machine: dropped, picked or pasted. It is read in place, never sent.
    File(web_sys::File),
    /// A file that the page around this one has handed in.
    Handed(web_sys::File),
    /// The address of a sample. May be relative to the page.
    Sample(String),
    /// The address of a file that the page's server was given, as `vramscope view` is.
    Served(String),
    /// A file that is open already.
    Open(Session),
    /// An address that the page's own address names with `?src=`. May be relative to the page.
    Linked(String),
}

impl Source {
    /// Files as sources.
    #[must_use]
    pub fn files(files: Vec<web_sys::File>) -> Vec<Self> {
        files.into_iter().map(Self::File).collect()
    }

    /// The name to show.
    #[must_use]
    pub fn name(&self) -> String {
        let name = match self {
            Self::File(file) | Self::Handed(file) => file.name(),
            Self::Sample(url) | Self::Served(url) | Self::Linked(url) => url::file_name(url),
            Self::Open(session) => return session.name().to_owned(),
        };
        invisible::escaped_line(&name).into_owned()
    }

    /// The file's number among those that the page's server was given; `None` for others.
    #[must_use]
    pub fn served_number(&self) -> Option<usize> {
        match self {
            // …/files/NUMBER/NAME
            Self::Served(url) => url.rsplit('/').nth(1)?.parse().ok(),
            Self::File(_) | Self::Handed(_) | Self::Sample(_) | Self::Linked(_) | Self::Open(_) => {
                None
            }
        }
    }

    /// The host that the page's own address names; `None` for a file that the user chose.
    #[must_use]
    pub fn linked_host(&self) -> Option<String> {
        match self {
            Self::Linked(url) => Some(url::host(url)),
            Self::Open(session) => session.source().linked_host(),
            Self::File(_) | Self::Handed(_) | Self::Sample(_) | Self::Served(_) => None,
        }
    }
}

/// Starts workers. Cheap to clone; equal if it is the same engine.
#[derive(Clone)]
pub struct Engine {
    inner: Rc<Inner>,
}

struct Inner {
    starters: Starters,
    refills: bool,
    /// A worker that waits for a file. `None` only where workers cannot be started.
    spare: RefCell<Option<Port>>,
    last_id: Cell<u32>,
    /// The number of files that are being read.
    reading: Cell<usize>,
    /// The files that are to be read next.
    waiting: RefCell<VecDeque<(Session, Source)>>,
}

impl PartialEq for Engine {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Engine {
    /// An engine without a spare worker. `refills`: each that is used is replaced.
    #[must_use]
    pub fn new(starters: Starters, refills: bool) -> Self {
        let inner = Inner {
            starters,
            refills,
            spare: RefCell::default(),
            last_id: Cell::new(0),
            reading: Cell::new(0),
            waiting: RefCell::default(),
        };
        Self {
            inner: Rc::new(inner),
        }
    }

    /// Opens a file in a worker of its own, once fewer than `AT_ONCE` others are being read, and marks
    /// `vramscope:load`.
    ///
    /// `listener` gets [`Reply::Progress`], then [`Reply::Opened`] or [`Reply::Failed`]; answers go to
    /// the callbacks of their questions. [`Reply::Failed`] can also come later, if the worker dies. It is not called before
    /// this returns.
    #[must_use]
    pub fn open(&self, source: &Source, listener: Callback<Reply>) -> Session {
        if let Source::Open(session) = source {
            session.listen(listener);
            return session.clone();
        }
        clock::mark("vramscope:load");
        let session = self.session(source, listener);
        let waits = (session.clone(), source.clone());
        self.inner.waiting.borrow_mut().push_back(waits);
        self.read_next();
        session
    }

    /// Starts the spare worker, if there is none.
    pub fn start_spare(&self) {
        let mut spare = self.inner.spare.borrow_mut();
        if spare.is_none() {
            *spare = Port::start(&self.inner.starters).ok();
        }
    }

    /// A session without a worker.
    fn session(&self, source: &Source, listener: Callback<Reply>) -> Session {
        let id = self.inner.last_id.get() + 1;
        self.inner.last_id.set(id);
        Session::new(SessionId(id), source, listener, &self.inner.starters)
    }

    /// Starts reading as many of the waiting files as may be read at once.
    fn read_next(&self) {
        while self.inner.reading.get() < AT_ONCE {
            let next = self.inner.waiting.borrow_mut().pop_front();
            let Some((session, source)) = next else {
                return;
            };
            if !session.is_closed() {
                self.read(&session, &source);
            }
        }
    }

    fn read(&self, session: &Session, source: &Source) {
        let spare = self.inner.spare.borrow_mut().take();
        let port = match spare.map_or_else(|| Port::start(&self.inner.starters), Ok) {
            Ok(port) => port,
            Err(error) => return session.fail(&error),
        };
        self.inner.reading.update(|reading| reading + 1);
        let engine = self.clone();
        session.start(port, move || {
            engine.inner.reading.update(|reading| reading - 1);
            engine.read_next();
            engine.refill();
        });
        let name = source.name();
        match source {
            Source::File(file) | Source::Handed(file) => {
                session.send_with(&Request::OpenBlob { name }, file);
            }
            Source::Sample(url) | Source::Served(url) | Source::Linked(url) => {
                let url = url::absolute(url);
                session.send(&Request::OpenUrl { name, url });
            }
            Source::Open(_) => {}
        }
    }

    /// Starts the next spare worker when the browser is idle, but not before the file is open, because
    /// the user waits for that.
    fn refill(&self) {
        if !self.inner.refills {
            return;
        }
        let engine = self.clone();
        let refill = move || engine.start_spare();
        // The first picture is drawn right after a file is open.
        clock::later(REFILL_AFTER_MS, move || clock::when_idle(refill));
    }
}
