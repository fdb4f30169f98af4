//! A call tree as a table with rows that open.

use std::rc::Rc;

use vramscope_protocol::views::flame::{
    About, Answer, ListedGroup, NodeKey, TreeAnswer, TreeKind, TreeQuestion, TreeRow, Weight,
};
use yew::prelude::*;

use super::window::{ROW_PX, reveal, use_keys_on_show, use_window};
use super::{Asked, sums};
use crate::components::hooks::{use_answer, use_painted};
use crate::components::site_label::site_label;
use crate::state::Shared;
use vramscope_view::display;
use vramscope_view::flame::weight_text;

/// Indentation of a level, CSS px.
const INDENT_PX: u32 = 12;
/// Deeper levels are not indented further, so that their text has room.
const MOST_INDENTS: u32 = 40;

#[derive(Properties, PartialEq)]
pub(super) struct TreeTableProps {
    pub(super) asked: Asked,
    pub(super) tree: TreeKind,
    /// Called with a filter to search for.
    pub(super) on_search: Callback<String>,
    /// Called with the label of a function to show with callers and callees.
    pub(super) on_sandwich: Callback<String>,
}

/// The rows of an answer.
struct ListedRows<'a> {
    all_rows: u32,
    first: u32,
    rows: &'a [TreeRow],
    open: &'a [NodeKey],
}

fn listed(answer: &Answer) -> Option<ListedRows<'_>> {
    match &answer.tree {
        TreeAnswer::Rows {
            all_rows,
            first,
            rows,
            open,
        } => Some(ListedRows {
            all_rows: *all_rows,
            first: *first,
            rows,
            open,
        }),
        _ => None,
    }
}

#[component]
pub(super) fn TreeTable(props: &TreeTableProps) -> Html {
    let list = use_node_ref();
    let (window, onscroll) = use_window(&list);
    use_keys_on_show(&list, true);
    let (open, apart) = use_open_rows(props);
    let chosen = use_state_eq(|| None::<NodeKey>);
    let question = window.map(|window| {
        props.asked.question(TreeQuestion::Rows {
            tree: props.tree.clone(),
            open: open.as_ref().map(|open| open.to_vec()),
            apart: apart.to_vec(),
            first: window.first,
            count: window.count,
        })
    });
    let answered = use_answer(&props.asked.session, question);
    let shown = answered.and_then(|answered| Some((answered.question.about, answered.answer?)));
    use_painted("flame", shown.as_ref().map(|(_, answer)| answer.clone()));
    let (about, answer) = match &shown {
        Some((about, answer)) => (about.clone(), Some(answer.clone())),
        None => (props.asked.about.clone(), None),
    };
    let folds = Folds {
        toggle: on_toggle(&open, &answer),
        part: on_part(&apart),
    };
    let onkeydown = on_keys(&answer, &chosen, &folds, &list);
    let rows = answer.as_ref().and_then(|answer| listed(answer));
    let row = |(at, row): (usize, &TreeRow)| {
        let number = rows.as_ref().map_or(0, |rows| rows.first) + at as u32;
        let is_chosen = *chosen == Some(row.key);
        html! { <Row key={row.key.0.to_string()} row={row.clone()} {number} {is_chosen} weight={about.weight}
        has_search={about.filter.is_some()} whole={answer.as_ref().map_or(0, |answer| answer.whole.weight)}
        folds={folds.clone()} choose={Callback::from({ let chosen = chosen.setter(); move |key| chosen.set(Some(key)) })}
        on_search={props.on_search.clone()} on_sandwich={props.on_sandwich.clone()} /> }
    };
    html! {
        <>
        <div class="flame-head">
            if let Some(answer) = &answer {
                { sums::whole(&about, answer) }<span class="grow" />
                { sums::colours(props.asked.colour_by) }
            } else { <span class="muted">{ "Adding up…" }</span> }
        </div>
        <div class="flame-table" role="treegrid" aria-label="Call tree" ref={list} tabindex="0" data-scrolls="" {onscroll} {onkeydown}>
            { columns(&about) }
            <div class="flame-rows" style={format!("height:{}px", rows.as_ref().map_or(0.0, |rows| f64::from(rows.all_rows) * ROW_PX))}>
                if let Some(rows) = &rows { { for rows.rows.iter().enumerate().map(row) } }
            </div>
        </div>
        </>
    }
}

/// The keys of open rows; `None` until the user opens or closes one.
type OpenRows = UseStateHandle<Option<Rc<Vec<NodeKey>>>>;
/// The keys of chains whose frames are rows of their own.
type ApartRows = UseStateHandle<Rc<Vec<NodeKey>>>;

#[hook]
fn use_open_rows(props: &TreeTableProps) -> (OpenRows, ApartRows) {
    let (open, apart) = (
        use_state_eq(|| None),
        use_state_eq(Rc::<Vec<NodeKey>>::default),
    );
    let (setter, apart_setter, about) = (open.setter(), apart.setter(), &props.asked.about);
    let names = (
        about.grouping,
        about.fold,
        about.patterns.clone(),
        props.tree.clone(),
    );
    // Under another grouping, a key stands for another row.
    use_effect_with(names, move |_| {
        setter.set(None);
        apart_setter.set(Rc::default());
    });
    (open, apart)
}

/// Takes a chain apart, given by its last frame, or joins it again.
fn on_part(apart: &ApartRows) -> Callback<(NodeKey, bool)> {
    let apart = apart.clone();
    Callback::from(move |(key, wanted): (NodeKey, bool)| {
        let mut keys = apart.to_vec();
        keys.retain(|&other| other != key);
        keys.extend(wanted.then_some(key));
        apart.set(Rc::new(keys));
    })
}

/// Opens and closes rows and chains.
#[derive(Clone, PartialEq)]
struct Folds {
    toggle: Callback<(NodeKey, bool)>,
    part: Callback<(NodeKey, bool)>,
}

impl Folds {
    /// Opens or closes a row. A frame of a chain that is apart leads on to the next one: it joins them again.
    fn turn(&self, row: &TreeRow) {
        match row.apart.filter(|&last| last != row.key) {
            Some(chain) => self.part.emit((chain, false)),
            None => self.toggle.emit((row.key, !row.is_open)),
        }
    }

    fn take_apart(&self, row: &TreeRow) {
        if row.joined > 1 {
            self.part.emit((row.key, true));
        }
    }
}

/// Opens or closes the row with this key.
fn on_toggle(open: &OpenRows, answer: &Option<Shared<Answer>>) -> Callback<(NodeKey, bool)> {
    let (open, answer) = (open.clone(), answer.clone());
    Callback::from(move |(key, wanted): (NodeKey, bool)| {
        // Rows that the worker opened by default stay open.
        let known = answer
            .as_ref()
            .and_then(|answer| listed(answer))
            .map_or(&[][..], |listed| listed.open);
        let mut keys = open
            .as_ref()
            .map_or_else(|| known.to_vec(), |open| open.to_vec());
        keys.retain(|&other| other != key);
        if wanted {
            keys.push(key);
        }
        open.set(Some(Rc::new(keys)));
    })
}

/// The column headings.
pub(super) fn columns(about: &About) -> Html {
    html! {
        <div class="flame-row head" role="row">
            <span class="what">{ "call" }</span>
            <span class="number" title="allocated here and in all that is called from here">{ "total" }</span>
            <span class="number part">{ "of all" }</span>
            <span class="number" title="allocated right here">{ "self" }</span>
            <span class="number count">{ if about.weight == Weight::Count { "bytes" } else { "number" } }</span>
            if about.filter.is_some() { <span class="number matched" title="the share that the search matches">{ "matches" }</span> }
        </div>
    }
}

/// Arrow keys move up and down, open and close; with Shift, the right one takes a chain apart.
fn on_keys(
    answer: &Option<Shared<Answer>>,
    chosen: &UseStateHandle<Option<NodeKey>>,
    folds: &Folds,
    list: &NodeRef,
) -> Callback<KeyboardEvent> {
    let (answer, chosen, list) = (answer.clone(), chosen.clone(), list.clone());
    let folds = folds.clone();
    Callback::from(move |event: KeyboardEvent| {
        let Some(rows) = answer.as_ref().and_then(|answer| listed(answer)) else {
            return;
        };
        let at = rows.rows.iter().position(|row| Some(row.key) == *chosen);
        let row = at.map(|at| &rows.rows[at]);
        let go = |to: Option<usize>| {
            if let Some((to, row)) = to.and_then(|to| Some((to, rows.rows.get(to)?))) {
                chosen.set(Some(row.key));
                reveal(&list, rows.first + to as u32, ROW_PX);
            }
        };
        match event.key().as_str() {
            "ArrowDown" => go(Some(at.map_or(0, |at| at + 1))),
            "ArrowUp" => go(at.map_or(Some(0), |at| at.checked_sub(1))),
            "ArrowRight" if event.shift_key() => {
                if let Some(row) = row {
                    folds.take_apart(row);
                }
            }
            "ArrowRight" => match row {
                Some(row) if row.has_children && !row.is_open => folds.turn(row),
                Some(row) if row.has_children => go(at.map(|at| at + 1)),
                _ => {}
            },
            "ArrowLeft" => match (row, at) {
                (Some(row), _) if row.is_open && row.has_children => folds.turn(row),
                (Some(row), Some(at)) => {
                    go(rows.rows[..at]
                        .iter()
                        .rposition(|above| above.depth < row.depth));
                }
                _ => {}
            },
            "Enter" | " " => {
                if let Some(row) = row {
                    folds.turn(row);
                }
            }
            _ => return,
        }
        event.prevent_default();
    })
}

#[derive(Properties, PartialEq)]
struct RowProps {
    row: TreeRow,
    number: u32,
    is_chosen: bool,
    weight: Weight,
    has_search: bool,
    whole: u64,
    folds: Folds,
    choose: Callback<NodeKey>,
    on_search: Callback<String>,
    on_sandwich: Callback<String>,
}

#[component]
fn Row(props: &RowProps) -> Html {
    let row = &props.row;
    let (key, is_open) = (row.key, row.is_open);
    let indent = (row.depth - 1).min(MOST_INDENTS) * INDENT_PX;
    let onclick = props.choose.reform(move |_: MouseEvent| key);
    let on_row = |act: fn(&Folds, &TreeRow)| {
        let (folds, row) = (props.folds.clone(), row.clone());
        Callback::from(move |_: MouseEvent| act(&folds, &row))
    };
    let turn = on_row(Folds::turn);
    let tell = |to: &Callback<String>, text: &str| {
        let text = text.to_owned();
        to.reform(move |_: MouseEvent| text.clone())
    };
    let apart = on_row(Folds::take_apart);
    let is_dim = props.has_search && row.total.matched == 0;
    html! {
        <div class={classes!("flame-row", props.is_chosen.then_some("chosen"), is_dim.then_some("dim"))} role="row"
            aria-level={row.depth.to_string()} aria-expanded={row.has_children.then(|| is_open.to_string())}
            aria-selected={props.is_chosen.to_string()}
            style={format!("top:{}px", f64::from(props.number) * ROW_PX)} {onclick} ondblclick={turn.clone()}>
            <span class="what" style={format!("padding-left:{indent}px")}>
                if row.has_children {
                    <button type="button" class="turn" tabindex="-1" aria-label={if is_open { "Close" } else { "Open" }} onclick={turn}>
                        { if is_open { "▾" } else { "▸" } }
                    </button>
                } else { <span class="turn" /> }
                { swatch(&row.group) }
                <span class="label" title={row.group.label.clone()}>{ site_label(&row.group.label) }</span>
                if row.joined > 1 {
                    <button type="button" class="plain" tabindex="-1" title="Show each of them (Shift →)" onclick={apart}>{ format!("{} frames", row.joined) }</button>
                }
                if let Some(search) = row.group.search.as_ref().filter(|_| props.is_chosen) {
                    <button type="button" class="plain" title="Search for allocations with this on the stack, in all views" onclick={tell(&props.on_search, search)}>{ "search" }</button>
                }
                if props.is_chosen && row.group.is_code {
                    <button type="button" class="plain" title="Who calls it, and what it calls, wherever it is" onclick={tell(&props.on_sandwich, &row.group.label)}>{ "sandwich" }</button>
                }
            </span>
            { numbers(props.weight, &row.total, &row.own, props.whole, props.has_search) }
        </div>
    }
}

/// The colour of a row, if it has a meaning here.
pub(super) fn swatch(group: &ListedGroup) -> Html {
    group.fill.map_or_else(Html::default, |[r, g, b]| {
        html! { <i class="swatch" style={format!("background:rgb({r} {g} {b})")} /> }
    })
}

/// The numbers of a row: total, share, self, count, matches.
pub(super) fn numbers(
    weight: Weight,
    total: &vramscope_core::analysis::code::call_tree::Sums,
    own: &vramscope_core::analysis::code::call_tree::Sums,
    whole: u64,
    has_search: bool,
) -> Html {
    let short = |sum: u64| match weight {
        Weight::Count => display::count(sum),
        _ => weight_text(weight, sum),
    };
    let other = match weight {
        Weight::Count => display::bytes(total.bytes),
        _ => display::count(total.count),
    };
    html! {
        <>
            <span class="number" title={display::bytes_exact(total.bytes)}>{ short(total.weight) }</span>
            <span class="number part">{ display::percent(total.weight, whole) }</span>
            <span class="number" title={display::bytes_exact(own.bytes)}>{ if own.count > 0 { short(own.weight) } else { String::new() } }</span>
            <span class="number count">{ other }</span>
            if has_search { <span class="number matched">{ display::percent(total.matched, total.weight) }</span> }
        </>
    }
}
