//! Call trees: as boxes, as a table with rows that open, and as a sandwich of callers and callees.

mod chart;
mod sandwich;
mod sums;
mod toolbar;
mod tree;
pub(super) mod window;

use vramscope_protocol::views::flame::{About, BoxOf, Question, TreeKind, TreeQuestion};
use vramscope_protocol::{ColourBy, ThemeName};
use yew::prelude::*;

use super::commands::{Commands, use_commands};
use super::view_props::ViewProps;
use crate::engine::Session;
use crate::state::choices::{FlameChoices, FlameForm};
use crate::state::{Action, Chosen};
use chart::FlameChart;
use sandwich::Sandwich;
use toolbar::Toolbar;
use tree::TreeTable;
use vramscope_view::flame::{FlameCell, NodeKey};

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
    let asked = Asked {
        session: props.session.clone(),
        about: choices.about(props.look.device, props.look.filter.clone(), selection),
        theme: props.look.theme,
        colour_by: props.look.colour_by,
    };
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
    let tree = choices.tree();
    let body = match (choices.form, choices.form.shape()) {
        (_, Some(shape)) => {
            let on_focus = on_focus(choices, &choose);
            let on_choose = on_focus.reform(|cell: FlameCell| Some(cell.key));
            let on_point = if is_below {
                on_point(&asked.about, &tree, choices.focus, &commands)
            } else {
                Callback::noop()
            };
            html! {
                <FlameChart {asked} {tree} {shape} focus={choices.focus} has_head=true takes_keys={!is_below}
                    marked={props.view.pinned()} {on_choose} {on_focus} {on_point} {on_search} {on_sandwich} />
            }
        }
        (FlameForm::Tree, None) => {
            html! { <TreeTable {asked} {tree} {on_search} {on_sandwich} /> }
        }
        (_, None) => {
            let on_function = on_sandwich;
            html! {
                <Sandwich {asked} choices={choices.clone()} choose={choose.clone()} {on_function} {on_search} />
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

/// What all parts of the view ask about.
#[derive(Clone, PartialEq)]
struct Asked {
    session: Session,
    about: About,
    theme: ThemeName,
    colour_by: ColourBy,
}

impl Asked {
    fn question(&self, wanted: TreeQuestion) -> Question {
        Question {
            about: self.about.clone(),
            theme: self.theme,
            colour_by: self.colour_by,
            wanted,
        }
    }
}

/// Lights up the box that is pointed at in the picture above. The root is everything, and narrow boxes are many.
fn on_point(
    about: &About,
    tree: &TreeKind,
    focus: Option<NodeKey>,
    commands: &Commands,
) -> Callback<Option<FlameCell>> {
    let (about, tree) = (about.clone(), tree.clone());
    commands.dispatch.reform(move |cell: Option<FlameCell>| {
        let cell = cell.filter(|cell| cell.row > 0 && cell.smaller == 0);
        Action::LightUp(cell.map(|cell| {
            Box::new(BoxOf {
                about: about.clone(),
                tree: tree.clone(),
                focus: focus.unwrap_or(NodeKey::ROOT),
                key: cell.key,
            })
        }))
    })
}

/// Stores the focus in the choices.
fn on_focus(choices: &FlameChoices, choose: &Callback<FlameChoices>) -> Callback<Option<NodeKey>> {
    let choices = choices.clone();
    choose.reform(move |focus| FlameChoices {
        focus,
        ..choices.clone()
    })
}
