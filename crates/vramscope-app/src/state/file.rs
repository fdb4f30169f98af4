//! An open file: its tab, the progress of reading, and the parts that are shown.

use std::rc::Rc;

use vramscope_core::model::DeviceIndex;
use vramscope_protocol::views::fleet::FleetFile;
use vramscope_protocol::views::text::TextFile;
use vramscope_protocol::{
    Answer, Axis, Bounds, DeviceFacts, DevicesOfPools, Failure, Note, Opened, Picture, Progress,
    Reply,
};
use vramscope_view::address::{DevicePlace, Pinned};
use vramscope_view::restacked::Stacking;

use super::graph::OpenGraphs;
use super::view::DeviceView;
use super::{LanesChoices, Navigation, Shared, State, ViewKind, permalink};
use crate::engine::SessionId;

/// One file's tab.
#[derive(Clone, PartialEq, Debug)]
pub struct Tab {
    /// Its worker.
    pub id: SessionId,
    /// The file's name.
    pub name: String,
    /// The host that the page's own address names; `None` for a file that the user chose.
    pub linked_host: Option<String>,
    /// The state of its loading.
    pub phase: Phase,
    /// The tab's number among those of the same file, from 0.
    pub copy: u32,
    /// The file's number among those that the page's server was given; `None` for others.
    pub served: Option<usize>,
}

/// The state of loading a file.
#[derive(Clone, PartialEq, Debug)]
pub enum Phase {
    /// It is being read.
    Opening(Progress),
    /// It could not be read.
    Failed(Shared<Failure>),
    /// It is read and holds a snapshot.
    Ready(Rc<OpenFile>),
    /// It is read and holds graphs.
    Graphs(Rc<OpenGraphs>),
    /// It is read and holds ranks.
    Fleet(FleetFile),
    /// It is read, and is text.
    Text(Shared<TextFile>),
}

/// A snapshot that is read.
#[derive(Clone, PartialEq, Debug)]
pub struct OpenFile {
    /// The worker's facts about it.
    pub opened: Shared<Opened>,
    /// The facts of its devices within [`pools`](Self::pools), in the order of [`Opened::devices`].
    pub devices: Shared<Vec<DeviceFacts>>,
    /// The memory pools that the file is narrowed to, as a search; `None` if it is not.
    pub pools: Option<String>,
    /// Index of the shown device in [`Opened::devices`].
    pub device: usize,
    /// The x axis of all devices.
    pub axis: Axis,
    /// The picture of all devices, that of the last view with a picture.
    pub picture: Picture,
    /// The view of each device, in the order of [`Opened::devices`].
    pub views: Vec<DeviceView>,
    /// The lines over the picture, the same in all files. The picture's height depends on them.
    pub lanes: LanesChoices,
    /// The version of the file, from 0.
    pub version: u32,
    /// Whether the worker has read the next version.
    pub has_next: bool,
    /// How often in a row the next version could not be read.
    pub failures: u32,
    /// Why not, the last time.
    pub fault: Option<Shared<Failure>>,
    /// Numbers of the notes (see [`OpenFile::notes`]) that the user has closed, for all devices together.
    dismissed: Vec<(usize, usize)>,
}

/// The view in which a snapshot opens, if one has just been read. A timeline of a single moment would show nothing, and of
/// a file without memory there are only facts.
pub(super) fn first_view(reply: &Reply) -> Option<ViewKind> {
    let Reply::Opened(opened) = reply else {
        return None;
    };
    let has_trace = opened.devices.iter().any(|facts| facts.has_trace);
    let has_memory = |facts: &DeviceFacts| facts.allocations > 0 || facts.peak_reserved_bytes > 0;
    Some(if has_trace {
        ViewKind::Timeline
    } else if !opened.devices.iter().any(has_memory) {
        ViewKind::Facts
    } else {
        ViewKind::Overview
    })
}

impl Tab {
    /// The tab of a file that a worker has just been given.
    #[must_use]
    pub fn opening(id: SessionId, name: String, linked_host: Option<String>) -> Self {
        Self {
            id,
            name,
            linked_host,
            phase: Phase::Opening(Progress::default()),
            copy: 0,
            served: None,
        }
    }

    /// The snapshot, once it is read.
    #[must_use]
    pub fn ready(&self) -> Option<&Rc<OpenFile>> {
        match &self.phase {
            Phase::Ready(file) => Some(file),
            _ => None,
        }
    }

    /// The graphs, once they are read.
    #[must_use]
    pub fn graphs(&self) -> Option<&Rc<OpenGraphs>> {
        match &self.phase {
            Phase::Graphs(graphs) => Some(graphs),
            _ => None,
        }
    }

    /// Whether it holds a fleet.
    #[must_use]
    pub fn is_fleet(&self) -> bool {
        matches!(self.phase, Phase::Fleet(_))
    }

    /// Whether it holds text.
    #[must_use]
    pub fn is_text(&self) -> bool {
        matches!(self.phase, Phase::Text(_))
    }

    /// The file's size, once it is read.
    #[must_use]
    pub fn file_bytes(&self) -> Option<u64> {
        match &self.phase {
            Phase::Ready(file) => Some(file.opened.file.file_bytes),
            Phase::Graphs(graphs) => Some(graphs.opened.file_bytes),
            Phase::Fleet(fleet) => Some(fleet.file_bytes),
            Phase::Text(text) => Some(text.file_bytes),
            Phase::Opening(_) | Phase::Failed(_) => None,
        }
    }

    /// How often its program ran out of memory, on all devices.
    #[must_use]
    pub fn ooms(&self) -> u64 {
        let file = self.ready();
        file.map_or(0, |file| {
            let known = file.opened.devices.iter().filter_map(|facts| facts.ooms);
            known.sum()
        })
    }

    /// Whether the file is one that changes, and its program has not ended.
    #[must_use]
    pub fn is_live(&self) -> bool {
        let recorded = self.ready().and_then(|file| file.opened.file.recorded);
        self.served.is_some() && recorded.is_none_or(|recorded| recorded.is_running)
    }

    /// Takes a message of the worker.
    pub(super) fn take(&mut self, reply: Reply) {
        match reply {
            // A late message on progress must not replace an open file.
            Reply::Progress(progress) if self.file_bytes().is_none() => {
                self.phase = Phase::Opening(progress);
            }
            Reply::Opened(opened) => self.phase = Phase::Ready(Rc::new(OpenFile::new(*opened))),
            Reply::OpenedGraphs(opened) => {
                self.phase = Phase::Graphs(Rc::new(OpenGraphs::new(*opened)));
            }
            Reply::OpenedFleet(opened) => self.phase = Phase::Fleet(opened),
            Reply::OpenedText(opened) => self.phase = Phase::Text(Shared::new(*opened)),
            Reply::Failed(failure) => self.phase = Phase::Failed(Shared::new(*failure)),
            Reply::Reloaded(failure) => {
                if let Phase::Ready(file) = &mut self.phase {
                    let file = Rc::make_mut(file);
                    file.has_next = failure.is_none();
                    file.failures = failure.as_ref().map_or(0, |_| file.failures + 1);
                    file.fault = failure.map(|failure| Shared::new(*failure));
                }
            }
            Reply::Progress(_)
            | Reply::Ready
            | Reply::Mark { .. }
            | Reply::ForPlanner
            | Reply::Answer { .. } => {}
        }
    }
}

impl State {
    /// Gives the tab of a file that was just read a number that no other tab of the same file has.
    pub(super) fn number_copies(&mut self, id: SessionId) {
        let mut tabs = self.tabs.iter();
        let Some(key) = tabs
            .find(|tab| tab.id == id)
            .and_then(|tab| permalink::key(tab))
        else {
            return;
        };
        let others = self
            .tabs
            .iter()
            .filter(|tab| tab.id != id && permalink::names(&key, tab));
        let taken: Vec<u32> = others.map(|tab| tab.copy).collect();
        let copy = (0..).find(|copy| !taken.contains(copy)).unwrap_or(0);
        self.edit_tab(id, |tab| tab.copy = copy);
    }
}

impl OpenFile {
    pub(super) fn new(opened: Opened) -> Self {
        let lanes = LanesChoices::default();
        let whole = |facts| lanes.bounds(facts, Picture::Timeline, Axis::Events);
        let views = opened.devices.iter();
        let views = views
            .map(|facts| DeviceView::new(facts, &whole(facts)))
            .collect();
        Self {
            devices: Shared::new(opened.devices.clone()),
            pools: None,
            opened: Shared::new(opened),
            device: 0,
            axis: Axis::Events,
            picture: Picture::Timeline,
            views,
            lanes,
            version: 0,
            has_next: false,
            failures: 0,
            fault: None,
            dismissed: Vec::new(),
        }
    }

    /// Facts about the shown device, within the chosen memory pools; `None` for a snapshot without devices.
    #[must_use]
    pub fn facts(&self) -> Option<&DeviceFacts> {
        self.devices.get(self.device)
    }

    /// Facts about the shown device as a whole.
    #[must_use]
    pub fn whole_facts(&self) -> Option<&DeviceFacts> {
        self.opened.devices.get(self.device)
    }

    /// Takes the facts within memory pools.
    pub(super) fn narrow(&mut self, within: DevicesOfPools) {
        let both = within.devices.into_iter().zip(&self.opened.devices);
        // What is said of the device is the same in all of its pools.
        let devices = both.map(|(facts, whole)| DeviceFacts {
            notes: whole.notes.clone(),
            colour_by: whole.colour_by,
            segments_colour_by: whole.segments_colour_by,
            ..facts
        });
        let devices = devices.collect();
        self.take_devices(devices, Some(within.pools));
    }

    /// Leaves the memory pools that it was narrowed to.
    pub(super) fn widen(&mut self) {
        let whole = self.opened.devices.clone();
        self.take_devices(whole, None);
    }

    /// Takes other facts of the devices. Views that showed all heights still do.
    fn take_devices(&mut self, devices: Vec<DeviceFacts>, pools: Option<String>) {
        let devices = Shared::new(devices);
        let before = std::mem::replace(&mut self.devices, devices);
        self.pools = pools;
        let facts = before.iter().zip(&**self.devices);
        for ((before, after), view) in facts.zip(&mut self.views) {
            let (picture, axis) = (view.picture, view.axis);
            let bounds = |facts| self.lanes.bounds(facts, picture, axis);
            view.take_facts(after, &bounds(before), &bounds(after));
        }
    }

    /// The view of the shown device.
    #[must_use]
    pub fn view(&self) -> Option<&DeviceView> {
        self.views.get(self.device)
    }

    pub(super) fn view_mut(&mut self) -> Option<&mut DeviceView> {
        self.views.get_mut(self.device)
    }

    /// All notes on the file and the shown device, the file's first, each with its number.
    pub fn notes(&self) -> impl Iterator<Item = (usize, &Note)> {
        let of_device = self.facts().map_or(&[][..], |facts| &facts.notes);
        self.opened.notes.iter().chain(of_device).enumerate()
    }

    /// The notes that have not been closed.
    pub fn open_notes(&self) -> impl Iterator<Item = (usize, &Note)> {
        self.notes()
            .filter(|(number, _)| !self.dismissed.contains(&self.note_key(*number)))
    }

    /// Closes a note. A note of the file closes for all devices.
    fn note_key(&self, number: usize) -> (usize, usize) {
        if number < self.opened.notes.len() {
            (usize::MAX, number)
        } else {
            (self.device, number)
        }
    }

    pub(super) fn dismiss_note(&mut self, number: usize) {
        let key = self.note_key(number);
        self.dismissed.push(key);
    }

    /// Keeps those notes closed that were closed in the last version, whatever numbers they tell now.
    pub(super) fn keep_dismissed(&mut self, before: &Self) {
        let closed = before
            .notes()
            .filter(|(number, _)| before.dismissed.contains(&before.note_key(*number)));
        let words = |note: &Note| {
            note.text
                .replace(|c: char| c.is_ascii_digit() || c == ',', "")
        };
        let closed: Vec<_> = closed.map(|(_, note)| words(note)).collect();
        let again = self
            .notes()
            .filter(|(_, note)| closed.contains(&words(note)));
        self.dismissed = again.map(|(number, _)| self.note_key(number)).collect();
    }

    pub(super) fn restore_notes(&mut self) {
        self.dismissed.clear();
    }

    pub(super) fn choose_device(&mut self, place: usize) {
        if place < self.views.len() {
            if place != self.device
                && let Some(view) = self.view_mut()
            {
                view.hide();
            }
            self.device = place;
            self.choose_axis(self.axis);
            self.choose_picture(self.picture);
        }
    }

    /// The bounds of the shown picture; `None` for a snapshot without devices.
    #[must_use]
    pub fn bounds(&self) -> Option<Bounds> {
        Some(self.bounds_of(self.facts()?, self.axis))
    }

    fn bounds_of(&self, facts: &DeviceFacts, axis: Axis) -> Bounds {
        self.lanes.bounds(facts, self.picture, axis)
    }

    /// Takes other lines over the picture. Views that showed all heights still do.
    pub(super) fn choose_lines(&mut self, lanes: LanesChoices) {
        let before = std::mem::replace(&mut self.lanes, lanes);
        for (facts, view) in self.devices.iter().zip(&mut self.views) {
            // A device that is not shown may still have the picture of an earlier view.
            let (picture, axis) = (view.picture, view.axis);
            let after = lanes.bounds(facts, picture, axis);
            view.fit_heights(&before.bounds(facts, picture, axis), &after);
            let stacking = lanes.stacking(Some(Picture::Timeline));
            view.is_restacked = stacking != Stacking::default();
        }
    }

    /// Takes the height of a device's packing. Views that showed all heights still do.
    pub(super) fn packed(&mut self, device: DeviceIndex, bytes: u64) {
        let mut devices = (*self.devices).clone();
        let Some(place) = devices.iter().position(|facts| facts.device == device) else {
            return;
        };
        let facts = &mut devices[place];
        if facts.packing_bytes >= bytes {
            return;
        }
        let of = |facts: &DeviceFacts, view: &DeviceView| {
            self.lanes.bounds(facts, view.picture, view.axis)
        };
        if let Some(view) = self.views.get_mut(place) {
            let before = of(facts, view);
            facts.packing_bytes = bytes;
            let after = of(facts, view);
            if before != after {
                view.fit_heights(&before, &after);
            }
        }
        self.devices = Shared::new(devices);
    }

    /// Asks for the allocation above or below the pinned one.
    pub(super) fn step_in_stack(&mut self, up: bool) {
        let Some(bounds) = self.bounds() else { return };
        if let Some(view) = self.view_mut() {
            view.step_in_stack(up, &bounds);
        }
    }

    pub(super) fn choose_picture(&mut self, picture: Picture) {
        self.picture = picture;
        let Some(bounds) = self.bounds() else { return };
        if let Some(view) = self.view_mut() {
            view.choose_picture(picture, &bounds);
        }
    }

    /// Shows a place, clamped to what the file holds. The address of one that `is_live` says nothing of moments: what is
    /// shown stays.
    pub(super) fn restore(&mut self, place: &DevicePlace, is_live: bool) {
        let devices = &self.opened.devices;
        let of_device = |device| devices.iter().position(|facts| facts.device == device);
        self.choose_device(place.device.and_then(of_device).unwrap_or(0));
        self.choose_axis(place.axis);
        self.choose_picture(place.picture);
        if is_live {
            return;
        }
        let Some((facts, bounds)) = self.whole_facts().cloned().zip(self.bounds()) else {
            return;
        };
        let is_known = |pinned: &Pinned| match pinned {
            Pinned::Allocation(id) => id.0 < facts.allocations,
            Pinned::Event | Pinned::Segment(_) | Pinned::Group(_) => true,
        };
        let place = DevicePlace {
            cursor: place.cursor.map(|moment| moment.min(facts.events)),
            pinned: place.pinned.filter(is_known),
            ..place.clone()
        };
        if let Some(view) = self.view_mut() {
            view.restore(&place, &bounds);
        }
    }

    pub(super) fn choose_event(&mut self, moment: u32) {
        let Some((facts, bounds)) = self.facts().zip(self.bounds()) else {
            return;
        };
        let moment = moment.min(facts.events);
        if let Some(view) = self.view_mut() {
            view.choose_event(moment, &bounds);
        }
    }

    pub(super) fn go_to_moment(&mut self, moment: u32) {
        let Some((facts, bounds)) = self.facts().zip(self.bounds()) else {
            return;
        };
        let moment = moment.min(facts.events);
        if let Some(view) = self.view_mut() {
            view.go_to_moment(moment, &bounds);
        }
    }

    pub(super) fn scrub(&mut self, moment: u32) {
        let Some(facts) = self.facts() else { return };
        let moment = moment.min(facts.events);
        if let Some(view) = self.view_mut() {
            view.set_cursor(moment);
        }
    }

    pub(super) fn step_cursor(&mut self, forward: bool) {
        let Some(bounds) = self.bounds() else { return };
        if let Some(view) = self.view_mut() {
            view.step_cursor(forward, &bounds);
        }
    }

    /// Takes the chosen axis; that of events if the shown device has no times.
    pub(super) fn choose_axis(&mut self, axis: Axis) {
        self.axis = axis;
        let Some(facts) = self.devices.get(self.device) else {
            return;
        };
        if facts.axes.time.is_none() {
            self.axis = Axis::Events;
        }
        let of = |axis| self.lanes.bounds(facts, self.picture, axis);
        let (axis, bounds) = (self.axis, of(self.axis));
        if let Some(view) = self.views.get_mut(self.device) {
            view.choose_axis(axis, &of(view.axis), &bounds);
        }
    }

    pub(super) fn navigate(&mut self, navigation: Navigation) {
        let Some(bounds) = self.bounds() else { return };
        let axis = self.axis;
        if let Some(view) = self.views.get_mut(self.device) {
            view.navigate(navigation, axis, &bounds);
        }
    }

    pub(super) fn click(&mut self, picture: Picture, at_px: (f64, f64)) {
        let Some(bounds) = self.bounds() else { return };
        if let Some(view) = self.views.get_mut(self.device) {
            view.click(picture, at_px, &bounds);
        }
    }

    /// Takes an answer about a device, even if another one is shown.
    pub(super) fn take(&mut self, answer: Answer) {
        let device = match &answer {
            Answer::Details(details) => details.known.device,
            Answer::Hit(hit) => hit.draw.look.device,
            Answer::Range(facts) => facts.device,
            Answer::Moment(placed) => placed.device,
            _ => return,
        };
        let devices = &self.devices;
        let Some(place) = devices.iter().position(|facts| facts.device == device) else {
            return;
        };
        if matches!(answer, Answer::Hit(_)) && place != self.device {
            return;
        }
        if let (Some(view), Some(facts)) = (self.views.get_mut(place), devices.get(place)) {
            // A device that is not shown may still have the picture of an earlier view.
            let bounds = self.lanes.bounds(facts, view.picture, view.axis);
            view.take(answer, &bounds);
        }
    }
}
