//! The table of call sites: the amounts of both sides, and their difference.

use std::cmp::Ordering;

use vramscope_protocol::ThemeName;
use vramscope_protocol::views::compare::{
    Answer, Question, SiteColumn, SiteOrder, SiteRow, SiteRows,
};
use yew::prelude::*;

use super::ComparedRef;
use crate::components::commands::use_commands;
use crate::components::flame::window::{ROW_PX, use_window};
use crate::components::hooks::{use_answer, use_painted};
use crate::components::site_label::site_label;
use crate::engine::Session;
use crate::state::choices::CompareChoices;
use crate::state::figures::direction_class;
use crate::state::{Action, Shared, sentences};
use vramscope_core::analysis::compare::side::Amount;
use vramscope_view::display;

#[derive(Properties, PartialEq)]
pub(super) struct SitesPanelProps {
    pub(super) session: Session,
    pub(super) compared: ComparedRef,
    pub(super) choices: CompareChoices,
    pub(super) theme: ThemeName,
    /// Whether colours stand for call sites. Beside others they would be taken for the same.
    pub(super) has_colours: bool,
    pub(super) on_choose: Callback<CompareChoices>,
}

#[component]
pub(super) fn SitesPanel(props: &SitesPanelProps) -> Html {
    let commands = use_commands();
    let node = use_node_ref();
    let (window, onscroll) = use_window(&node);
    let choices = &props.choices;
    let compared = props.compared.get();
    let question = window
        .zip(compared)
        .map(|(window, compared)| Question::Sites {
            comparison: compared.id,
            order: choices.order,
            changed_only: choices.changed_only,
            first: window.first,
            rows: window.count,
            theme: props.theme,
        });
    let answered = use_answer(&props.session, question);
    let answer = answered.and_then(|answered| answered.answer);
    use_painted("compare-sites", answer.clone());
    let has_turnover = compared.is_some_and(|compared| compared.turnover.is_some());
    let rows = answer.as_ref().and_then(rows_of);
    let row = |(place, row): (usize, &SiteRow)| {
        let onclick = {
            let (dispatch, search) = (commands.dispatch.clone(), row.search.clone());
            Callback::from(move |_: MouseEvent| {
                if let Some(search) = search.clone() {
                    dispatch.emit(Action::Search(search));
                }
            })
        };
        let first = rows.map_or(0, |rows| rows.first);
        let top = (f64::from(first) + place as f64) * ROW_PX;
        html! {
            <div key={row.label.clone()} class="site-row" role="row" style={format!("top:{top}px")} {onclick}>
                { cells(row, has_turnover, props.has_colours) }
            </div>
        }
    };
    let of = rows.map_or(0, |rows| rows.of);
    html! {
        <div class={classes!("sites-table", has_turnover.then_some("with-turnover"))} role="table" aria-label="Call sites"
            ref={node} tabindex="0" data-scrolls="" data-rows={of.to_string()} {onscroll}>
            { head(props, has_turnover) }
            <div class="site-rows" style={format!("height:{}px", f64::from(of) * ROW_PX)}>
                if let Some(rows) = rows { { for rows.rows.iter().enumerate().map(row) } }
            </div>
            if rows.is_some_and(|rows| rows.of == 0) {
                <p class="hint muted">{ "Both sides are alike: no call site has more or less." }</p>
            }
        </div>
    }
}

fn rows_of(answer: &Shared<Answer>) -> Option<&SiteRows> {
    match &**answer {
        Answer::Sites(rows) => Some(rows),
        _ => None,
    }
}

fn cells(row: &SiteRow, has_turnover: bool, has_colours: bool) -> Html {
    let [r, g, b] = row.colour;
    let change = &row.change;
    let (before, after) = (change.before, change.after);
    let bytes = |amount: Amount| {
        let title = sentences::allocations(amount.count, amount.bytes);
        html! { <span class="number" role="cell" {title}>{ if amount.count == 0 { "–".to_owned() } else { display::bytes(amount.bytes) } }</span> }
    };
    let class = |direction: Ordering| classes!("number", "change", direction_class(direction));
    let exact = format!(
        "{} → {} bytes",
        display::count(before.bytes),
        display::count(after.bytes)
    );
    let bar = format!("width:{}%", row.bar.abs() * 100.0);
    html! {
        <>
            <span class="what" role="cell" title={row.label.clone()}>
                if has_colours { <i class="swatch" style={format!("background:rgb({r} {g} {b})")} aria-hidden="true" /> }
                { site_label(&row.label) }
                if !row.operators.is_empty() { <span class="operators" title={row.operators.clone()}>{ &row.operators }</span> }
            </span>
            { bytes(before) }
            { bytes(after) }
            <span class={class(after.bytes.cmp(&before.bytes))} role="cell" title={exact}>{ display::bytes_change(before.bytes, after.bytes) }</span>
            <span class={classes!("bar", direction_class(after.bytes.cmp(&before.bytes)))} role="cell" aria-hidden="true"><i style={bar} /></span>
            <span class={class(after.count.cmp(&before.count))} role="cell" title={format!("{} → {} allocations", display::count(before.count), display::count(after.count))}>
                { display::count_change(before.count, after.count) }
            </span>
            if has_turnover {
                { bytes(row.turnover.unwrap_or_default().freed) }
                { bytes(row.turnover.unwrap_or_default().new) }
            }
        </>
    }
}

/// The column headings. A click sorts by a column; another click reverses the order.
fn head(props: &SitesPanelProps, has_turnover: bool) -> Html {
    let column = |by: SiteColumn, name: &'static str, meaning: &'static str| {
        let order = props.choices.order;
        let is_chosen = order.by == by;
        let onclick = {
            let (choices, on_choose) = (props.choices.clone(), props.on_choose.clone());
            Callback::from(move |_: MouseEvent| {
                on_choose.emit(CompareChoices {
                    order: SiteOrder {
                        by,
                        reversed: is_chosen && !order.reversed,
                    },
                    ..choices.clone()
                });
            })
        };
        let sorted = is_chosen.then_some(if order.reversed == (by == SiteColumn::Name) {
            "descending"
        } else {
            "ascending"
        });
        let mark = match (is_chosen, order.reversed) {
            (false, _) => "",
            (true, false) => " ▾",
            (true, true) => " ▴",
        };
        let class = if by == SiteColumn::Name {
            "what"
        } else {
            "number"
        };
        html! {
            <span {class} role="columnheader" aria-sort={sorted}>
                <button type="button" title={meaning} {onclick}>{ name }{ mark }</button>
            </span>
        }
    };
    html! {
        <div class="site-row head" role="row">
            { column(SiteColumn::Name, "call site", "by name") }
            { column(SiteColumn::Before, "A", "bytes on the first side") }
            { column(SiteColumn::After, "B", "bytes on the second side") }
            { column(SiteColumn::Growth, "B − A", "what grew most first; once more: what shrank most") }
            { column(SiteColumn::Difference, "change", "the largest difference first, whichever way") }
            { column(SiteColumn::CountGrowth, "number", "the difference in allocations") }
            if has_turnover {
                <span class="number" role="columnheader" title="live at A and gone at B">{ "freed" }</span>
                { column(SiteColumn::New, "new", "allocated after A and still live at B") }
            }
        </div>
    }
}

#[derive(Properties, PartialEq)]
pub(super) struct ControlsProps {
    pub(super) choices: CompareChoices,
    pub(super) compared: ComparedRef,
    pub(super) on_choose: Callback<CompareChoices>,
}

/// The switch that omits unchanged call sites, with their number.
#[component]
pub(super) fn Controls(props: &ControlsProps) -> Html {
    let onchange = {
        let (choices, on_choose) = (props.choices.clone(), props.on_choose.clone());
        Callback::from(move |_: Event| {
            on_choose.emit(CompareChoices {
                changed_only: !choices.changed_only,
                ..choices.clone()
            });
        })
    };
    let counts = props.compared.get().map(|compared| {
        let (changed, all) = (u64::from(compared.changed_sites), u64::from(compared.sites));
        format!(
            "{} of {} call sites differ",
            display::count(changed),
            display::count(all)
        )
    });
    html! {
        <>
            <label class="check"><input type="checkbox" checked={!props.choices.changed_only} {onchange} />{ "show unchanged" }</label>
            <span class="muted">{ counts }</span>
        </>
    }
}
