//! Keeps the page's address and its state in step: the address names the visible state, and back
//! and forward restore it.

use std::cell::RefCell;
use std::rc::Rc;

use gloo::events::EventListener;
use gloo::timers::callback::Timeout;
use yew::prelude::*;

use crate::browser::history;
use crate::engine::Source;
use crate::state::permalink::{Change, change, once_shown};
use crate::state::{Action, Permalink, State, permalink};

/// Delay before the address follows a movement. Browsers refuse more than some hundred changes in
/// half a minute.
const MOVED_AFTER_MS: u32 = 300;

/// Pause in typing after which the text becomes a step of the history.
const CHOSEN_AFTER_MS: u32 = 700;

/// The current address, and its next text.
#[derive(Default)]
struct Address {
    shown: Permalink,
    /// Whether `shown` was read from the address, so that it may differ in wording from what the
    /// page would write.
    is_read: bool,
    latest: Option<Permalink>,
    timer: Option<Timeout>,
    /// Whether the page was opened with a file. Then its first view is no history step after the
    /// start page.
    starts_with_file: bool,
}

impl Address {
    /// Writes the pending text to the address.
    fn settle(&mut self) {
        self.timer = None;
        if let Some(latest) = self.latest.take() {
            let is_step = change(&self.shown, &latest) >= Change::Chosen;
            self.say(latest, is_step);
        }
    }

    /// Once the page shows what was read, stores it in the page's own wording for later
    /// comparisons.
    fn reword(&mut self, state: &State) {
        if let Some(reworded) = self
            .is_read
            .then(|| once_shown(&self.shown, state))
            .flatten()
        {
            (self.shown, self.is_read) = (reworded, false);
        }
    }

    fn say(&mut self, link: Permalink, is_step: bool) {
        history::set_fragment(&link.to_text(), is_step);
        (self.shown, self.is_read) = (link, false);
    }
}

/// What the page's address says. The page was opened with `sources`: a single one need not be named.
pub(crate) fn told(sources: &[Source]) -> Option<Permalink> {
    let fragment = history::fragment();
    match sources {
        [only] => Permalink::parse_of(&fragment, &only.name()),
        _ => Permalink::parse(&fragment),
    }
}

/// Keeps address and state in step. The page was opened with `sources`.
#[hook]
pub(crate) fn use_address(state: &UseReducerHandle<State>, sources: &[Source]) {
    let address = use_mut_ref(Address::default);
    {
        let (address, dispatcher) = (address.clone(), state.dispatcher());
        let sources = sources.to_vec();
        use_effect_with((), move |()| {
            address.borrow_mut().starts_with_file = !sources.is_empty();
            let restore = move |is_first: bool| {
                let link = told(&sources);
                if link.is_none() && is_first {
                    return;
                }
                let link = link.unwrap_or_default();
                {
                    let mut address = address.borrow_mut();
                    (address.latest, address.timer) = (None, None);
                    (address.shown, address.is_read) = (link.clone(), true);
                }
                dispatcher.dispatch(Action::Restore(Box::new(link)));
            };
            restore(true);
            let listener =
                EventListener::new(&gloo::utils::window(), "popstate", move |_| restore(false));
            move || drop(listener)
        });
    }
    let waits = state.wanted.is_some();
    let link = permalink(state).filter(|link| !(waits && link.file.is_none()));
    let state = state.clone();
    use_effect_with(link, move |link| {
        if let Some(link) = link {
            address.borrow_mut().reword(&state);
            follow(&address, link.clone());
        }
    });
}

/// Updates the address, at once or after a delay.
fn follow(address: &Rc<RefCell<Address>>, link: Permalink) {
    let own = address;
    let mut address = own.borrow_mut();
    let change = change(&address.shown, &link);
    match change {
        Change::None => (address.latest, address.timer) = (None, None),
        Change::Moved | Change::Chosen => {
            address.latest = Some(link);
            let wait_ms = if change == Change::Moved {
                MOVED_AFTER_MS
            } else {
                CHOSEN_AFTER_MS
            };
            let own = own.clone();
            address.timer = Some(Timeout::new(wait_ms, move || own.borrow_mut().settle()));
        }
        Change::Step => {
            // Writes the pending text first, so that going back leads to the latest state.
            address.settle();
            let is_first = address.shown.file.is_none() && address.starts_with_file;
            address.starts_with_file = false;
            address.say(link, !is_first);
        }
    }
}
