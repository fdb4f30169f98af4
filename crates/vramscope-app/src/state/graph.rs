//! An open file of inductor graphs: the graph, order, steps and buffer that are shown.

use serde::{Deserialize, Serialize};
use vramscope_protocol::views::graph::{Bars, GraphFacts, GraphFile, OrderKey, OrderName};
use vramscope_protocol::{Bounds, Viewport};

use super::Shared;
use super::navigation::{Navigation, whole};

/// A file of graphs that is read.
#[derive(Clone, PartialEq, Debug)]
pub struct OpenGraphs {
    /// The worker's facts about it.
    pub opened: Shared<GraphFile>,
    pub place: GraphPlace,
    /// The worker's facts about the shown order; `None` until they come.
    pub known: Option<KnownOrder>,
    /// The buffer under the pointer, in the picture or in a list.
    pub hovered: Option<u32>,
    /// A place of the picture that was clicked, device px, until the worker tells what is there.
    pub clicked: Option<(f64, f64)>,
}

/// The parts of a file of graphs that are shown; kept in the address.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GraphPlace {
    /// The graph's name; empty for the first.
    pub name: String,
    /// The order; `None` = the one that PyTorch would choose.
    pub order: Option<OrderName>,
    /// First and last step that are seen; `None` = all.
    pub x: Option<(f64, f64)>,
    /// The cursor's step; `None` = that of the peak.
    pub step: Option<u32>,
    /// The number of the selected buffer.
    pub buffer: Option<u32>,
    /// The layout of buffers' lives.
    pub bars: Bars,
    /// Bytes that the user adds for parameters, which the export leaves out.
    pub constant_bytes: u64,
}

/// The worker's facts about the shown order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KnownOrder {
    pub order: OrderName,
    /// The first step with the highest memory.
    pub peak_step: u32,
}

/// A change of the parts that are shown.
#[derive(Clone, PartialEq, Debug)]
pub enum GraphAction {
    /// A graph is chosen, by its index in the file.
    Show(usize),
    /// An order is chosen.
    Order(OrderName),
    /// The cursor goes to a step.
    Step(u32),
    /// The cursor moves by a number of steps; negative = back.
    StepBy(i64),
    /// The pointer comes over a buffer, or leaves it.
    Hover(Option<u32>),
    /// A buffer is selected, or none.
    Select(Option<u32>),
    /// The layout of buffers' lives.
    Bars(Bars),
    /// Bytes are added to memory at every step.
    Constant(u64),
    /// The worker's facts about the shown order; `None` until they come.
    Know(KnownOrder),
    /// The worker tells the step that was clicked and, for a click among the bars, the buffer, if any.
    Clicked(u32, Option<Option<u32>>),
}

impl OpenGraphs {
    pub(super) fn new(opened: GraphFile) -> Self {
        Self {
            opened: Shared::new(opened),
            place: GraphPlace::default(),
            known: None,
            hovered: None,
            clicked: None,
        }
    }

    /// The index of the shown graph in [`GraphFile::graphs`].
    #[must_use]
    pub fn number(&self) -> usize {
        let named = |facts: &GraphFacts| facts.name == self.place.name;
        self.opened.graphs.iter().position(named).unwrap_or(0)
    }

    /// Facts about the shown graph; `None` if the file has no graph, which does not happen.
    #[must_use]
    pub fn facts(&self) -> Option<&GraphFacts> {
        self.opened.graphs.get(self.number())
    }

    /// The key of questions about all orders of the shown graph.
    #[must_use]
    pub fn key(&self) -> OrderKey {
        OrderKey {
            graph: self.number() as u32,
            constant_bytes: self.place.constant_bytes,
            ..OrderKey::default()
        }
    }

    /// The cursor's step; `None` until the peak is known.
    #[must_use]
    pub fn step(&self) -> Option<u32> {
        self.place.step.or(self.known.map(|known| known.peak_step))
    }

    /// First and last step that are seen.
    #[must_use]
    pub fn x(&self) -> (f64, f64) {
        self.place.x.unwrap_or((0.0, self.bounds().x_end))
    }

    /// The bounds of the picture: one step more than there are nodes, for the memory left at the end.
    fn bounds(&self) -> Bounds {
        let nodes = self.facts().map_or(0, |facts| facts.nodes);
        Bounds {
            x_end: f64::from(nodes) + 1.0,
            // The picture fits its heights to the steps that are seen.
            y_end_bytes: 512.0,
        }
    }

    /// Shows a place, clamped to what the file holds.
    pub(super) fn restore(&mut self, place: GraphPlace) {
        let x = place.x;
        self.place = place;
        self.known = None;
        if let Some((from, to)) = x {
            self.navigate(Navigation::ShowX(from, to));
        }
        let end = self.last_step();
        self.place.step = self.place.step.map(|step| step.min(end));
        let buffers = self
            .facts()
            .map_or(0, |facts| facts.buffers + facts.freeable_inputs);
        self.place.buffer = self.place.buffer.filter(|&buffer| buffer < buffers);
    }

    fn last_step(&self) -> u32 {
        self.facts().map_or(0, |facts| facts.nodes)
    }

    pub(super) fn navigate(&mut self, navigation: Navigation) {
        let bounds = self.bounds();
        if navigation == Navigation::Peak {
            self.place.step = None;
            return self.reveal();
        }
        let (x_min, x_max) = self.x();
        let region = Viewport {
            x_min,
            x_max,
            ..whole(&bounds)
        };
        let shown = navigation.apply(region, &bounds);
        let is_whole = shown.x_min <= 0.0 && shown.x_max >= bounds.x_end;
        self.place.x = (!is_whole).then_some((shown.x_min, shown.x_max));
    }

    /// Moves the picture so that the cursor is seen.
    fn reveal(&mut self) {
        let (Some(step), Some((from, to))) = (self.step(), self.place.x) else {
            return;
        };
        let step = f64::from(step);
        let (before, after) = (from - step, step + 1.0 - to);
        if before > 0.0 || after > 0.0 {
            let length = to - from;
            // A far cursor comes to the middle. A near one comes just into sight, so that the picture moves little.
            let is_far = before.max(after) > length / 4.0;
            let start = if is_far {
                step + 0.5 - length / 2.0
            } else if before > 0.0 {
                step
            } else {
                step + 1.0 - length
            };
            self.navigate(Navigation::ShowX(start.max(0.0), start.max(0.0) + length));
        }
    }

    pub(super) fn act(&mut self, action: GraphAction) {
        match action {
            GraphAction::Show(number) => {
                let name = self.opened.graphs.get(number).map(|facts| &facts.name);
                let name = name.cloned().unwrap_or_default();
                let is_first = number == 0;
                let GraphPlace { order, bars, .. } = self.place;
                self.place = GraphPlace {
                    name: if is_first { String::new() } else { name },
                    // The order stays, so that graphs can be compared. The added bytes belong to the old graph.
                    order,
                    bars,
                    ..GraphPlace::default()
                };
                (self.known, self.hovered) = (None, None);
            }
            GraphAction::Hover(buffer) => self.hovered = buffer,
            GraphAction::Order(order) => self.place.order = Some(order),
            GraphAction::Step(step) => self.go(step),
            GraphAction::StepBy(by) => {
                let step = i64::from(self.step().unwrap_or(0)).saturating_add(by);
                self.go(u32::try_from(step.max(0)).unwrap_or(u32::MAX));
            }
            GraphAction::Select(buffer) => self.place.buffer = buffer,
            GraphAction::Bars(bars) => self.place.bars = bars,
            GraphAction::Constant(bytes) => self.place.constant_bytes = bytes,
            GraphAction::Know(known) => self.known = Some(known),
            GraphAction::Clicked(step, buffer) => {
                self.clicked = None;
                self.place.buffer = buffer.unwrap_or(self.place.buffer);
                self.go(step);
            }
        }
    }

    fn go(&mut self, step: u32) {
        self.place.step = Some(step.min(self.last_step()));
        self.reveal();
    }

    pub(super) fn click(&mut self, at_px: (f64, f64)) {
        self.clicked = Some(at_px);
    }

    /// Clears the selected buffer, or, if there is none, the cursor.
    pub(super) fn let_go(&mut self) {
        if self.place.buffer.take().is_none() {
            self.place.step = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use yew::Reducible;

    use super::*;
    use crate::engine::SessionId;
    use crate::state::keys::{Command, Press, command};
    use crate::state::{Action, Permalink, State, ViewKind, permalink};
    use vramscope_protocol::Reply;

    fn file() -> GraphFile {
        let facts = |name: &str, nodes| GraphFacts {
            name: name.to_owned(),
            nodes,
            buffers: nodes,
            freeable_inputs: 2,
            freeable_bytes: 1_024,
        };
        GraphFile {
            name: "trace.log".to_owned(),
            file_bytes: 4_096,
            graphs: vec![facts("forward", 1_000), facts("backward", 50)],
            notes: Vec::new(),
            read_ms: 1.0,
        }
    }

    /// A page, changed one action at a time.
    struct Page(Rc<State>);

    impl Page {
        fn with_graphs() -> Self {
            let mut page = Self(Rc::new(State::default()));
            page.open();
            page
        }

        fn open(&mut self) {
            let id = SessionId(1);
            self.act(Action::Open {
                id,
                name: "trace.log".to_owned(),
                linked_host: None,
                served: None,
            });
            let opened = Reply::OpenedGraphs(Box::new(file()));
            self.act(Action::Reply(id, Shared::new(opened)));
        }

        fn act(&mut self, action: Action) {
            self.0 = self.0.clone().reduce(action);
        }

        fn key(&mut self, key: &str) {
            let press = Press {
                key: key.to_owned(),
                ..Press::default()
            };
            if let Some(Command::Act(action)) = command(&press, &self.0) {
                self.act(action);
            }
        }

        fn graphs(&self) -> &OpenGraphs {
            self.0.tab().unwrap().graphs().unwrap()
        }

        fn know(&mut self, peak_step: u32) {
            let order = OrderName::Lpmf;
            self.act(Action::Graph(GraphAction::Know(KnownOrder {
                order,
                peak_step,
            })));
        }
    }

    #[test]
    fn nothing_of_a_snapshot_is_there() {
        let mut page = Page::with_graphs();
        assert!(page.0.file().is_none());
        for key in ["/", "t", "6", "9", ",", "i", "n"] {
            let before = page.0.clone();
            page.key(key);
            assert_eq!(page.0.view, before.view, "{key}");
            assert_eq!(
                page.graphs(),
                before.tab().unwrap().graphs().unwrap().as_ref()
            );
        }
    }

    #[test]
    fn arrows_step_from_the_peak_and_stop_at_the_ends() {
        let mut page = Page::with_graphs();
        assert_eq!(page.graphs().step(), None);
        page.know(20);
        page.key("ArrowRight");
        page.key("PageDown");
        assert_eq!(page.graphs().step(), Some(41));
        page.key("End");
        page.key("ArrowDown");
        assert_eq!(page.graphs().step(), Some(1_000));
        page.key("Home");
        page.key("ArrowLeft");
        assert_eq!(page.graphs().step(), Some(0));
        page.key("p");
        assert_eq!(page.graphs().step(), Some(20));
    }

    #[test]
    fn the_picture_follows_the_cursor_only_when_it_must() {
        let mut page = Page::with_graphs();
        page.know(100);
        page.act(Action::Navigate(Navigation::ShowX(90.0, 110.0)));
        page.key("ArrowRight");
        assert_eq!(page.graphs().x(), (90.0, 110.0));
        page.act(Action::Graph(GraphAction::Step(110)));
        assert_eq!(page.graphs().x(), (91.0, 111.0));
        page.act(Action::Graph(GraphAction::Step(600)));
        assert_eq!(page.graphs().x(), (590.5, 610.5));
        page.key("0");
        assert_eq!(page.graphs().x(), (0.0, 1_001.0));
        assert_eq!(page.graphs().place.x, None);
    }

    #[test]
    fn another_graph_begins_at_its_peak_in_the_same_order() {
        let mut page = Page::with_graphs();
        page.key("2");
        page.act(Action::Graph(GraphAction::Step(700)));
        page.act(Action::Graph(GraphAction::Select(Some(900))));
        page.act(Action::Graph(GraphAction::Constant(5)));
        page.key("]");
        assert_eq!(page.graphs().number(), 1);
        let place = &page.graphs().place;
        assert_eq!((place.order, place.step), (Some(OrderName::Lpmf), None));
        assert_eq!((place.buffer, place.constant_bytes), (None, 0));
        page.key("]");
        assert_eq!(page.graphs().number(), 0);
        page.key("[");
        assert_eq!(page.graphs().number(), 1);
    }

    #[test]
    fn a_graph_without_nodes_can_be_left() {
        let mut page = Page::with_graphs();
        let mut empty = file();
        empty.graphs[0].nodes = 0;
        let opened = Shared::new(Reply::OpenedGraphs(Box::new(empty)));
        page.act(Action::Reply(SessionId(1), opened));
        page.key("]");
        assert_eq!(page.graphs().number(), 1);
    }

    #[test]
    fn graphs_leave_the_view_of_snapshots_as_it_is() {
        let mut page = Page(Rc::new(State::default()));
        page.act(Action::View(ViewKind::WhatIf));
        page.open();
        assert_eq!(page.0.view, ViewKind::WhatIf);
    }

    #[test]
    fn escape_lets_go_of_the_buffer_and_then_of_the_step() {
        let mut page = Page::with_graphs();
        page.act(Action::Graph(GraphAction::Clicked(7, Some(Some(3)))));
        assert_eq!(page.graphs().place.buffer, Some(3));
        page.act(Action::Graph(GraphAction::Clicked(9, None)));
        assert_eq!(page.graphs().place.buffer, Some(3));
        page.key("Escape");
        assert_eq!(page.graphs().place.buffer, None);
        assert_eq!(page.graphs().place.step, Some(9));
        page.key("Escape");
        assert_eq!(page.graphs().place.step, None);
    }

    #[test]
    fn the_address_brings_everything_back() {
        let mut page = Page::with_graphs();
        page.key("]");
        page.key("5");
        page.act(Action::Navigate(Navigation::ShowX(10.0, 30.0)));
        page.act(Action::Graph(GraphAction::Clicked(12, Some(Some(3)))));
        page.act(Action::Graph(GraphAction::Bars(Bars::Packed)));
        page.act(Action::Graph(GraphAction::Constant(1 << 30)));
        let text = permalink(&page.0).unwrap().to_text();
        let link = Permalink::parse(&text).unwrap();
        let mut other = Page::with_graphs();
        other.act(Action::Restore(Box::new(link.clone())));
        assert_eq!(other.graphs().place, page.graphs().place);

        // Before its file is open.
        let mut later = Page(Rc::new(State::default()));
        later.act(Action::Restore(Box::new(link)));
        later.open();
        assert_eq!(later.graphs().place, page.graphs().place);
    }

    #[test]
    fn an_address_is_cut_to_what_there_is() {
        let mut page = Page::with_graphs();
        let mut link = permalink(&page.0).unwrap();
        link.graph = Some(GraphPlace {
            name: "nowhere".to_owned(),
            step: Some(5_000),
            buffer: Some(5_000),
            x: Some((900.0, 9_000.0)),
            ..GraphPlace::default()
        });
        page.act(Action::Restore(Box::new(link)));
        let graphs = page.graphs();
        assert_eq!((graphs.number(), graphs.step()), (0, Some(1_000)));
        assert_eq!(graphs.place.buffer, None);
        assert!(graphs.x().1 <= 1_001.0 && graphs.x().0 < graphs.x().1);
    }
}
