//! Findings in words, with links to the evidence.

mod cards;
mod evidence;
mod gap;
pub(super) mod rows;
mod steps;
mod tiles;
pub(super) mod words;

use yew::prelude::*;

use self::cards::Cards;
use self::gap::GapSection;
use self::rows::row_table;
use self::steps::StepsSection;
use self::tiles::Tiles;
use super::commands::use_commands;
use super::facts_view::notes_list;
use super::hooks::{use_answer, use_painted};
use super::view_props::ViewProps;
use crate::protocol::views::overview::OverviewOf;
use crate::protocol::{Note, ThemeName};
use crate::state::choices::FlameChoices;
use vramscope_core::analysis::report::overview::Overview;

#[component]
pub(super) fn OverviewView(props: &ViewProps) -> Html {
    let question = OverviewOf {
        device: props.look.device,
    };
    let answered = use_answer(&props.session, Some(question));
    let found = answered.and_then(|answered| answered.answer);
    use_painted("overview", found.clone());
    // Notes on failures are left out, because each failure is also a finding.
    let notes = props.file.notes().map(|(_, note)| note);
    let notes: Vec<Note> = notes
        .filter(|note| note.moment.is_none())
        .cloned()
        .collect();
    let root = use_node_ref();
    {
        // Takes the focus, so that keys scroll the page, unless another element has it.
        let root = root.clone();
        use_effect_with((), move |()| {
            let focused = gloo::utils::document().active_element();
            let is_free = focused.is_none_or(|of| of.matches("body, .rail *").unwrap_or(false));
            if let Some(element) = root.cast::<web_sys::HtmlElement>().filter(|_| is_free) {
                let _ = element.focus();
            }
        });
    }
    html! {
        <section ref={root} class="view overview" aria-label="Overview" tabindex="0" data-scrolls="">
            if let Some(found) = found.filter(|found| found.device == props.look.device) {
                <Found found={Overview::clone(&found)} choices={props.choices.flame.clone()} {notes} theme={props.look.theme} />
            } else {
                <p class="muted wait">{ "Looking through the recording…" }</p>
            }
        </section>
    }
}

#[derive(Properties, PartialEq)]
struct FoundProps {
    found: Overview,
    choices: FlameChoices,
    notes: Vec<Note>,
    /// The theme, for the colours of call sites.
    theme: ThemeName,
}

/// The content, once the overview is computed.
#[component]
fn Found(props: &FoundProps) -> Html {
    let commands = use_commands();
    let found = &props.found;
    html! {
        <div class="page">
            <Tiles found={found.clone()} />
            <div class={classes!("columns", found.findings.is_empty().then_some("calm"))}>
                <div class="column">
                    <Cards findings={found.findings.clone()} choices={props.choices.clone()} theme={props.theme} has_trace={found.events > 1} />
                    if !props.notes.is_empty() {
                        <section class="recording">
                            <h3>{ "About the recording" }</h3>
                            { notes_list(&props.notes) }
                        </section>
                    }
                </div>
                <div class="column">
                    <GapSection bars={found.bars()} start_us={found.start_us} segments={found.segments} />
                    if !found.peak_sites.rows.is_empty() {
                        <section class="sites">
                            <h3>{ &found.peak_sites.title }</h3>
                            { row_table(&commands, &found.peak_sites, Some(found.peak.active_bytes), props.theme) }
                        </section>
                    }
                </div>
            </div>
            if let Some(steps) = &found.steps { <StepsSection steps={steps.clone()} left_out={found.steps_left_out} /> }
        </div>
    }
}
