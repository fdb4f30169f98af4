//! The properties that all views share.

use std::rc::Rc;

use vramscope_protocol::{Bounds, Look};
use yew::prelude::*;

use crate::engine::{Session, SessionId};
use crate::state::selected::Places;
use crate::state::{Choices, DeviceView, OpenFile, Search, Tab, ViewKind, sentences};

/// The properties of every view of a device.
#[derive(Clone, Properties, PartialEq)]
pub(super) struct ViewProps {
    /// The file within the chosen memory pools.
    pub(super) session: Session,
    /// The number of its tab.
    pub(super) id: SessionId,
    pub(super) file: Rc<OpenFile>,
    /// Device, axis, colours, theme, filter.
    pub(super) look: Look,
    /// The bounds of the whole picture.
    pub(super) bounds: Bounds,
    /// The state of the device's views: visible part, cursor, range, pinned item.
    pub(super) view: DeviceView,
    /// What is selected, and the moments that views refer to.
    pub(super) places: Places,
    pub(super) search: Search,
    /// The choices of each view.
    pub(super) choices: Choices,
    /// Whether the next drag zooms to a box.
    pub(super) box_mode: bool,
    /// See [`State::explained`](crate::state::State::explained).
    pub(super) explained: u32,
    /// Whether drags measure with a ruler.
    pub(super) ruler_mode: bool,
    /// All open files, for the comparison.
    pub(super) tabs: Vec<Rc<Tab>>,
}

impl ViewProps {
    /// A line that says what the figures of `view` are of, although something is searched for.
    pub(super) fn scope_note(&self, view: ViewKind) -> Html {
        let has_failed = self
            .file
            .facts()
            .and_then(|facts| facts.ooms)
            .is_some_and(|failed| failed > 0);
        let text = sentences::scope(view, &self.search, has_failed);
        html! { { for text.map(|text| html! { <p class="note-line">{ text }</p> }) } }
    }
}
