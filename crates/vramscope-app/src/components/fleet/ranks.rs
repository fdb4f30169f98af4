//! The table of ranks.

use std::ops::Range;
use std::rc::Rc;

use vramscope_protocol::views::fleet::{Answer, Question, RankLine, Ranks};
use vramscope_view::display;
use yew::prelude::*;

use super::opening::Wish;
use super::{PartProps, use_fleet};
use crate::components::commands::use_commands;
use crate::components::virtual_list::{VirtualList, use_window};
use crate::state::{Action, Chosen, fleet_words, sentences};

const ROW_PX: f64 = 22.0;
const HEAD_PX: f64 = 24.0;

/// The rows of the table that are seen.
#[hook]
fn use_ranks(props: &PartProps, seen: &Range<u32>) -> Rc<Option<Ranks>> {
    let question = Question::Ranks {
        shown: props.shown(),
        first: seen.start,
        count: seen.end - seen.start,
        locate: props.choices.rank,
    };
    let answered = use_fleet(&props.session, Some(question));
    let ranks = answered.and_then(|(answer, _)| match answer.as_deref() {
        Some(Answer::Ranks(ranks)) => Some(ranks.clone()),
        _ => None,
    });
    use_memo(ranks, Clone::clone)
}

/// A row, if it is known.
fn line(ranks: &Option<Ranks>, row: u32) -> Option<&RankLine> {
    let ranks = ranks.as_ref()?;
    ranks.rows.get(row.checked_sub(ranks.first)? as usize)
}

#[component]
pub(super) fn RankTable(props: &PartProps) -> Html {
    let commands = use_commands();
    let (seen, on_window) = use_window();
    let ranks = use_ranks(props, &seen);
    let on_active = {
        let (ranks, choices) = (ranks.clone(), props.choices.clone());
        Callback::from(move |row: u32| {
            if let Some(rank) = line(&ranks, row) {
                let chosen = Action::Choose(Chosen::Fleet(choices.clone().with_rank(rank.id)));
                commands.dispatch.emit(chosen);
            }
        })
    };
    let on_open = {
        let (ranks, on_open) = (ranks.clone(), props.on_open.clone());
        let choose = on_active.clone();
        Callback::from(move |row: u32| {
            choose.emit(row);
            if let Some(rank) = line(&ranks, row) {
                on_open.emit(Wish {
                    rank: rank.id,
                    at: None,
                    compares: false,
                });
            }
        })
    };
    let known = (*ranks).as_ref();
    let located = known.and_then(|ranks| ranks.located.clone());
    let rows = known.map_or(0, |ranks| ranks.all);
    let unreadable = known.and_then(unreadable);
    let row = {
        let ranks = ranks.clone();
        Callback::from(move |row: u32| line(&ranks, row).map_or_else(Html::default, cells))
    };
    html! {
        <section class="fleet-table" aria-label="Ranks in a table">
            <div class="list-rows">
                <VirtualList ids="rank" label="Ranks" {rows} row_px={ROW_PX} head_px={HEAD_PX} header={header()} {row} active={located.as_ref().map(|(row, _)| *row)}
                    {on_window} {on_active} on_click={on_open.clone()} on_enter={on_open} is_narrow=true takes_focus=true />
            </div>
            { unreadable }
            if let Some((_, rank)) = located { <ChosenRank {rank} on_open={props.on_open.clone()} /> }
        </section>
    }
}

fn header() -> Html {
    html! {
        <div class="rank-row head"><span class="number">{ "Rank" }</span><span>{ "Where" }</span><span class="number" title="The most requested bytes that were live at once">{ "Peak" }</span>
            <span class="number" title="The most bytes of all segments">{ "Reserved" }</span><span class="number" title="Live at the end of the recording">{ "At end" }</span>
            <span title="In what it differs from the ranks of the same job and step">{ "Odd in" }</span>
            <span class="number" title="Failed requests">{ "OOM" }</span></div>
    }
}

/// The snapshots that the overview could not take in.
fn unreadable(ranks: &Ranks) -> Option<Html> {
    let files = ranks.unreadable.iter();
    let files: Vec<String> = files.map(|(path, why)| format!("{path}: {why}")).collect();
    let count = sentences::count_of(ranks.all_unreadable, "snapshot", "snapshots");
    (!files.is_empty()).then(|| {
        html! { <p class="fleet-note" title={files.join("\n")}>{ format!("{count} could not be read") }</p> }
    })
}

fn cells(rank: &RankLine) -> Html {
    let bytes = |bytes: u64| {
        html! { <span class="number" title={display::bytes_exact(bytes)}>{ display::bytes(bytes) }</span> }
    };
    let mut whereabouts = fleet_words::whereabouts(rank);
    if whereabouts.is_empty() {
        whereabouts.clone_from(&rank.path);
    }
    let damaged = (rank.damage > 0).then_some("damaged");
    html! {
        <div class={classes!("rank-row", damaged)}>
            <span class="number">{ rank.number }</span>
            <span title={rank.path.clone()}>{ whereabouts }</span>
            { bytes(rank.peak_bytes) }{ rank.reserved_bytes.map_or_else(|| html! { <span>{ "unknown" }</span> }, bytes) }{ bytes(rank.end_bytes) }
            <span title={fleet_words::odd_in_full(rank)}>{ fleet_words::odd(rank) }</span>
            <span class={classes!("number", (rank.ooms > 0).then_some("oom"))}>{ if rank.ooms > 0 { display::count(rank.ooms) } else { String::new() } }</span>
        </div>
    }
}

#[derive(Properties, PartialEq)]
struct ChosenRankProps {
    rank: RankLine,
    on_open: Callback<Wish>,
}

/// The chosen rank, and what can be done with it.
#[component]
fn ChosenRank(props: &ChosenRankProps) -> Html {
    let rank = &props.rank;
    let wish = |compares: bool| {
        let id = rank.id;
        props.on_open.reform(move |_: MouseEvent| Wish {
            rank: id,
            at: None,
            compares,
        })
    };
    html! {
        <div class="fleet-chosen">
            <p><b>{ format!("Rank {}", rank.number) }</b>{ format!(" · {}", rank.path) }</p>
            { for fleet_words::odd_lines(rank).into_iter().map(|line| html! { <p>{ line }</p> }) }
            if rank.damage > 0 { <p class="error">{ "This snapshot is damaged: its figures may be wrong." }</p> }
            <div class="row">
                <button type="button" class="primary" onclick={wish(false)}>{ "Open at its peak" }</button>
                <button type="button" class="outlined" onclick={wish(true)} title="Both at their peaks, call site by call site (C)">{ "Compare with the median" }</button>
            </div>
        </div>
    }
}
