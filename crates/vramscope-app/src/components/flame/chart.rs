//! A call tree as boxes, with its totals above.

use vramscope_protocol::views::flame::{
    About, Answer, FlameScene, NodeKey, Question, TrailStep, TreeAnswer, TreeKind, TreeQuestion,
};
use yew::prelude::*;

use super::{Asked, sums};
use crate::canvas::PlotArea;
use crate::components::box_chart::{BoxChart, Boxes};
use crate::components::hooks::{use_answer, use_painted};
use crate::components::site_label::site_label;
use crate::state::Shared;
use vramscope_core::ids::AllocationId;
use vramscope_view::display;
use vramscope_view::flame::{FlameCell, Shape, weight_text};

#[derive(Properties, PartialEq)]
pub(super) struct FlameChartProps {
    pub(super) asked: Asked,
    pub(super) tree: TreeKind,
    pub(super) shape: Shape,
    /// The node that fills the width; `None` for the root.
    #[prop_or_default]
    pub(super) focus: Option<NodeKey>,
    /// The allocation whose path is marked.
    #[prop_or_default]
    pub(super) marked: Option<AllocationId>,
    /// Whether to show totals, and actions for the focus, above the chart.
    #[prop_or_default]
    pub(super) has_head: bool,
    /// Whether the chart takes the keyboard when it appears, unless another element has it.
    #[prop_or(true)]
    pub(super) takes_keys: bool,
    /// Called when a box is chosen.
    pub(super) on_choose: Callback<FlameCell>,
    /// Called when the focus is to change; `None` is the root.
    #[prop_or_default]
    pub(super) on_focus: Callback<Option<NodeKey>>,
    /// Called with the box that is pointed at.
    #[prop_or_default]
    pub(super) on_point: Callback<Option<FlameCell>>,
    /// Called with a filter to search for.
    #[prop_or_default]
    pub(super) on_search: Callback<String>,
    /// Called with the label of a function to show with callers and callees.
    #[prop_or_default]
    pub(super) on_sandwich: Callback<String>,
}

#[derive(Clone, PartialEq)]
struct Drawn {
    about: About,
    marked: Option<AllocationId>,
    answer: Shared<Answer>,
}

impl Drawn {
    fn steps(&self) -> &[TrailStep] {
        match &self.answer.tree {
            TreeAnswer::Picture { trail, .. } => trail,
            _ => &[],
        }
    }
}

impl Boxes for Drawn {
    fn scene(&self) -> Option<&FlameScene> {
        match &self.answer.tree {
            TreeAnswer::Picture { scene, .. } => Some(scene),
            _ => None,
        }
    }

    fn trail(&self) -> Vec<NodeKey> {
        self.steps().iter().map(|step| step.key).collect()
    }

    fn marked(&self) -> Option<AllocationId> {
        self.marked
    }

    fn tip(&self, _place: usize, cell: &FlameCell) -> Html {
        sums::of_cell(&self.about, &self.answer, cell)
    }
}

/// A flame graph.
#[component]
pub(super) fn FlameChart(props: &FlameChartProps) -> Html {
    let width_css = use_state_eq(|| None::<f64>);
    let drawn = use_drawn(props, *width_css);
    let on_area = {
        let width_css = width_css.setter();
        Callback::from(move |area: Option<PlotArea>| {
            width_css.set(area.map(|area| area.box_width_css));
        })
    };
    let label = drawn
        .as_ref()
        .map(|drawn| AttrValue::from(description(props, drawn)));
    let is_empty = drawn
        .as_ref()
        .is_some_and(|drawn| drawn.answer.total.weight == 0);
    html! {
        <>
            if props.has_head { { head(props, drawn.as_ref()) } }
            <BoxChart<Drawn> boxes={drawn} shape={props.shape} theme={props.asked.theme} class="flame-chart" {label}
                subject={format!("{:?}", props.tree)} takes_keys={props.takes_keys} {on_area} on_choose={props.on_choose.clone()} on_focus={props.on_focus.clone()}
                on_point={props.on_point.clone()}>
                if is_empty {
                    <p class="flame-empty muted">{ nothing(&props.tree) }</p>
                }
            </BoxChart<Drawn>>
        </>
    }
}

/// The boxes for a chart of this width, css px.
#[hook]
fn use_drawn(props: &FlameChartProps, width_css: Option<f64>) -> Option<Drawn> {
    let asked = &props.asked;
    let question = width_css.map(|width_px| {
        asked.question(TreeQuestion::Picture {
            tree: props.tree.clone(),
            focus: props.focus.unwrap_or(NodeKey::ROOT),
            marked: props.marked,
            width_px,
        })
    });
    let answered = use_answer(&asked.session, question);
    let device = asked.about.device;
    let drawn = answered.and_then(|answered| {
        let Question { about, wanted, .. } = answered.question;
        let answer = answered.answer.filter(|_| about.device == device)?;
        let marked = match wanted {
            TreeQuestion::Picture { marked, .. } => marked,
            _ => None,
        };
        Some(Drawn {
            about,
            marked,
            answer,
        })
    });
    use_painted("flame", drawn.as_ref().map(|drawn| drawn.answer.clone()));
    drawn
}

fn nothing(tree: &TreeKind) -> &'static str {
    match tree {
        TreeKind::TopDown | TreeKind::BottomUp => "No memory was allocated here.",
        TreeKind::Callers(_) | TreeKind::Callees(_) => "Nothing was allocated through it.",
    }
}

/// The chart's description for screen readers.
fn description(props: &FlameChartProps, drawn: &Drawn) -> String {
    let (about, answer) = (&drawn.about, &drawn.answer);
    let of = match &props.tree {
        TreeKind::TopDown => "Callers first".to_owned(),
        TreeKind::BottomUp => "Allocators first".to_owned(),
        TreeKind::Callers(function) => format!("Callers of {function}"),
        TreeKind::Callees(function) => format!("What {function} calls"),
    };
    format!("{of}: {}", weight_text(about.weight, answer.total.weight))
}

/// The totals, and the focus with its actions.
fn head(props: &FlameChartProps, drawn: Option<&Drawn>) -> Html {
    let Some(drawn) = drawn else {
        return html! { <p class="flame-head muted">{ "Adding up…" }</p> };
    };
    let (about, answer) = (&drawn.about, &drawn.answer);
    let focus = match (&answer.tree, drawn.steps()) {
        (TreeAnswer::Picture { focus, .. }, [.., above, last]) => Some((focus, above, last)),
        _ => None,
    };
    let focus = focus.map(|(sums, above, last)| {
        let share = display::percent(sums.weight, answer.whole.weight);
        let words = format!("{}, {share}", weight_text(about.weight, sums.weight));
        in_focus(props, words, above.key, last)
    });
    html! { <div class="flame-head">{ sums::whole(about, answer) }<span class="grow" />{ focus.unwrap_or_default() }{ sums::colours(props.asked.colour_by) }</div> }
}

/// The focus in words, and its actions.
fn in_focus(props: &FlameChartProps, words: String, above: NodeKey, last: &TrailStep) -> Html {
    let label = last.group.label.clone();
    let up = props.on_focus.reform(move |_: MouseEvent| Some(above));
    let all = props.on_focus.reform(|_: MouseEvent| None);
    let with = |callback: &Callback<String>, text: &str| {
        let text = text.to_owned();
        callback.reform(move |_: MouseEvent| text.clone())
    };
    let search = last.group.search.as_ref();
    let search = search.map(|search| with(&props.on_search, search));
    let sandwich = with(&props.on_sandwich, &label);
    html! {
        <>
            <span class="flame-focus" title={label.clone()}>{ site_label(&label) }</span>
            <span class="flame-share" title="what is in focus, and its share of all">{ words }</span>
            <button type="button" class="outlined" title="Show what is above (Backspace)" onclick={up}>{ "Up" }</button>
            <button type="button" class="outlined" title="Show everything (Escape)" onclick={all}>{ "All" }</button>
            if let Some(search) = search {
                <button type="button" class="outlined" title="Search for allocations with this on the stack, in all views" onclick={search}>{ "Search" }</button>
            }
            if last.group.is_code {
                <button type="button" class="outlined" title="Who calls it, and what it calls, wherever it is" onclick={sandwich}>{ "Sandwich" }</button>
            }
        </>
    }
}
