//! The question for a picture of the visible view.

use vramscope_protocol::DeviceFacts;
use vramscope_protocol::views::{compare, export};
use vramscope_view::flame::NodeKey;
use vramscope_view::plot::views::{AllocatorView, FlameView, OverTimeView, Sheet, View};
use vramscope_view::views::{Picture, ViewKind};

use super::choices::ComparePanel;
use super::sides::{Side, compared, host, side};
use super::{DeviceView, OpenFile, State, navigation};
use crate::engine::SessionId;

/// A question whose answer is an SVG file.
#[derive(Clone, PartialEq, Debug)]
pub enum Saved {
    /// For the worker of the shown file.
    View(export::Question),
    /// For the worker that compares.
    Comparison(SessionId, compare::Question),
}

impl Saved {
    /// The question for a picture of the visible view, without what the user marked in it; `None` for tables and texts.
    #[must_use]
    pub fn of(state: &State, sheet: Sheet) -> Option<Self> {
        let (tab, file) = (state.tab()?, state.file()?);
        let (facts, device) = (file.facts()?, file.view()?);
        let view = match state.view {
            ViewKind::Timeline | ViewKind::Segments | ViewKind::Map => {
                let picture = state.view.picture()?;
                View::OverTime(over_time(state, (file, facts, device), picture)?)
            }
            ViewKind::Allocator => View::Allocator(allocator(state, facts, device)),
            ViewKind::Flame => View::Flame(flame(state)?),
            ViewKind::Compare => return comparison(state, tab.id, sheet),
            ViewKind::Overview | ViewKind::Table | ViewKind::WhatIf | ViewKind::Facts => {
                return None;
            }
        };
        Some(Self::View(export::Question::Picture {
            device: facts.device,
            view,
            sheet,
            file: tab.name.clone(),
            filter: state.search.filter(Some(device)),
            replay: (state.view.picture()).and_then(|picture| state.choices.drawn_replay(picture)),
        }))
    }
}

fn over_time(
    state: &State,
    (file, facts, device): (&OpenFile, &DeviceFacts, &DeviceView),
    picture: Picture,
) -> Option<OverTimeView> {
    let (seen, whole) = (device.region, navigation::whole(&file.bounds()?));
    let part = |seen: (f64, f64), whole: (f64, f64)| (seen != whole).then_some(seen);
    Some(OverTimeView {
        picture,
        axis: file.axis,
        colour_by: state.colours(),
        x: part((seen.x_min, seen.x_max), (whole.x_min, whole.x_max)),
        y_bytes: part(
            (seen.y_min_bytes, seen.y_max_bytes),
            (whole.y_min_bytes, whole.y_max_bytes),
        ),
        lines: state.choices.lanes.lines(facts, picture),
        is_folded: state.choices.lanes.folded,
        stacking: state.choices.lanes.stacking(Some(picture)),
    })
}

fn allocator(state: &State, facts: &DeviceFacts, device: &DeviceView) -> AllocatorView {
    let moment = device.cursor_moment().unwrap_or(facts.peak_moment);
    AllocatorView {
        moment: moment.min(facts.events),
        colour_by: state.colours(),
    }
}

fn flame(state: &State) -> Option<FlameView> {
    let choices = &state.choices.flame;
    Some(FlameView {
        selection: choices.what.selection(&state.places()?),
        colour_by: state.colours(),
        weight: choices.weight,
        grouping: choices.grouping,
        fold: choices.fold,
        patterns: choices.patterns.clone(),
        is_inverted: choices.inverted,
        by_place: choices.by_place,
        shape: choices.form.shape()?,
        focus: choices.focus.unwrap_or(NodeKey::ROOT),
    })
}

fn comparison(state: &State, current: SessionId, sheet: Sheet) -> Option<Saved> {
    let choices = &compared(&state.choices.compare, &state.tabs, current);
    if choices.panel != ComparePanel::Flame {
        return None;
    }
    let before = side(&choices.before, &state.tabs, current)?;
    let after = side(&choices.after, &state.tabs, current)?;
    let recording = |side: &Side| (side.id, side.device);
    let question = compare::Question::Picture {
        selections: [before.selection, after.selection],
        is_one_recording: recording(&before) == recording(&after),
        width: choices.width,
        unit: choices.unit,
        focus: choices.focus,
        sheet,
        files: [before.name.clone(), after.name.clone()],
    };
    Some(Saved::Comparison(host(&before, &after, current), question))
}
