//! The [`Address`] of the page's state, and the steps of the browser's history.

use std::rc::Rc;

use vramscope_view::address::{Address, DevicePlace, FileKey, Span, rounded};
use yew::Reducible;

use super::{Action, Choices, GraphPlace, OpenFile, Pin, State, Tab};

/// The place that the page's address tells.
pub type Permalink = Address<Choices, GraphPlace>;

/// The change of the browser's history after a change of the state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Change {
    /// None, as the address is the same.
    None,
    /// The picture or the cursor moved: the address is replaced, once the movement is over.
    Moved,
    /// Something was typed or chosen: a new step of the history, once that is over.
    Chosen,
    /// Something else is shown: a new step of the history at once.
    Step,
}

/// The place that is shown now; `None` while the current file is being read, or if it cannot be.
#[must_use]
pub fn permalink(state: &State) -> Option<Permalink> {
    if state.current.is_none() {
        return Some(Permalink::default());
    }
    let tab = state.tab()?;
    let file = Some(key(tab)?);
    if let Some(graphs) = tab.graphs() {
        let mut place = graphs.place.clone();
        place.x = place.x.map(rounded);
        return Some(Permalink {
            file,
            graph: Some(place),
            ..Permalink::default()
        });
    }
    if tab.is_fleet() {
        return Some(Permalink {
            file,
            choices: Choices {
                fleet: state.choices.fleet.clone(),
                ..Choices::default()
            },
            ..Permalink::default()
        });
    }
    Some(Permalink {
        file,
        view: Some(state.view),
        colour_by: state.colour_by,
        search: state.search.text.clone(),
        choices: state.choices.clone(),
        place: place_of(tab.ready()?, tab.is_live()),
        graph: None,
    })
}

/// The address as [`permalink`] gives it once its place is shown: without defaults, and clamped to its file. `None`
/// while another file is shown.
#[must_use]
pub fn once_shown(link: &Permalink, state: &State) -> Option<Permalink> {
    let shown = match &link.file {
        Some(key) => Some(find(key, &state.tabs)?.id),
        None => None,
    };
    if shown != state.current {
        return None;
    }
    let restore = Action::Restore(Box::new(link.clone()));
    permalink(&Rc::new(state.clone()).reduce(restore))
}

/// The change of the history from one address to another.
#[must_use]
pub fn change(before: &Permalink, after: &Permalink) -> Change {
    let whole = |link: &Permalink| {
        let DevicePlace {
            device,
            axis,
            pinned,
            ..
        } = link.place;
        let graph = link.graph.as_ref().map(|graph| &graph.name);
        (
            link.file.clone(),
            link.view,
            device,
            axis,
            pinned,
            graph.cloned(),
        )
    };
    let of_graph = |link: &Permalink| {
        let graph = link.graph.as_ref();
        graph.map(|graph| (graph.order, graph.buffer, graph.bars, graph.constant_bytes))
    };
    if whole(before) != whole(after) {
        Change::Step
    } else if (
        &before.search,
        &before.choices,
        before.colour_by,
        before.place.range,
        of_graph(before),
    ) != (
        &after.search,
        &after.choices,
        after.colour_by,
        after.place.range,
        of_graph(after),
    ) {
        Change::Chosen
    } else if before != after {
        Change::Moved
    } else {
        Change::None
    }
}

/// The key of a tab's file; `None` until it is read.
pub(super) fn key(tab: &Tab) -> Option<FileKey> {
    Some(FileKey {
        name: tab.name.clone(),
        // Each version of a file that changes has another size.
        bytes: Some(tab.file_bytes()?).filter(|_| !tab.is_live()),
        copy: tab.copy,
    })
}

/// Whether a tab holds this file, whichever copy of it.
pub(super) fn names(file: &FileKey, tab: &Tab) -> bool {
    file.name == tab.name && (file.bytes.is_none() || file.bytes == tab.file_bytes())
}

/// The tab of this file: the same copy if it is open, else the first.
#[must_use]
pub fn find<'a>(file: &FileKey, tabs: &'a [Rc<Tab>]) -> Option<&'a Rc<Tab>> {
    let named = || tabs.iter().filter(|tab| names(file, tab));
    named()
        .find(|tab| tab.copy == file.copy)
        .or_else(|| named().next())
}

fn place_of(file: &OpenFile, is_live: bool) -> DevicePlace {
    let mut place = DevicePlace {
        device: (file.device > 0)
            .then(|| file.facts().map(|facts| facts.device))
            .flatten(),
        axis: file.axis,
        picture: file.picture,
        ..DevicePlace::default()
    };
    let Some((view, bounds)) = file.view().zip(file.bounds()) else {
        return place;
    };
    if is_live {
        // Moments and numbers of allocations are others in the next version.
        return place;
    }
    let region = view.region;
    let is_whole = |(from, to): Span, end: f64| from <= 0.0 && to >= end;
    let x = (region.x_min, region.x_max);
    let y_bytes = (region.y_min_bytes, region.y_max_bytes);
    place.x = (!is_whole(x, bounds.x_end)).then(|| rounded(x));
    place.y_bytes = (!is_whole(y_bytes, bounds.y_end_bytes)).then(|| rounded(y_bytes));
    place.range = view.range.map(rounded);
    place.cursor = view.cursor_moment();
    place.pinned = view.pin.as_ref().and_then(Pin::address);
    place
}

#[cfg(test)]
mod tests {
    use vramscope_core::ids::AllocationId;

    use super::*;
    use crate::state::ViewKind;
    use vramscope_protocol::views::graph::OrderName;
    use vramscope_view::address::Pinned;

    fn link() -> Permalink {
        Permalink {
            file: Some(FileKey {
                name: "run.pickle".to_owned(),
                bytes: Some(1_048_576),
                copy: 0,
            }),
            view: Some(ViewKind::Table),
            search: "frame:attention".to_owned(),
            place: DevicePlace {
                x: Some((12.5, 900.0)),
                cursor: Some(7),
                pinned: Some(Pinned::Allocation(AllocationId(99))),
                ..DevicePlace::default()
            },
            ..Permalink::default()
        }
    }

    #[test]
    fn graphs_read_like_this() {
        let link = Permalink {
            file: link().file,
            graph: Some(GraphPlace {
                name: "model__0_forward_1_fused".to_owned(),
                order: Some(OrderName::Lpmf),
                x: Some((2.5, 40.0)),
                step: Some(12),
                constant_bytes: 1 << 30,
                ..GraphPlace::default()
            }),
            ..Permalink::default()
        };
        let text = link.to_text();
        // The order of choices is that of JSON's keys, which depends on how serde_json is built.
        let mut words: Vec<&str> = text.split('&').collect();
        words.sort_unstable();
        assert_eq!(
            words,
            [
                "file=run.pickle~1048576",
                "graph.constant_bytes=1073741824",
                "graph.name=model__0_forward_1_fused",
                "graph.order=lpmf",
                "graph.step=12",
                "graph.x=!(2.5,40.0)",
                "v=1",
                "view=graph"
            ]
        );
        assert_eq!(Permalink::parse(&text), Some(link.clone()));
        let other = |edit: fn(&mut GraphPlace)| {
            let mut after = link.clone();
            after.graph.as_mut().map(edit);
            change(&link, &after)
        };
        assert_eq!(other(|graph| graph.step = None), Change::Moved);
        assert_eq!(other(|graph| graph.order = None), Change::Chosen);
        assert_eq!(other(|graph| graph.name.clear()), Change::Step);
    }

    /// Choices that a view does not know leave the others as they are.
    #[test]
    fn unknown_choices_are_skipped() {
        let text =
            "flame.x=!n&flame.later=(a:1)&nonsense.a=1&flame.inverted=!t&view=flame&file=a~1&v=1";
        let choices = Permalink::parse(text).unwrap().choices;
        let mut expected = Choices::default();
        expected.flame.inverted = true;
        assert_eq!(choices, expected);
    }

    #[test]
    fn steps_are_told_from_movements() {
        let before = link();
        let after = |edit: fn(&mut Permalink)| {
            let mut after = before.clone();
            edit(&mut after);
            change(&before, &after)
        };
        assert_eq!(after(|_| {}), Change::None);
        assert_eq!(after(|link| link.place.x = None), Change::Moved);
        assert_eq!(after(|link| link.place.cursor = None), Change::Moved);
        assert_eq!(after(|link| link.search.clear()), Change::Chosen);
        assert_eq!(after(|link| link.place.pinned = None), Change::Step);
        assert_eq!(
            after(|link| link.view = Some(ViewKind::Flame)),
            Change::Step
        );
        assert_eq!(after(|link| link.file = None), Change::Step);
    }
}
