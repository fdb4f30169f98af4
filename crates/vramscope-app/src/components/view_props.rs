//! What every view is given.

use std::rc::Rc;

use yew::prelude::*;

use crate::engine::{Session, SessionId};
use crate::protocol::{Bounds, Look};
use crate::state::{Choices, DeviceView, OpenFile, Search, Tab};

/// What every view of a device is given.
#[derive(Clone, Properties, PartialEq)]
pub(super) struct ViewProps {
    /// The file's worker.
    pub(super) session: Session,
    /// Its tab's number.
    pub(super) id: SessionId,
    /// The file.
    pub(super) file: Rc<OpenFile>,
    /// Device, axis, colours, theme, filter.
    pub(super) look: Look,
    /// The whole of the shown picture.
    pub(super) bounds: Bounds,
    /// What is shown of the device: pin, cursor, range.
    pub(super) view: DeviceView,
    /// What is searched for.
    pub(super) search: Search,
    /// What was chosen in each view.
    pub(super) choices: Choices,
    /// Whether the next drag zooms to a box.
    pub(super) box_mode: bool,
    /// Whether drags measure.
    pub(super) ruler_mode: bool,
    /// All open files, for what compares them.
    pub(super) tabs: Vec<Rc<Tab>>,
}
