//! Marks over the timeline: the cursor, the selected range, and failed allocations.

use vramscope_protocol::Minimap;
use yew::prelude::*;

use super::commands::use_commands;
use crate::canvas::PlotArea;
use crate::state::gesture::{DragKind, Point};
use crate::state::{Action, Region, Shared, sentences};
use vramscope_view::lines::FAILURE_CSS;

/// The most marks of failed allocations. A job that retries can fail thousands of times, and more
/// marks would only cover each other.
const MOST_OOMS: usize = 200;

/// Half the width of a label with padding, CSS px.
const LABEL_CSS: f64 = 18.0;

#[derive(Properties, PartialEq)]
pub(super) struct MarksProps {
    pub(super) area: PlotArea,
    pub(super) region: Region,
    pub(super) cursor_x: Option<f64>,
    pub(super) range: Option<(f64, f64)>,
    /// Has the failed allocations; `None` until it arrives.
    pub(super) minimap: Option<Shared<Minimap>>,
    /// A range that is being dragged.
    pub(super) draft: Option<(DragKind, Point, Point)>,
}

/// Cursor, range and failed allocations.
#[component]
pub(super) fn Marks(props: &MarksProps) -> Html {
    let commands = use_commands();
    let area = &props.area;
    let (left, top) = area.to_css((0.0, 0.0));
    let size = area.size_px();
    let (right, bottom) = area.to_css((f64::from(size.0), f64::from(size.1)));
    let viewport = props.region.viewport(size);
    let x_css = |x: f64| area.to_css((viewport.x_px(x), 0.0)).0.clamp(left, right);
    let range = match props.draft {
        Some((_, from, to)) => Some((
            from.0.min(to.0).clamp(left, right),
            from.0.max(to.0).clamp(left, right),
        )),
        None => props.range.map(|(from, to)| (x_css(from), x_css(to))),
    };
    let range = range.filter(|(from, to)| to > from).map(|(from, to)| {
        let width = to - from;
        let height = bottom - top;
        html! { <div class="range" style={format!("left:{from}px;top:{top}px;width:{width}px;height:{height}px")} /> }
    });
    let is_visible = |x: &f64| (props.region.x_min..=props.region.x_max).contains(x);
    let cursor = props.cursor_x.filter(is_visible).map(|x| {
        let (x, height) = (x_css(x), bottom - top);
        html! { <div class="cursor" style={format!("left:{x}px;top:{top}px;height:{height}px")} /> }
    });
    let ooms = props.minimap.iter().flat_map(|minimap| &minimap.ooms);
    let ooms = ooms.filter(|mark| is_visible(&mark.x));
    let mut free_from = f64::NEG_INFINITY;
    let ooms = ooms.take(MOST_OOMS).map(|mark| {
        let x = x_css(mark.x);
        // Moved to the left at the end of a recording, where there is no room on the right.
        let is_last = x + LABEL_CSS > right;
        let first_css = x - LABEL_CSS * if is_last { 2.0 } else { 1.0 };
        // A word on the one before could not be read: the arrow tells alone.
        let has_word = first_css >= free_from;
        if has_word {
            free_from = first_css + 2.0 * LABEL_CSS;
        }
        let class = classes!("oom", (has_word && is_last).then_some("last"));
        let onclick = commands.on(Action::ChooseEvent(mark.moment));
        // Else the picture below would take the press for its own.
        let onpointerdown = Callback::from(|event: PointerEvent| event.stop_propagation());
        html! {
            <button type="button" {class} style={format!("left:{x}px;top:{}px", top - FAILURE_CSS)} title={sentences::oom(mark)}
                aria-label="OOM" {onpointerdown} {onclick}>{ if has_word { "OOM" } else { "" } }</button>
        }
    });
    html! { <>{ range }{ cursor }{ for ooms }</> }
}
