//! The sandwich view: a list of all functions, and callers and callees of the chosen one.

use vramscope_protocol::views::flame::{
    About, Answer, FunctionOrder, FunctionRow, TreeAnswer, TreeKind, TreeQuestion, Weight,
};
use yew::prelude::*;

use super::chart::FlameChart;
use super::tree::{numbers, swatch};
use super::window::{ROW_PX, reveal, use_keys_on_show, use_window};
use super::{Asked, sums};
use crate::components::hooks::use_answer;
use crate::components::site_label::site_label;
use crate::state::Shared;
use crate::state::choices::FlameChoices;
use vramscope_view::flame::{FlameCell, Shape};

#[derive(Properties, PartialEq)]
pub(super) struct SandwichProps {
    pub(super) asked: Asked,
    pub(super) choices: FlameChoices,
    /// Called with changed choices.
    pub(super) choose: Callback<FlameChoices>,
    /// Called with the label of a function to choose.
    pub(super) on_function: Callback<String>,
    /// Called with a filter to search for.
    pub(super) on_search: Callback<String>,
}

fn listed(answer: &Answer) -> Option<(u32, u32, &[FunctionRow])> {
    match &answer.tree {
        TreeAnswer::Functions {
            all_rows,
            first,
            rows,
            ..
        } => Some((*all_rows, *first, rows)),
        _ => None,
    }
}

/// The filter of the chosen function.
fn search(answer: &Answer) -> Option<String> {
    match &answer.tree {
        TreeAnswer::Functions { search, .. } => search.clone(),
        _ => None,
    }
}

/// The list of functions, beside callers and callees.
#[component]
pub(super) fn Sandwich(props: &SandwichProps) -> Html {
    let list = use_node_ref();
    let (window, onscroll) = use_window(&list);
    use_keys_on_show(&list, true);
    let question = window.map(|window| {
        props.asked.question(TreeQuestion::Functions {
            order: props.choices.order,
            first: window.first,
            count: window.count,
            function: Some(props.choices.function.clone()).filter(|function| !function.is_empty()),
        })
    });
    let answered = use_answer(&props.asked.session, question);
    let shown = answered.and_then(|answered| Some((answered.question.about, answered.answer?)));
    let heaviest = use_heaviest(&shown);
    let (function, search) = match props.choices.function.as_str() {
        "" => heaviest.unzip(),
        chosen => (
            Some(chosen.to_owned()),
            shown.as_ref().map(|(_, answer)| search(answer)),
        ),
    };
    let onkeydown = on_keys(props, &shown, function.as_deref(), &list);
    html! {
        <>
        <div class="flame-head">
            if let Some((about, answer)) = &shown { { sums::whole(about, answer) } } else { <span class="muted">{ "Adding up…" }</span> }
            <span class="grow" />
            if let Some(function) = &function { { head(props, function, search.flatten()) } }
        </div>
        <div class="flame-sandwich">
            <div class="flame-table" role="grid" aria-label="Functions" ref={list} tabindex="0" data-scrolls="" {onscroll} {onkeydown}>
                { columns(props) }
                if let Some((about, answer)) = &shown { { rows(props, about, answer, function.as_deref()) } }
            </div>
            if let Some(function) = function { { sides(props, function) } }
        </div>
        </>
    }
}

/// The first of the user's functions in the list, with its filter. It stays the same once it is
/// known, so that scrolling does not change it.
#[hook]
fn use_heaviest(shown: &Option<(About, Shared<Answer>)>) -> Option<(String, Option<String>)> {
    let heaviest = use_state_eq(|| None::<(String, Option<String>)>);
    {
        let heaviest = heaviest.setter();
        use_effect_with(shown.clone(), move |shown| {
            let listed = shown.as_ref().and_then(|(_, answer)| listed(answer));
            if let Some((_, 0, rows)) = listed {
                let user = rows.iter().find(|row| row.is_user);
                let code = user.or_else(|| rows.iter().find(|row| row.group.is_code));
                heaviest.set(
                    code.or(rows.first())
                        .map(|row| (row.group.label.clone(), row.group.search.clone())),
                );
            }
        });
    }
    (*heaviest).clone()
}

/// The chosen function, and its actions.
fn head(props: &SandwichProps, function: &str, search: Option<String>) -> Html {
    let search = search.map(|search| props.on_search.reform(move |_: MouseEvent| search.clone()));
    html! {
        <>
            <span class="flame-focus" title={function.to_owned()}>{ site_label(function) }</span>
            if let Some(search) = search {
                <button type="button" class="outlined" title="Search for allocations with this on the stack, in all views" onclick={search}>{ "Search" }</button>
            }
        </>
    }
}

/// The column headings; two of them sort the list.
fn columns(props: &SandwichProps) -> Html {
    let by = |order: FunctionOrder| {
        let choices = props.choices.clone();
        props.choose.reform(move |_: MouseEvent| FlameChoices {
            order,
            ..choices.clone()
        })
    };
    let sorted = |order| (props.choices.order == order).then_some("descending");
    let mark = |order| {
        if props.choices.order == order {
            " ▾"
        } else {
            ""
        }
    };
    let other = if props.asked.about.weight == Weight::Count {
        "bytes"
    } else {
        "number"
    };
    let (total, own) = (FunctionOrder::Total, FunctionOrder::Own);
    html! {
        <div class="flame-row head" role="row">
            <span class="what">{ "function" }</span>
            <span class="number" role="columnheader" aria-sort={sorted(total)}>
                <button type="button" title="allocated with it anywhere on the stack" onclick={by(total)}>{ "total" }{ mark(total) }</button>
            </span>
            <span class="number part">{ "of all" }</span>
            <span class="number" role="columnheader" aria-sort={sorted(own)}>
                <button type="button" title="allocated with it as the innermost frame" onclick={by(own)}>{ "self" }{ mark(own) }</button>
            </span>
            <span class="number count">{ other }</span>
            if props.asked.about.filter.is_some() { <span class="number matched" title="the share that the search matches">{ "matches" }</span> }
        </div>
    }
}

fn rows(
    props: &SandwichProps,
    about: &About,
    answer: &Shared<Answer>,
    function: Option<&str>,
) -> Html {
    let Some((all_rows, first, rows)) = listed(answer) else {
        return Html::default();
    };
    let has_search = about.filter.is_some();
    let row = |(at, row): (usize, &FunctionRow)| {
        let is_chosen = function == Some(row.group.label.as_str());
        let onclick = {
            let label = row.group.label.clone();
            props.on_function.reform(move |_: MouseEvent| label.clone())
        };
        let is_dim = has_search && row.total.matched == 0;
        html! {
            <div key={row.group.label.clone()} class={classes!("flame-row", is_chosen.then_some("chosen"), is_dim.then_some("dim"))} role="row"
                aria-selected={is_chosen.to_string()} style={format!("top:{}px", (f64::from(first) + at as f64) * ROW_PX)} {onclick}>
                <span class="what">
                    { swatch(&row.group) }
                    <span class="label" title={row.group.label.clone()}>{ site_label(&row.group.label) }</span>
                </span>
                { numbers(about.weight, &row.total, &row.own, answer.whole.weight, has_search) }
            </div>
        }
    };
    html! {
        <div class="flame-rows" style={format!("height:{}px", f64::from(all_rows) * ROW_PX)}>
            { for rows.iter().enumerate().map(row) }
        </div>
    }
}

/// Callers above, callees below.
fn sides(props: &SandwichProps, function: String) -> Html {
    let on_choose = {
        let on_function = props.on_function.clone();
        Callback::from(move |cell: FlameCell| {
            if cell.is_code {
                on_function.emit(cell.label);
            }
        })
    };
    let side = |tree: TreeKind, shape: Shape| {
        html! {
            <FlameChart asked={props.asked.clone()} {tree} {shape}
                on_choose={on_choose.clone()} />
        }
    };
    html! {
        <div class="flame-sides">
            <h3>{ "called from" }</h3>
            { side(TreeKind::Callers(function.clone()), Shape::Flame) }
            <h3>{ "calls" }</h3>
            { side(TreeKind::Callees(function), Shape::Icicle) }
        </div>
    }
}

/// Arrow keys move up and down the list.
fn on_keys(
    props: &SandwichProps,
    shown: &Option<(About, Shared<Answer>)>,
    function: Option<&str>,
    list: &NodeRef,
) -> Callback<KeyboardEvent> {
    let (shown, function, list) = (shown.clone(), function.map(str::to_owned), list.clone());
    let on_function = props.on_function.clone();
    Callback::from(move |event: KeyboardEvent| {
        let listed = shown.as_ref().and_then(|(_, answer)| listed(answer));
        let Some((_, first, rows)) = listed else {
            return;
        };
        let at = rows
            .iter()
            .position(|row| Some(&row.group.label) == function.as_ref());
        let to = match event.key().as_str() {
            "ArrowDown" => at.map_or(0, |at| at + 1),
            "ArrowUp" => at.map_or(0, |at| at.saturating_sub(1)),
            _ => return,
        };
        event.prevent_default();
        if let Some(row) = rows.get(to) {
            on_function.emit(row.group.label.clone());
            reveal(&list, first + to as u32, ROW_PX);
        }
    })
}
