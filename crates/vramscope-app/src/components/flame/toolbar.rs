//! The toolbar of the flame view: what is shown, and how.

use vramscope_protocol::views::flame::{Fold, FrameGrouping, Weight};
use web_sys::HtmlInputElement;
use yew::prelude::*;

use crate::components::choice::{Choice, Select};
use crate::state::choices::{FlameChoices, FlameForm, FlameWhat};
use crate::state::selected::Places;

const WHATS: [FlameWhat; 5] = [
    FlameWhat::Selected,
    FlameWhat::Peak,
    FlameWhat::End,
    FlameWhat::Allocated,
    FlameWhat::Retained,
];
const WEIGHTS: [(Weight, &str); 3] = [
    (Weight::Bytes, "bytes"),
    (Weight::Count, "number"),
    (Weight::ByteEvents, "bytes × lifetime"),
];
const GROUPINGS: [(FrameGrouping, &str); 5] = [
    (FrameGrouping::Line, "line"),
    (FrameGrouping::Function, "function"),
    (FrameGrouping::File, "file"),
    (FrameGrouping::Module, "module"),
    (FrameGrouping::Package, "package"),
];
const FORMS: [(FlameForm, (&str, &str)); 4] = [
    (FlameForm::Icicle, ("icicle", "boxes hang from the callers")),
    (FlameForm::Flame, ("flame", "boxes stand on the callers")),
    (FlameForm::Tree, ("tree", "a table with rows that open")),
    (
        FlameForm::Sandwich,
        ("sandwich", "one function: who calls it, and what it calls"),
    ),
];

#[derive(Properties, PartialEq)]
pub(super) struct ToolbarProps {
    pub(super) choices: FlameChoices,
    pub(super) places: Places,
    /// What the graph is of, where that is not chosen here.
    pub(super) of_what: Option<AttrValue>,
    /// Called with changed choices.
    pub(super) choose: Callback<FlameChoices>,
}

/// The toolbar.
#[component]
pub(super) fn Toolbar(props: &ToolbarProps) -> Html {
    let choices = &props.choices;
    let error = choices.pattern_error().map(|error| error.to_string());
    let directions = vec![
        (
            "callers first",
            "from the outermost callers to what allocates",
        ),
        ("allocators first", "from what allocates to its callers"),
        (
            "places first",
            "from the pool over stream, size of requests and segment to the code",
        ),
    ];
    let is_tree = choices.form != FlameForm::Sandwich;
    html! {
        <div class="flame-tools" role="toolbar" aria-label="What to show">
            if let Some(words) = &props.of_what { <strong class="of-what">{ words }</strong> }
            <Choice label="Form" options={FORMS.map(|(_, words)| words).to_vec()}
                chosen={place(&FORMS, choices.form)}
                on_choose={set(props, |choices, at| choices.form = FORMS[at].0)} />
            if is_tree {
                <Choice label="Direction" options={directions} chosen={if choices.by_place { 2 } else { usize::from(choices.inverted) }}
                    on_choose={set(props, |choices, at| {
                        (choices.inverted, choices.by_place) = (at == 1, at == 2);
                        choices.focus = None;
                    })} />
            }
            if props.of_what.is_none() {
                <Select label="of" options={WHATS.map(|what| AttrValue::from(what.word(&props.places))).to_vec()}
                    chosen={WHATS.iter().position(|&what| what == choices.what).unwrap_or(0)}
                    on_choose={set(props, |choices, at| choices.what = WHATS[at])} />
            }
            <Select label="in" options={words(&WEIGHTS)} chosen={place(&WEIGHTS, choices.weight)}
                on_choose={set(props, |choices, at| choices.weight = WEIGHTS[at].0)} />
            <Select label="by" options={words(&GROUPINGS)} chosen={place(&GROUPINGS, choices.grouping)}
                on_choose={set(props, |choices, at| {
                    choices.grouping = GROUPINGS[at].0;
                    choices.focus = None;
                    choices.function.clear();
                })} />
            <Select label="frames" options={words(&Fold::ALL)} chosen={place(&Fold::ALL, choices.fold)}
                on_choose={set(props, |choices, at| choices.fold = Fold::ALL[at].0)} />
            <label class="patterns">
                { "without" }
                <input type="text" value={choices.patterns.clone()} onchange={on_patterns(props)} spellcheck="false"
                    placeholder="torch/nn/*, _call_impl"
                    title="Frames to leave out: parts of a function or file, or with * and ? all of it; separated by commas"
                    aria-label="Frames to leave out" aria-invalid={error.is_some().to_string()} />
            </label>
            if let Some(error) = error { <span class="flame-error" role="alert">{ error }</span> }
        </div>
    }
}

fn words<T>(list: &[(T, &'static str)]) -> Vec<AttrValue> {
    list.iter().map(|&(_, word)| word.into()).collect()
}

fn place<T: PartialEq, W>(list: &[(T, W)], chosen: T) -> usize {
    list.iter().position(|(of, _)| *of == chosen).unwrap_or(0)
}

/// A callback that changes the choices by the index chosen in a list.
fn set(props: &ToolbarProps, change: fn(&mut FlameChoices, usize)) -> Callback<usize> {
    let choices = props.choices.clone();
    props.choose.reform(move |at: usize| {
        let mut changed = choices.clone();
        change(&mut changed, at);
        changed
    })
}

fn on_patterns(props: &ToolbarProps) -> Callback<Event> {
    let choices = props.choices.clone();
    props.choose.reform(move |event: Event| {
        let input = event.target_dyn_into::<HtmlInputElement>();
        FlameChoices {
            patterns: input.map_or_else(String::new, |input| input.value()),
            ..choices.clone()
        }
    })
}
