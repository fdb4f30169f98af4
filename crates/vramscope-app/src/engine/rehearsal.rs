//! The spare worker reads a tiny file of its own, which the page shows out of sight before the first file is opened.

use yew::Callback;

use super::session::{Session, SessionId};
use super::{Engine, Source};
use crate::browser::clock;
use crate::protocol::{Opened, Reply};

/// The time from showing the tiny file to removing it, in ms: enough for its picture to be drawn.
const SHOWN_MS: i32 = 300;

/// How to remove what was shown.
pub type Remove = Box<dyn FnOnce()>;

/// Shows a file. Returns how to remove it.
type Show = fn(&Session, Box<Opened>) -> Option<Remove>;

/// The tiny file, and how to remove it once it is shown.
pub(super) struct Rehearsal {
    session: Session,
    remove: Option<Remove>,
}

impl Engine {
    /// Has the spare worker's tiny file shown with `show` once it is read and the browser is idle, and removed before a
    /// file is opened. Nobody sees it, so it leaves no User Timing marks.
    pub fn rehearse(&self, show: Show) {
        let Some(port) = self.inner.spare.take() else {
            return;
        };
        let engine = self.clone();
        let listener = Callback::from(move |reply| {
            if let Reply::Rehearsed(opened) = reply {
                let engine = engine.clone();
                clock::when_idle(move || engine.show(opened, show));
            }
        });
        let parts = self.inner.parts.clone();
        let source = Source::Sample(String::new());
        let session = Session::new(SessionId::REHEARSAL, &source, parts, listener);
        session.start(port, || {});
        self.inner.rehearsal.replace(Some(Rehearsal {
            session,
            remove: None,
        }));
    }

    fn show(&self, opened: Box<Opened>, show: Show) {
        if let Some(rehearsal) = &mut *self.inner.rehearsal.borrow_mut() {
            clock::set_silent(true);
            rehearsal.remove = show(&rehearsal.session, opened);
            let engine = self.clone();
            clock::later(SHOWN_MS, move || engine.end_rehearsal());
        }
    }

    /// Makes the worker the spare one again.
    pub(super) fn end_rehearsal(&self) {
        let Some(rehearsal) = self.inner.rehearsal.take() else {
            return;
        };
        if let Some(remove) = rehearsal.remove {
            remove();
        }
        clock::set_silent(false);
        self.inner.spare.replace(rehearsal.session.release());
    }
}
