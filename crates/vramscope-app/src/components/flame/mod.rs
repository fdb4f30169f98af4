//! Call trees: as boxes, as a table with rows that open, and as a sandwich of callers and callees.

mod chart;
mod sandwich;
mod sums;
mod toolbar;
mod tree;
pub(super) mod window;

use yew::prelude::*;

use super::commands::use_commands;
use super::view_props::ViewProps;
use crate::protocol::views::flame::{About, TreeKind};
use crate::state::choices::{FlameChoices, FlameForm, FlamePlaces, search_text};
use crate::state::{Action, Chosen};
use chart::FlameChart;
use sandwich::Sandwich;
use toolbar::Toolbar;
use tree::TreeTable;
use vramscope_view::flame::{FlameCell, NodeKey, Shape};

/// Call trees of what is live at a moment, or was allocated in a range.
#[component]
pub(super) fn FlameView(props: &ViewProps) -> Html {
    let commands = use_commands();
    let choices = &props.choices.flame;
    let facts = props.file.facts();
    let places = FlamePlaces {
        cursor: props.view.cursor_moment(),
        range: props.view.moments(),
        peak: facts.map_or(0, |facts| facts.peak_moment),
        end: facts.map_or(0, |facts| facts.events),
    };
    let about = About {
        device: props.look.device,
        selection: places.selection(choices.what),
        weight: choices.weight,
        grouping: choices.grouping,
        fold: choices.fold,
        patterns: choices.patterns.clone(),
        filter: props.look.filter,
    };
    let choose = commands
        .dispatch
        .reform(|choices| Action::Choose(Chosen::Flame(choices)));
    let with = {
        let (choices, choose) = (choices.clone(), choose.clone());
        move |change: fn(FlameChoices, String) -> FlameChoices| {
            let choices = choices.clone();
            choose.reform(move |label| change(choices.clone(), label))
        }
    };
    let on_sandwich = with(|choices, function| FlameChoices {
        form: FlameForm::Sandwich,
        function,
        ..choices
    });
    let on_search = {
        let grouping = choices.grouping;
        let dispatch = commands.dispatch.clone();
        Callback::from(move |label: String| {
            dispatch.emit(Action::Search(search_text(grouping, &label)));
        })
    };
    let tree = if choices.inverted {
        TreeKind::BottomUp
    } else {
        TreeKind::TopDown
    };
    let (session, theme) = (props.session.clone(), props.look.theme);
    let body = match choices.form {
        FlameForm::Icicle | FlameForm::Flame => {
            let shape = if choices.form == FlameForm::Flame {
                Shape::Flame
            } else {
                Shape::Icicle
            };
            let on_focus = {
                let (choices, choose) = (choices.clone(), choose.clone());
                Callback::from(move |focus: Option<NodeKey>| {
                    choose.emit(FlameChoices {
                        focus,
                        ..choices.clone()
                    });
                })
            };
            let on_choose = on_focus.reform(|cell: FlameCell| Some(cell.key));
            html! {
                <FlameChart {session} {theme} {about} {tree} {shape} focus={choices.focus} has_head=true
                    {on_choose} {on_focus} {on_search} {on_sandwich} />
            }
        }
        FlameForm::Tree => {
            html! { <TreeTable {session} {theme} {about} {tree} {on_search} {on_sandwich} /> }
        }
        FlameForm::Sandwich => {
            let on_function = on_sandwich;
            html! {
                <Sandwich {session} {theme} {about} choices={choices.clone()} choose={choose.clone()} {on_function} {on_search} />
            }
        }
    };
    html! {
        <section class="view flame" aria-label="Flame graph">
            <Toolbar choices={choices.clone()} {places} {choose} />
            { body }
        </section>
    }
}
