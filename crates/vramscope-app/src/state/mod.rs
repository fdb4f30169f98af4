//! The page's state: one value, changed only by [`Action`]s, without any DOM.
//!
//! ```text
//! event ─> Action ─> reduce ─> State ─> components
//!                                └─> hooks ask the workers ─> Answer ─> Action
//! ```
//!
//! Everything here runs natively, so the tests drive the page without a browser.

mod action;
pub mod brush;
pub mod choices;
mod click;
pub mod door;
pub mod figures;
mod file;
pub mod fleet_words;
pub mod gesture;
mod graph;
pub mod graph_words;
pub mod keys;
pub mod lane_words;
pub mod linked;
pub mod live;
pub mod motion;
mod navigation;
pub mod permalink;
mod pin;
pub mod saved;
#[cfg(test)]
mod saved_tests;
pub mod search_box;
pub mod selected;
pub mod sentences;
mod shared;
pub mod sides;
pub mod stacks;
#[cfg(test)]
mod tests;
mod theme;
pub mod told;
pub mod typed_size;
mod view;

use std::rc::Rc;

use vramscope_core::analysis::search::filter::Filter;
use vramscope_protocol::views::filter::FilterText;
use vramscope_protocol::views::flame::{About, TreeKind};
use vramscope_protocol::{Answer, ColourBy, Picture, Reply};
use yew::Reducible;

pub use action::Action;
pub use choices::{Choices, Chosen, LanesChoices, RangeChoices};
pub use click::{Click, picture_of};
pub use file::{OpenFile, Phase, Tab};
pub use graph::{GraphAction, GraphPlace, KnownOrder, OpenGraphs};
use live::Live;
pub use live::LiveChoices;
pub use navigation::{Navigation, Walk};
pub use permalink::{Permalink, permalink};
pub use pin::{Pin, PinnedGroup, PinnedSegment};
use selected::Places;
pub use shared::Shared;
pub use theme::ThemeChoice;
pub use view::{Cursor, DeviceView, Hovered, StackStep};
pub use vramscope_view::views::ViewKind;

use crate::engine::SessionId;
use vramscope_core::ids::AllocationId;

/// The least and the largest width of the details panel, in CSS px.
pub const DETAILS_WIDTH_PX: (f64, f64) = (320.0, 480.0);

/// The search, which is the same in all files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Search {
    /// The text of the search box.
    pub text: String,
    /// Counts requests for the next match, with the direction of the last one; `true` = forward.
    pub next: (u32, bool),
}

impl Search {
    /// Whether anything is searched for.
    #[must_use]
    pub fn is_on(&self) -> bool {
        !self.text.trim().is_empty()
    }

    /// The filter for a device with this view; `None` if everything matches.
    #[must_use]
    pub fn filter(&self, view: Option<&DeviceView>) -> Option<FilterText> {
        let cursor = view.and_then(DeviceView::cursor_moment);
        FilterText::of(&self.text, cursor, view.and_then(DeviceView::moments))
    }

    /// The memory pool that the search is narrowed to, as a search; `None` if it is narrowed to none.
    #[must_use]
    pub fn pool(&self) -> Option<String> {
        let pool = Filter::parse(&self.text).ok()?.pool()?;
        Some(Filter::default().in_pool(Some(pool)).to_string())
    }

    /// The text of the search narrowed to a memory pool, which is given as a search, or to none.
    #[must_use]
    pub fn in_pool(&self, pool: Option<&str>) -> String {
        let pool = pool.and_then(|pool| Filter::parse(pool).ok()?.pool());
        let filter = Filter::parse(&self.text).unwrap_or_default();
        filter.in_pool(pool).to_string()
    }
}

/// The whole page.
#[derive(Clone, PartialEq, Debug)]
pub struct State {
    /// Open files in the order of their tabs.
    pub tabs: Vec<Rc<Tab>>,
    /// The file that is shown; `None` = the start page.
    pub current: Option<SessionId>,
    /// The view that is shown.
    pub view: ViewKind,
    /// How often the findings were asked for since the view was chosen.
    pub explained: u32,
    pub theme: ThemeChoice,
    /// The meaning of colours, the same in all files so that they compare; `None` until the user chooses one.
    pub colour_by: Option<ColourBy>,
    pub search: Search,
    pub choices: Choices,
    /// Whether the details panel is unfolded.
    pub details_open: bool,
    /// The width of the details panel in CSS px.
    pub details_width_px: f64,
    /// Whether the next drag zooms to a box.
    pub box_mode: bool,
    /// Whether drags measure.
    pub ruler_mode: bool,
    /// Whether the help is shown.
    pub help_open: bool,
    /// The address to show once its file is open.
    pub wanted: Option<Rc<Permalink>>,
    /// The hosts of files that the page's address names and that wait for the user's word, one per file.
    pub offered: Rc<[String]>,
    /// Whether the user lets files of the page's address be large.
    pub large_allowed: bool,
    /// What the page's server tells of files that change.
    pub live: Live,
    /// Whether the page is shown inside another one, which chooses its files and its theme.
    pub is_embedded: bool,
}

impl Default for State {
    fn default() -> Self {
        Self {
            tabs: Vec::new(),
            current: None,
            view: ViewKind::Timeline,
            explained: 0,
            theme: ThemeChoice::System,
            colour_by: None,
            search: Search::default(),
            choices: Choices::default(),
            details_open: true,
            details_width_px: 360.0,
            box_mode: false,
            ruler_mode: false,
            help_open: false,
            wanted: None,
            offered: Rc::default(),
            large_allowed: false,
            live: Live::default(),
            is_embedded: false,
        }
    }
}

impl State {
    #[must_use]
    pub fn tab(&self) -> Option<&Rc<Tab>> {
        let current = self.current?;
        self.tabs.iter().find(|tab| tab.id == current)
    }

    /// The title of the browser's tab: it names the file, so that several windows can be told apart.
    #[must_use]
    pub fn title(&self) -> String {
        match self.tab() {
            Some(tab) => format!("{} – vramscope", tab.name),
            None => "vramscope".to_owned(),
        }
    }

    /// The snapshot that is shown, once it is read.
    #[must_use]
    pub fn file(&self) -> Option<&Rc<OpenFile>> {
        self.tab()?.ready()
    }

    /// The moments of the shown device that views refer to, and what is selected.
    #[must_use]
    pub fn places(&self) -> Option<Places> {
        let (facts, view) = self.file().and_then(|file| file.facts().zip(file.view()))?;
        Some(Places::of(facts, view, self.choices.range.of))
    }

    /// What colours stand for: what the user chose, or else what tells most of the shown picture.
    #[must_use]
    pub fn colours(&self) -> ColourBy {
        let of_file = || {
            let facts = self.file()?.facts()?;
            Some(match self.view.picture() {
                Some(Picture::Segments) => facts.segments_colour_by,
                _ => facts.colour_by,
            })
        };
        self.colour_by.or_else(of_file).unwrap_or_default()
    }

    /// Whether the flame graph is below the timeline.
    #[must_use]
    pub fn is_split(&self) -> bool {
        self.view == ViewKind::Timeline && self.choices.split.flame
    }

    /// What the flame graph on the page is about, and its tree; `None` if there is none.
    #[must_use]
    pub fn flame(&self) -> Option<(About, TreeKind)> {
        let (facts, places) = (self.file()?.facts()?, self.places()?);
        let choices = &self.choices.flame;
        let selection = match self.view {
            ViewKind::Flame => choices.what.selection(&places),
            _ if self.is_split() => places.selected(),
            _ => return None,
        };
        let filter = self.search.filter(self.file()?.view());
        Some((
            choices.about(facts.device, filter, selection),
            choices.tree(),
        ))
    }

    fn has_click(&self) -> bool {
        self.file()
            .and_then(|file| file.view())
            .is_some_and(|view| view.clicked.is_some())
    }

    fn has_pin(&self) -> bool {
        self.file()
            .and_then(|file| file.view())
            .is_some_and(|view| view.pin.is_some())
    }

    fn open(&mut self, tab: Tab) {
        self.current = Some(tab.id);
        self.tabs.push(Rc::new(tab));
    }

    fn apply(&mut self, action: Action) {
        match action {
            Action::Open {
                id,
                name,
                linked_host,
                served,
            } => self.open(Tab {
                served,
                ..Tab::opening(id, name, linked_host)
            }),
            Action::News(news) => self.hear(news),
            Action::Offer(hosts) => self.offered = hosts.into(),
            Action::AllowLarge => self.large_allowed = true,
            Action::Reply(id, reply) => self.take(id, reply),
            Action::Answer(id, answer) => self.take_answer(id, answer),
            Action::Close(id) => self.close(id),
            Action::Switch(id) => self.current = Some(id),
            Action::SwitchBy(steps) => self.switch_by(steps),
            Action::ShowStart => self.current = None,
            Action::View(view) => self.show(view),
            Action::Explain => self.explain(),
            Action::ColourBy(colour_by) => self.colour_by = Some(colour_by),
            Action::Search(text) => self.search.text = text,
            Action::NextMatch(is_forward) => {
                self.search.next = (self.search.next.0 + 1, is_forward)
            }
            Action::Choose(chosen) => self.choices.take(chosen),
            Action::Restore(link) => self.restore(*link),
            Action::Await(link) => self.wanted = Some(Rc::from(link)),
            Action::DrawReplay(settings) => self.draw_replay(*settings),
            Action::Theme(theme) => self.theme = theme,
            Action::BoxMode(on) => (self.box_mode, self.ruler_mode) = (on, false),
            Action::RulerMode(on) => (self.box_mode, self.ruler_mode) = (false, on),
            Action::Help(open) => self.help_open = open,
            Action::Details(open) => self.details_open = open,
            Action::DetailsWidth(width_px) => {
                let (least, most) = DETAILS_WIDTH_PX;
                self.details_width_px = width_px.clamp(least, most);
            }
            Action::LetGo => self.let_go(),
            Action::Device(place) => self.edit_file(|file| file.choose_device(place)),
            Action::Axis(axis) => self.edit_file(|file| file.choose_axis(axis)),
            Action::Navigate(navigation) => {
                // The mode ends with the box: else the next pan would be another zoom.
                self.box_mode = false;
                self.edit_file(|file| file.navigate(navigation));
                self.edit_graphs(|graphs| graphs.navigate(navigation));
                self.details_open |= matches!(navigation, Navigation::Event(_));
            }
            Action::Click(picture, at_px) => {
                self.edit_file(|file| file.click(picture, at_px));
                self.edit_graphs(|graphs| graphs.click(at_px));
                // A click asks for details, so the panel opens if it was folded away.
                self.details_open |= self.has_pin();
            }
            Action::Packed(device, bytes) => self.edit_file(|file| file.packed(device, bytes)),
            Action::DismissNote(note) => self.edit_file(|file| file.dismiss_note(note)),
            Action::RestoreNotes => self.edit_file(OpenFile::restore_notes),
            Action::Graph(action) => self.edit_graphs(|graphs| graphs.act(action)),
            other => self.apply_selection(other),
        }
    }

    /// The actions that point at, follow, select or pin something without a click in a picture.
    fn apply_selection(&mut self, action: Action) {
        match action {
            Action::Follow(on) => self.follow(on),
            Action::SelectMoments(moments) => self.edit_view(|view| view.select_moments(moments)),
            Action::Select(range) => self.edit_view(|view| view.select(range)),
            Action::SelectBetween(from, to) => self.edit_view(|view| view.select_between(from, to)),
            Action::LightUp(of) => self.edit_view(|view| view.lit = of),
            Action::Point(is_over) => self.edit_view(|view| view.point(is_over)),
            Action::Moment(moment) => self.edit_file(|file| file.go_to_moment(moment)),
            Action::Scrub(moment) => self.edit_file(|file| file.scrub(moment)),
            Action::StepCursor(forward) => self.edit_file(|file| file.step_cursor(forward)),
            Action::Pin(allocation) => self.edit_view(|view| view.pin(allocation)),
            Action::StepInStack(up) => self.edit_file(|file| file.step_in_stack(up)),
            Action::SteppedInStack(to) => self.stepped_in_stack(to),
            Action::ChooseEvent(moment) => {
                self.edit_file(|file| file.choose_event(moment));
                self.details_open |= self.has_pin();
            }
            Action::PinGroup(group) => {
                self.edit_view(|view| view.pin_group(group));
                self.details_open |= self.has_pin();
            }
            _ => {}
        }
    }

    fn take(&mut self, id: SessionId, reply: Shared<Reply>) {
        let Some(reply) = reply.into_inner() else {
            return;
        };
        let first_view = file::first_view(&reply);
        let has_opened = first_view.is_some()
            || matches!(
                reply,
                Reply::OpenedGraphs(_) | Reply::OpenedFleet(_) | Reply::OpenedText(_)
            );
        self.edit_tab(id, |tab| tab.take(reply));
        // Graphs have a view of their own. The view of snapshots stays for when one is shown again.
        if let Some(view) = first_view.filter(|_| self.current == Some(id)) {
            self.view = view;
        }
        if has_opened {
            self.number_copies(id);
            self.restore_wanted(id);
        }
    }

    fn take_answer(&mut self, id: SessionId, answer: Shared<Answer>) {
        let Some(answer) = answer.into_inner() else {
            return;
        };
        if let Answer::Devices(within) = answer {
            // The search may have changed since.
            if self.search.pool().as_ref() == Some(&within.pools) {
                self.edit_ready(id, |file| file.narrow(*within));
            }
            return;
        }
        if let Answer::Adopt(adopted) = answer {
            let follow = self.choices.live.follow;
            return self.edit_ready(id, |file| live::adopt(file, *adopted, follow));
        }
        let had_click = self.has_click();
        self.edit_ready(id, |file| file.take(answer));
        // The click has its answer.
        self.details_open |= had_click && !self.has_click() && self.has_pin();
    }

    fn stepped_in_stack(&mut self, to: Option<AllocationId>) {
        self.edit_view(|view| view.stepped_in_stack(to));
        self.details_open |= to.is_some();
    }

    fn draw_replay(&mut self, settings: choices::SettingChanges) {
        self.choices.what_if.settings = settings;
        self.choices.lanes.replayed = true;
        self.show(ViewKind::Timeline);
    }

    fn explain(&mut self) {
        let before = self.explained;
        self.show(ViewKind::Overview);
        self.explained = before + 1;
    }

    fn show(&mut self, view: ViewKind) {
        self.view = view;
        self.explained = 0;
        // Another view has other things under the pointer.
        self.edit_view(DeviceView::hide);
        self.box_mode &= view.picture().is_some();
        self.ruler_mode &= view.picture().is_some();
    }

    /// Shows the picture of the current view in the current file, after either has changed.
    fn follow_view(&mut self) {
        let shown =
            |file: &Rc<OpenFile>| (Some(file.picture), file.view().map(|view| view.picture));
        if let Some(picture) = self.view.picture()
            && self
                .file()
                .is_some_and(|file| shown(file) != (Some(picture), Some(picture)))
        {
            self.edit_file(|file| file.choose_picture(picture));
        }
    }

    /// Shows the place of a permalink; the start page until its file is open.
    fn restore(&mut self, link: Permalink) {
        let key = link.file.as_ref();
        let tab = key.and_then(|key| permalink::find(key, &self.tabs));
        self.current = tab.map(|tab| tab.id);
        if self.current.is_none() {
            self.wanted = key.is_some().then(|| Rc::new(link));
            return;
        }
        if let Some(place) = link.graph {
            // An address of graphs or of a fleet says nothing of the choices for snapshots.
            return self.edit_graphs(|graphs| graphs.restore(place));
        }
        if self.tab().is_some_and(|tab| tab.is_fleet()) {
            self.choices.fleet = link.choices.fleet;
            return;
        }
        self.view = link.view.unwrap_or_default();
        self.colour_by = link.colour_by;
        self.search.text = link.search;
        self.choices = link.choices;
        // First the lines: they can make the picture higher, and the place is clamped to its height.
        self.share_lines();
        let is_live = self.tab().is_some_and(|tab| tab.is_live());
        self.edit_file(|file| file.restore(&link.place, is_live));
        self.box_mode = false;
    }

    /// Shows the waiting address if this is its file.
    fn restore_wanted(&mut self, id: SessionId) {
        let tab = self.tabs.iter().find(|tab| tab.id == id);
        let is_it = |link: &Rc<Permalink>| {
            let key = link.file.as_ref().zip(tab);
            key.is_some_and(|(key, tab)| permalink::names(key, tab))
        };
        if let Some(link) = self.wanted.take_if(|link| is_it(link)) {
            self.restore((*link).clone());
        }
    }

    fn close(&mut self, id: SessionId) {
        let Some(place) = self.tabs.iter().position(|tab| tab.id == id) else {
            return;
        };
        self.tabs.remove(place);
        if self.current == Some(id) {
            let neighbour = self.tabs.get(place).or_else(|| self.tabs.last());
            self.current = neighbour.map(|tab| tab.id);
        }
    }

    fn switch_by(&mut self, steps: isize) {
        let count = self.tabs.len();
        let at = self
            .tabs
            .iter()
            .position(|tab| Some(tab.id) == self.current)
            .unwrap_or(0);
        if count > 0 {
            let count = count.cast_signed();
            let next = (at.cast_signed() + steps).rem_euclid(count);
            self.current = Some(self.tabs[next.cast_unsigned()].id);
        }
    }

    /// Whether there is nothing that [`Action::LetGo`] would let go.
    pub(super) fn holds_nothing(&self) -> bool {
        let mut after = self.clone();
        after.let_go();
        after == *self
    }

    fn let_go(&mut self) {
        if self.help_open {
            self.help_open = false;
        } else if self.box_mode || self.ruler_mode {
            (self.box_mode, self.ruler_mode) = (false, false);
        } else {
            self.edit_view(DeviceView::let_go);
            self.edit_graphs(OpenGraphs::let_go);
            if self.tab().is_some_and(|tab| tab.is_fleet()) {
                self.choices.fleet.rank = None;
            }
        }
    }

    /// Gives all files the chosen lines over pictures, those included that open later.
    fn share_lines(&mut self) {
        let lanes = self.choices.lanes;
        for tab in &mut self.tabs {
            if tab.ready().is_some_and(|file| file.lanes != lanes)
                && let Phase::Ready(file) = &mut Rc::make_mut(tab).phase
            {
                Rc::make_mut(file).choose_lines(lanes);
            }
        }
    }

    /// Widens all files again once the search names no memory pool.
    fn follow_search(&mut self) {
        let is_narrow = |tab: &Rc<Tab>| tab.ready().is_some_and(|file| file.pools.is_some());
        if !self.tabs.iter().any(is_narrow) || self.search.pool().is_some() {
            return;
        }
        let narrow = self.tabs.iter().filter(|tab| is_narrow(tab));
        let ids: Vec<_> = narrow.map(|tab| tab.id).collect();
        ids.into_iter()
            .for_each(|id| self.edit_ready(id, OpenFile::widen));
    }

    fn edit_tab(&mut self, id: SessionId, edit: impl FnOnce(&mut Tab)) {
        if let Some(tab) = self.tabs.iter_mut().find(|tab| tab.id == id) {
            edit(Rc::make_mut(tab));
        }
    }

    fn edit_file(&mut self, edit: impl FnOnce(&mut OpenFile)) {
        let Some(current) = self.current else { return };
        self.edit_ready(current, edit);
    }

    fn edit_ready(&mut self, id: SessionId, edit: impl FnOnce(&mut OpenFile)) {
        self.edit_tab(id, |tab| {
            if let Phase::Ready(file) = &mut tab.phase {
                edit(Rc::make_mut(file));
            }
        });
    }

    fn edit_graphs(&mut self, edit: impl FnOnce(&mut OpenGraphs)) {
        let Some(current) = self.current else { return };
        self.edit_tab(current, |tab| {
            if let Phase::Graphs(graphs) = &mut tab.phase {
                edit(Rc::make_mut(graphs));
            }
        });
    }

    fn edit_view(&mut self, edit: impl FnOnce(&mut DeviceView)) {
        self.edit_file(|file| {
            if let Some(view) = file.view_mut() {
                edit(view);
            }
        });
    }
}

impl Reducible for State {
    type Action = Action;

    fn reduce(self: Rc<Self>, action: Action) -> Rc<Self> {
        let mut state = self.clone();
        let inner = Rc::make_mut(&mut state);
        inner.apply(action);
        inner.follow_newest(&self);
        inner.follow_view();
        inner.share_lines();
        inner.follow_search();
        state
    }
}
