//! Commands for all components. They are a context, so that they need not be passed through
//! properties.

use yew::prelude::*;

use super::camera::Camera;
use crate::browser;
use crate::engine::{Session, SessionId, Source};
use crate::state::Action;

/// The commands that any component can give.
#[derive(Clone, PartialEq)]
pub(super) struct Commands {
    /// Changes the state.
    pub(super) dispatch: Callback<Action>,
    /// The visible part of the picture.
    pub(super) camera: Camera,
    /// Opens files, each in a tab.
    pub(super) open: Callback<Vec<Source>>,
    /// Shows the browser's file picker.
    pub(super) pick: Callback<()>,
    /// Ends a file's worker and closes its tab.
    pub(super) close: Callback<SessionId>,
    /// A file's session; `None` if the file is not open.
    pub(super) session: Callback<SessionId, Option<Session>>,
}

impl Commands {
    /// A callback that dispatches `action` on any event.
    pub(super) fn on<E: 'static>(&self, action: Action) -> Callback<E> {
        self.dispatch.reform(move |_| action.clone())
    }

    /// A callback that shows the findings, and not the details over them.
    pub(super) fn on_explain(&self) -> Callback<MouseEvent> {
        let dispatch = self.dispatch.clone();
        Callback::from(move |_: MouseEvent| {
            if browser::is_narrow() {
                dispatch.emit(Action::Details(false));
            }
            dispatch.emit(Action::Explain);
        })
    }
}

/// The commands of the page.
///
/// # Panics
/// Outside [`super::App`], which provides them.
#[hook]
pub(super) fn use_commands() -> Commands {
    #[expect(
        clippy::expect_used,
        reason = "the root component provides it to all others"
    )]
    use_context::<Commands>().expect("components live below App")
}
