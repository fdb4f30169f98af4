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
use crate::state::choices::{FlameChoices, FlameForm};
use crate::state::{Action, Chosen};
use chart::FlameChart;
use sandwich::Sandwich;
use toolbar::Toolbar;
use tree::TreeTable;
use vramscope_core::analysis::time::selection::Selection;
use vramscope_view::flame::{FlameCell, NodeKey, Shape};

#[derive(Properties, PartialEq)]
pub(super) struct FlameViewProps {
    pub(super) given: ViewProps,
    /// Whether it is below a picture, and of what is selected there.
    #[prop_or_default]
    pub(super) is_below: bool,
}

/// Call trees of memory live at a moment, or allocated in a range.
#[component]
pub(super) fn FlameView(props: &FlameViewProps) -> Html {
    let commands = use_commands();
    let (props, is_below) = (&props.given, props.is_below);
    let choices = &props.choices.flame;
    let selection = if is_below {
        props.places.selected()
    } else {
        choices.what.selection(&props.places)
    };
    let about = about(props, selection);
    let of_what = is_below.then(|| AttrValue::from(props.places.words(selection)));
    let choose = commands
        .dispatch
        .reform(|choices| Action::Choose(Chosen::Flame(choices)));
    let on_sandwich = {
        let choices = choices.clone();
        choose.reform(move |function| FlameChoices {
            form: FlameForm::Sandwich,
            function,
            ..choices.clone()
        })
    };
    let on_search = commands.dispatch.reform(Action::Search);
    let tree = if choices.inverted {
        TreeKind::BottomUp
    } else {
        TreeKind::TopDown
    };
    let (session, theme) = (props.session.clone(), props.look.theme);
    let body = match choices.form {
        FlameForm::Icicle | FlameForm::Flame => {
            let shape = match choices.form {
                FlameForm::Flame => Shape::Flame,
                _ => Shape::Icicle,
            };
            let on_focus = on_focus(choices, &choose);
            let on_choose = on_focus.reform(|cell: FlameCell| Some(cell.key));
            html! {
                <FlameChart {session} {theme} {about} {tree} {shape} focus={choices.focus} has_head=true takes_keys={!is_below}
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
            <Toolbar choices={choices.clone()} places={props.places} {of_what} {choose} />
            { body }
        </section>
    }
}

fn about(props: &ViewProps, selection: Selection) -> About {
    let choices = &props.choices.flame;
    About {
        device: props.look.device,
        selection,
        weight: choices.weight,
        grouping: choices.grouping,
        fold: choices.fold,
        patterns: choices.patterns.clone(),
        filter: props.look.filter.clone(),
    }
}

/// Stores the focus in the choices.
fn on_focus(choices: &FlameChoices, choose: &Callback<FlameChoices>) -> Callback<Option<NodeKey>> {
    let choices = choices.clone();
    choose.reform(move |focus| FlameChoices {
        focus,
        ..choices.clone()
    })
}
