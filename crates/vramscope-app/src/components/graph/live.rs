//! The buffers live at the cursor's step, at first the peak; sorted by size, with their shares.

use std::ops::Range;

use vramscope_protocol::ThemeName;
use vramscope_protocol::views::graph::{Answer, Live, LiveBuffer, Question};
use yew::prelude::*;

use vramscope_view::display;

use super::PartProps;
use super::head::kind_style;
use crate::components::commands::{Commands, use_commands};
use crate::components::hooks::use_answer;
use crate::components::virtual_list::{VirtualList, use_window};
use crate::state::{Action, GraphAction, Navigation, Shared, graph_words};

const ROW_PX: f64 = 22.0;
const HEAD_PX: f64 = 24.0;

/// The worker's latest answer.
#[derive(Clone, PartialEq)]
struct Rows(Shared<Answer>);

impl Rows {
    fn get(&self) -> Option<&Live> {
        match &*self.0 {
            Answer::Live(live) => Some(live),
            _ => None,
        }
    }

    fn line(&self, row: u32) -> Option<&LiveBuffer> {
        let live = self.get()?;
        live.lines.get(row.checked_sub(live.first)? as usize)
    }
}

#[component]
pub(super) fn LiveList(props: &PartProps) -> Html {
    let commands = use_commands();
    let (seen, on_window) = use_window();
    let rows = use_rows(props, seen);
    let live = rows.as_ref().and_then(Rows::get);
    let peak = props.graphs.known.map(|known| known.peak_step);
    let is_peak = live.is_none_or(|live| Some(live.step) == peak);
    let on_active = on_active(&rows, &commands);
    let row = row(&rows, props.theme, &commands);
    let row_classes = row_classes(&rows, props.graphs.hovered);
    let header = html! {
        <div class="live-row head"><span>{ "Buffer" }</span><span class="number">{ "Size" }</span><span class="number">{ "Share" }</span>
            <span>{ "Steps" }</span><span>{ "Made by" }</span></div>
    };
    html! {
        <section class="graph-list" aria-label="Live buffers">
            <div class="list-title">
                <h3 class="grow">{ live.map(|live| graph_words::live(live, peak)) }</h3>
                if !is_peak {
                    <button type="button" class="plain" title="The step with the most memory (P)" onclick={commands.on(Action::Navigate(Navigation::Peak))}>{ "Peak" }</button>
                }
            </div>
            if let Some(live) = live.filter(|live| live.constant_bytes > 0) {
                <p class="constant muted">{ format!("{} of it added for parameters", display::bytes(live.constant_bytes)) }</p>
            }
            <div class="list-rows">
                <VirtualList ids="live" label="Live buffers, the largest first" rows={live.map_or(0, |live| live.all_rows)} row_px={ROW_PX} head_px={HEAD_PX}
                    {header} {row} {row_classes} active={live.and_then(|live| live.place)} {on_window} {on_active} is_narrow=true />
            </div>
        </section>
    }
}

/// Requests a range of the list's rows. `None` if the latest answer is about another graph.
#[hook]
fn use_rows(props: &PartProps, seen: Range<u32>) -> Option<Rows> {
    let question = Question::Live {
        key: props.shown,
        step: props.graphs.step(),
        first: seen.start,
        count: seen.end - seen.start,
        locate: props.graphs.place.buffer,
    };
    let answered = use_answer(&props.session, Some(question))?;
    let is_current =
        matches!(&answered.question, Question::Live { key, .. } if key.graph == props.shown.graph);
    answered.answer.filter(|_| is_current).map(Rows)
}

/// Selects the buffer of an active row.
fn on_active(rows: &Option<Rows>, commands: &Commands) -> Callback<u32> {
    let (rows, dispatch) = (rows.clone(), commands.dispatch.clone());
    Callback::from(move |row: u32| {
        if let Some(line) = rows.as_ref().and_then(|rows| rows.line(row)) {
            dispatch.emit(Action::Graph(GraphAction::Select(Some(line.buffer))));
        }
    })
}

/// Renders a row; it is empty until its data arrives.
fn row(rows: &Option<Rows>, theme: ThemeName, commands: &Commands) -> Callback<u32, Html> {
    let rows = rows.clone();
    let hover = (commands.dispatch).reform(|buffer| Action::Graph(GraphAction::Hover(buffer)));
    Callback::from(move |row: u32| {
        rows.as_ref()
            .and_then(|rows| rows.line(row))
            .map_or_else(Html::default, |line| cells(line, theme, &hover))
    })
}

fn row_classes(rows: &Option<Rows>, hovered: Option<u32>) -> Callback<u32, Classes> {
    let rows = rows.clone();
    Callback::from(move |row: u32| {
        let line = rows.as_ref().and_then(|rows| rows.line(row));
        let is_hovered = line.is_some_and(|line| Some(line.buffer) == hovered);
        classes!(is_hovered.then_some("hovered"))
    })
}

fn cells(line: &LiveBuffer, theme: ThemeName, hover: &Callback<Option<u32>>) -> Html {
    let buffer = line.buffer;
    let onpointerenter = hover.reform(move |_: PointerEvent| Some(buffer));
    let onpointerleave = hover.reform(|_: PointerEvent| None);
    let share = format!("--share:{}%", f64::from(line.share_per_mille) / 10.0);
    html! {
        <div class="live-row" style={share} {onpointerenter} {onpointerleave}>
            <span class="buffer" title={format!("{}: {}", graph_words::kind(line.kind), graph_words::kind_meaning(line.kind))}><i class="kind" style={kind_style(line.kind, theme)} />{ &line.name }</span>
            <span class="number" title={display::bytes_exact(line.bytes)}>{ display::bytes(line.bytes) }</span>
            <span class="number portion">{ graph_words::per_mille(u64::from(line.share_per_mille)) }</span>
            <span>{ graph_words::life(line) }</span>
            <span class="muted" title={line.node.clone()}>{ &line.node }</span>
        </div>
    }
}
