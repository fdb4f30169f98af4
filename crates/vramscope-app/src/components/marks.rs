//! Marks over the timeline: the cursor, the selected range, and failed allocations.

use vramscope_protocol::{Minimap, Viewport};
use yew::prelude::*;

use super::commands::use_commands;
use crate::canvas::PlotArea;
use crate::state::gesture::{DragKind, Point};
use crate::state::{Action, Shared, sentences};
use vramscope_view::lines::FAILURE_CSS;

/// The most marks of failed allocations. A job that retries can fail thousands of times, and more
/// marks would only cover each other.
const MOST_OOMS: usize = 200;

/// How far from the picture's left edge cursor and range are still drawn, in widths of the picture: a motion may bring
/// them into it.
const NEAR: f64 = 100.0;

/// Half the width of a label with padding, CSS px.
const LABEL_CSS: f64 = 18.0;

#[derive(Properties, PartialEq)]
pub(super) struct MarksProps {
    pub(super) area: PlotArea,
    pub(super) region: Viewport,
    pub(super) cursor_x: Option<f64>,
    pub(super) range: Option<(f64, f64)>,
    /// Has the failed allocations; `None` until it arrives.
    pub(super) minimap: Option<Shared<Minimap>>,
    /// A range that is being dragged.
    pub(super) draft: Option<(DragKind, Point, Point)>,
}

/// Cursor, range and failed allocations. The style sheet moves them along with the picture.
#[component]
pub(super) fn Marks(props: &MarksProps) -> Html {
    let commands = use_commands();
    let area = &props.area;
    let (left, top) = area.to_css((0.0, 0.0));
    let size = area.size_px();
    let (right, bottom) = area.to_css((f64::from(size.0), f64::from(size.1)));
    let (width, height) = (right - left, bottom - top);
    // Measured from the picture's left edge.
    let x_css = |x: f64| props.region.x_px(x) * width;
    let range = match props.draft {
        Some((_, from, to)) => {
            let (from, to) = (from.0.min(to.0) - left, from.0.max(to.0) - left);
            Some((from.clamp(0.0, width), to.clamp(0.0, width)))
        }
        None => props.range.map(|(from, to)| {
            let near = |x| x_css(x).clamp(-NEAR * width, NEAR * width);
            (near(from), near(to))
        }),
    };
    let range = range.filter(|(from, to)| to > from).map(|(from, to)| {
        html! { <div class="range" style={format!("--x:{from}px;--width:{}px", to - from)} /> }
    });
    let cursor = props.cursor_x.map(x_css);
    let cursor = cursor.filter(|x| x.abs() <= NEAR * width);
    let cursor = cursor.map(|x| html! { <div class="cursor" style={format!("--x:{x}px")} /> });
    let is_visible = |x: &f64| (props.region.x_min..=props.region.x_max).contains(x);
    let ooms = props.minimap.iter().flat_map(|minimap| &minimap.ooms);
    let ooms = ooms.filter(|mark| is_visible(&mark.x));
    let mut free_from = f64::NEG_INFINITY;
    let ooms = ooms.take(MOST_OOMS).map(|mark| {
        let x = x_css(mark.x);
        // Moved to the left at the end of a recording, where there is no room on the right.
        let is_last = x + LABEL_CSS > width;
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
            <button type="button" {class} style={format!("--x:{x}px;top:{}px", -FAILURE_CSS)} title={sentences::oom(mark)}
                aria-label="OOM" {onpointerdown} {onclick}>{ if has_word { "OOM" } else { "" } }</button>
        }
    });
    html! {
        <div class="marks" style={format!("left:{left}px;top:{top}px;width:{width}px;height:{height}px")}>
            <div class="inside">{ range }{ cursor }</div>
            { for ooms }
        </div>
    }
}
