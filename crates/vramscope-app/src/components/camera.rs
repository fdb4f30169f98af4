//! The visible part while the user moves it: pictures follow it frame by frame, without rendering a component. The state
//! learns of it when it rests.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use gloo::timers::callback::Timeout;
use vramscope_protocol::Viewport;
use yew::Callback;

use crate::browser::clock;
use crate::state::motion::Motion;
use crate::state::{Navigation, State};

/// The time without an input after which the visible part rests.
const REST_MS: u32 = 120;
/// The longest that the state knows nothing of a motion that goes on: lanes and marks are laid out for what it knows.
const LONGEST_MS: f64 = 1_000.0;

/// What is visible, and whether the user moves it.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    /// Of one by one px.
    pub(super) viewport: Viewport,
    pub(super) is_moving: bool,
}

/// Shows what is visible.
pub(super) type Watcher = dyn Fn(Seen);

/// The visible part of the shown picture. Cheap to clone; equal if the same.
#[derive(Clone)]
pub(super) struct Camera(Rc<Inner>);

impl PartialEq for Camera {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

struct Inner {
    motion: Cell<Motion>,
    /// Since when the state knows nothing of a motion, and the timer that ends it.
    moving: RefCell<Option<(f64, Timeout)>>,
    watchers: RefCell<Vec<Weak<Watcher>>>,
    /// Whether the watchers are called in the next animation frame.
    is_scheduled: Cell<bool>,
    on_known: Callback<Navigation>,
}

impl Camera {
    /// `on_known` is called with what the state must learn.
    pub(super) fn new(on_known: Callback<Navigation>) -> Self {
        Self(Rc::new(Inner {
            motion: Cell::default(),
            moving: RefCell::default(),
            watchers: RefCell::default(),
            is_scheduled: Cell::default(),
            on_known,
        }))
    }

    /// Shows what the state shows, unless the user has moved on since.
    pub(super) fn follow(&self, state: &State) {
        let before = self.seen();
        self.edit(|motion| motion.follow(state));
        if self.seen() != before {
            self.schedule();
        }
    }

    /// What is visible; `None` without a picture.
    pub(super) fn seen(&self) -> Option<Viewport> {
        self.0.motion.get().seen()
    }

    /// Moves on. Returns whether that was possible: jumps are for the state to make.
    pub(super) fn go(&self, navigation: Navigation) -> bool {
        if !self.edit(|motion| motion.go(navigation)) {
            return false;
        }
        let now_ms = clock::now_ms();
        let since_ms = self
            .0
            .moving
            .take()
            .map_or(now_ms, |(since_ms, _)| since_ms);
        let is_due = now_ms - since_ms > LONGEST_MS;
        if is_due {
            self.publish();
        }
        let camera = self.clone();
        let timer = Timeout::new(REST_MS, move || camera.rest());
        let since_ms = if is_due { now_ms } else { since_ms };
        self.0.moving.replace(Some((since_ms, timer)));
        show_motion(true);
        self.schedule();
        true
    }

    /// Lets the state learn what is visible.
    pub(super) fn publish(&self) {
        if let Some(navigation) = self.edit(Motion::rest) {
            self.0.on_known.emit(navigation);
        }
    }

    fn rest(&self) {
        self.0.moving.take();
        show_motion(false);
        self.publish();
        self.notify();
    }

    fn edit<T>(&self, edit: impl FnOnce(&mut Motion) -> T) -> T {
        let mut motion = self.0.motion.get();
        let result = edit(&mut motion);
        self.0.motion.set(motion);
        result
    }

    /// Calls `watcher` now, and whenever what is visible changes, until it is dropped.
    pub(super) fn watch(&self, watcher: &Rc<Watcher>) {
        self.0.watchers.borrow_mut().push(Rc::downgrade(watcher));
        self.call(watcher);
    }

    fn call(&self, watcher: &Rc<Watcher>) {
        if let Some(viewport) = self.seen() {
            let is_moving = self.0.moving.borrow().is_some();
            watcher(Seen {
                viewport,
                is_moving,
            });
        }
    }

    fn notify(&self) {
        let mut watchers = self.0.watchers.take();
        watchers.retain(|watcher| {
            let watcher = watcher.upgrade();
            watcher.iter().for_each(|watcher| self.call(watcher));
            watcher.is_some()
        });
        // Those that came meanwhile were called.
        self.0.watchers.borrow_mut().append(&mut watchers);
    }

    fn schedule(&self) {
        if !self.0.is_scheduled.replace(true) {
            let camera = self.clone();
            clock::next_frame(move |_| {
                camera.0.is_scheduled.set(false);
                camera.notify();
            });
        }
    }
}

/// The style sheet hides what is about the place under the pointer while the picture moves.
fn show_motion(is_moving: bool) {
    let root = gloo::utils::document_element();
    let _ = root.toggle_attribute_with_force("data-moving", is_moving);
}
