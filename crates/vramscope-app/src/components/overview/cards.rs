//! Findings as cards: the observation, then what it may mean, then what to try.

use vramscope_core::analysis::report::findings::{
    Evidence, Figure, Finding, FindingTable, NOT_TOLD, Severity, is_calm,
};
use vramscope_core::analysis::report::overview::SegmentsKnown;
use vramscope_view::display;
use yew::prelude::*;

use super::rows::row_table;
use super::{evidence, words};
use crate::components::commands::{Commands, use_commands};
use crate::components::copy_button::CopyButton;
use crate::components::icons::{Glyph, Icon};
use crate::components::site_label::SiteColours;
use crate::state::choices::FlameChoices;
use crate::state::{ViewKind, sentences};

#[derive(Properties, PartialEq)]
pub(super) struct CardsProps {
    pub(super) findings: Vec<Finding>,
    /// The colours of call sites; `None` to show none.
    pub(super) colours: Option<SiteColours>,
    /// The flame graph's choices, which a link to evidence changes.
    pub(super) choices: FlameChoices,
    pub(super) has_trace: bool,
    /// Whether nothing was ever live.
    pub(super) is_empty: bool,
    pub(super) segments: SegmentsKnown,
    pub(super) is_damaged: bool,
}

/// All findings.
#[component]
pub(super) fn Cards(props: &CardsProps) -> Html {
    let commands = use_commands();
    html! {
        <section class="findings">
            <h2>{ "Findings" }</h2>
            if is_calm(&props.findings) {
                <p class="muted">{ if props.is_empty {
                    "Nothing was ever live here."
                } else if props.is_damaged {
                    NOT_TOLD
                } else if props.segments == SegmentsKnown::Doubtful {
                    "The segments of this file do not hold what is live, so what looks wrong in them cannot be told."
                } else if props.has_trace {
                    "Nothing found that looks wrong. Looked for: failed requests and retries, fragmentation, frees that wait for other \
                     streams, idle pools, streams and segments, rounding; and, where there are steps, growth from step to step and memory \
                     that is never freed."
                } else {
                    "Nothing found that looks wrong in the recorded state. Without a trace, only that can be judged."
                } }</p>
            }
            { for props.findings.iter().map(|of| card(&commands, props, of)) }
        </section>
    }
}

fn card(commands: &Commands, props: &CardsProps, card: &Finding) -> Html {
    let (class, word) = words::severity(card.severity);
    let is_open = card.severity != Severity::Note;
    let icon = match card.severity {
        Severity::Note => Icon::Info,
        Severity::Problem | Severity::Warning => Icon::Warning,
    };
    html! {
        <article class={classes!("finding", class)}>
            <h3><Glyph {icon} /><span class="unseen">{ word }{ ": " }</span>{ &card.title }</h3>
            <p>{ &card.seen }</p>
            if !card.figures.is_empty() { <dl class="figures">{ for card.figures.iter().map(figure) }</dl> }
            <details open={is_open}>
                <summary>{ "What it may mean, and what to try" }</summary>
                <p>{ &card.may_mean }</p>
                <ul class="try">{ for card.advice().map(|text| html! { <li>{ text.to_owned() }</li> }) }</ul>
            </details>
            { for card.evidence.iter().filter_map(|of| of.variable.clone()).map(variable) }
            { for card.tables.iter().filter(|table| !table.rows.is_empty()).map(|of| table(commands, of, is_open, props.colours.as_ref())) }
            <p class="evidence">{ for card.evidence.iter().map(|of| link(commands, &props.choices, of)) }</p>
        </article>
    }
}

/// An environment variable to copy.
fn variable(variable: String) -> Html {
    html! { <p class="conf"><code>{ &variable }</code><CopyButton text={variable} what="setting" /></p> }
}

fn figure(figure: &Figure) -> Html {
    html! {
        <div>
            <dt>{ &figure.label }</dt>
            <dd title={sentences::exact_bytes(figure.bytes)}>{ display::bytes(figure.bytes) }</dd>
        </div>
    }
}

fn table(
    commands: &Commands,
    table: &FindingTable,
    is_open: bool,
    colours: Option<&SiteColours>,
) -> Html {
    html! {
        <details open={is_open && table.rows.len() <= 12}>
            <summary>{ &table.title }</summary>
            { row_table(commands, table, None, colours, None) }
        </details>
    }
}

fn link(commands: &Commands, choices: &FlameChoices, shown: &Evidence) -> Html {
    let view = ViewKind::showing(shown.of).word();
    let onclick = evidence::show(&commands.dispatch, shown, choices);
    html! {
        <button type="button" class="outlined" title={format!("Show in {view}")} {onclick}>
            <b>{ view }</b>{ " " }{ &shown.label }
        </button>
    }
}
