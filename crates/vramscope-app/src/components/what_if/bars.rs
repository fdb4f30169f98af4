//! The steps from ideal to real memory as bars, and an explanation of the chosen step.

use vramscope_core::analysis::report::overview::SegmentsKnown;
use vramscope_plan::{DevicePlan, Step, StepKind};
use vramscope_protocol::views::what_if::{Planned, Stage};
use vramscope_view::display;
use vramscope_view::waterfall::{BarPart, waterfall};
use yew::prelude::*;

use super::PlannedRef;
use crate::state::choices::WhatIfChoices;
use crate::state::sentences;

#[derive(Properties, PartialEq)]
pub(super) struct BarsProps {
    pub(super) planned: Option<PlannedRef>,
    /// What replays with other settings amount to, in a line; `None` until they are over.
    pub(super) conclusion: Option<AttrValue>,
    pub(super) choices: WhatIfChoices,
    pub(super) on_choose: Callback<WhatIfChoices>,
}

#[component]
pub(super) fn Bars(props: &BarsProps) -> Html {
    let Some(planned) = props.planned.as_ref().and_then(PlannedRef::get) else {
        return Html::default();
    };
    let steps = &planned.plan.steps;
    let of_choice = |kind| steps.iter().position(|step| step.kind == kind);
    let chosen = props.choices.step.and_then(of_choice);
    let chosen = chosen.or(planned.plan.largest_step()).unwrap_or(0);
    let choose = |kind: StepKind| {
        let choices = WhatIfChoices {
            step: Some(kind),
            ..props.choices.clone()
        };
        props.on_choose.reform(move |_: MouseEvent| choices.clone())
    };
    let sums: Vec<u64> = steps.iter().map(|step| step.bytes).collect();
    let row = |(place, (step, part)): (usize, (&Step, BarPart))| {
        row(step, part, place == 0, place == chosen, choose(step.kind))
    };
    let grows = matches!(planned.stage, Stage::Packing | Stage::Modelling);
    let grows = (grows && planned.plan.no_model.is_none()).then_some("growing");
    html! {
        <div class="way">
            <div class="headline">
                <h2>{ headline(&planned.plan) }</h2>
                <p class="muted" role="status">{ stage_words(planned) }</p>
                if let Some(conclusion) = &props.conclusion { <p class="conclusion">{ conclusion }{ "." }</p> }
            </div>
            <ol class={classes!(grows)} aria-label="From what was asked for to what was reserved">
                { for steps.iter().zip(waterfall(&sums)).enumerate().map(row) }
            </ol>
            // All explanations occupy the same space, so that choosing one moves nothing below.
            <div class="why">{ for steps.iter().enumerate().map(|(place, _)| explanation(steps, place, place == chosen)) }</div>
        </div>
    }
}

/// Both ends of the steps, in a sentence.
fn headline(plan: &DevicePlan) -> String {
    let asked = display::bytes(plan.bytes(StepKind::Requested).unwrap_or(0));
    match plan.reserved_bytes {
        Some(real) => format!(
            "{asked} were needed at once, {} were reserved. Between them:",
            display::bytes(real)
        ),
        None if plan.segments == SegmentsKnown::Doubtful => format!(
            "{asked} were needed at once. The file's segments hold less: what was really reserved is not known."
        ),
        None => format!("{asked} were needed at once. How much was reserved is not known."),
    }
}

fn row(
    step: &Step,
    part: BarPart,
    is_first: bool,
    is_chosen: bool,
    onclick: Callback<MouseEvent>,
) -> Html {
    let is_real = matches!(step.kind, StepKind::Model | StepKind::Kept);
    let name = if is_first || is_real {
        step.kind.bar_label()
    } else {
        step.kind.gap_label()
    };
    let kept = format!("width:{:.4}%", part.kept * 100.0);
    let change = format!("width:{:.4}%", part.change * 100.0);
    let class = classes!(
        "change",
        part.shrinks.then_some("less"),
        kind_class(step.kind)
    );
    html! {
        <li>
            <button type="button" aria-pressed={is_chosen.to_string()} {onclick}
                title={format!("{}: {}", step.kind.bar_label(), sentences::exact_bytes(step.bytes))}
                data-step={format!("{:?}", step.kind)} data-bytes={step.bytes.to_string()}>
                <span class="name">{ name }</span>
                <span class="bar"><i class="kept" style={kept} /><i {class} style={change} /></span>
                <span class="number added">{ if is_first { String::new() } else { change_words(step.change_bytes) } }</span>
                <span class="number sum">{ display::bytes(step.bytes) }</span>
                <span class="number exact muted">{ display::count(step.bytes) }{ " B" }</span>
            </button>
        </li>
    }
}

/// The style class of a step's colour.
fn kind_class(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Requested => "requested",
        StepKind::Alignment => "alignment",
        StepKind::Separation => "separation",
        StepKind::Placement => "placement",
        StepKind::Caching | StepKind::Kept => "caching",
        StepKind::Before => "before",
        StepKind::Model => "unexplained",
    }
}

fn change_words(bytes: i64) -> String {
    match bytes {
        0 => "none".to_owned(),
        1.. => format!("+ {}", display::bytes(bytes.unsigned_abs())),
        _ => format!("− {}", display::bytes(bytes.unsigned_abs())),
    }
}

/// What a step consists of, and what can be done about it.
fn explanation(steps: &[Step], place: usize, is_chosen: bool) -> Html {
    let step = &steps[place];
    let exact = display::count(step.change_bytes.unsigned_abs());
    let sign = if step.change_bytes < 0 { "−" } else { "" };
    let before = place.checked_sub(1).and_then(|before| steps.get(before));
    let way = before.map_or(String::new(), |before| {
        let (from, to) = (before.kind.bar_label(), step.kind.bar_label());
        format!(", from “{from}” to “{to}”")
    });
    html! {
        <p class={is_chosen.then_some("chosen")}><strong>{ sentences::capital(step.kind.gap_label()) }</strong>{ way }{ ": " }<strong>{ format!("{sign}{exact} B.") }</strong>{ " " }{ with_code(&step.why) }
            if !step.advice.is_empty() { <span class="advice">{ " " }{ with_code(&step.advice) }</span> }
        </p>
    }
}

/// A sentence with the parts between backticks as code.
fn with_code(text: &str) -> Html {
    let part = |(place, part): (usize, &str)| match place % 2 {
        0 => html! { { part } },
        _ => html! { <code>{ part }</code> },
    };
    html! { <>{ for text.split('`').enumerate().map(part) }</> }
}

/// What is still being computed; empty when done.
fn stage_words(planned: &Planned) -> &'static str {
    match planned.stage {
        Stage::Packing => "Packing…",
        Stage::Modelling => "Replaying the trace…",
        Stage::Searching => "Searching for a better packing…",
        Stage::Done => "",
    }
}
