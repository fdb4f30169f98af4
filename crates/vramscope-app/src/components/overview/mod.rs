//! Findings in words, with links to the evidence.

mod cards;
mod evidence;
mod gap;
mod roles;
pub(super) mod rows;
mod steps;
mod tiles;
pub(super) mod words;

use vramscope_protocol::Note;
use vramscope_protocol::views::overview::OverviewOf;
use yew::prelude::*;

use self::cards::Cards;
use self::gap::GapSection;
use self::roles::Roles;
use self::rows::row_table;
use self::steps::StepsSection;
use self::tiles::Tiles;
use super::commands::use_commands;
use super::facts_view::notes_list;
use super::flame::window::use_keys_on_show;
use super::hooks::{use_answer, use_painted};
use super::site_label::SiteColours;
use super::view_props::ViewProps;
use super::what_if::use_conclusion;
use crate::state::ViewKind;
use crate::state::choices::FlameChoices;
use vramscope_core::analysis::properties::Property;
use vramscope_core::analysis::report::findings::{Finding, is_calm};
use vramscope_core::analysis::report::overview::Overview;
use vramscope_view::theme::Theme;

#[component]
pub(super) fn OverviewView(props: &ViewProps) -> Html {
    let question = OverviewOf {
        device: props.look.device,
    };
    let answered = use_answer(&props.session, Some(question));
    let found = answered.and_then(|answered| answered.answer);
    use_painted("overview", found.clone());
    let of_device = found.filter(|found| found.device == props.look.device);
    let concluded = use_conclusion(&props.session, props.look.device, of_device.is_some());
    // Notes on failures are left out, because each failure is also a finding.
    let notes = props.file.notes().map(|(_, note)| note);
    let notes: Vec<Note> = notes
        .filter(|note| note.moment.is_none())
        .cloned()
        .collect();
    let is_by_site = props.look.colour_by == Property::CallSite;
    let root = use_node_ref();
    // So that keys scroll the page.
    use_keys_on_show(&root, true);
    use_reveal(&root, props.explained, of_device.is_some());
    html! {
        <section ref={root} class="view overview" aria-label="Overview" tabindex="0" data-scrolls="">
            { props.scope_note(ViewKind::Overview) }
            if let Some(found) = of_device {
                <Found found={Overview::clone(&found)} {concluded} within_pool={props.search.pool().is_some()} choices={props.choices.flame.clone()} {notes} theme={Theme::of(props.look.theme)} colours={is_by_site.then(|| SiteColours::of(&props.file, props.look.theme))} />
            } else {
                <p class="muted wait">{ "Looking through the recording…" }</p>
            }
        </section>
    }
}

/// Space above what is scrolled to, CSS px.
const AIR_CSS: f64 = 36.0;

/// Scrolls to the first finding when the findings were asked for and it is not in the upper half of the view.
#[hook]
fn use_reveal(root: &NodeRef, explained: u32, is_found: bool) {
    let root = root.clone();
    use_effect_with((explained, is_found), move |&(explained, is_found)| {
        let view = root
            .cast::<web_sys::Element>()
            .filter(|_| explained > 0 && is_found);
        let finding = view
            .as_ref()
            .and_then(|view| view.query_selector(".finding").ok()?);
        if let Some((view, finding)) = view.zip(finding) {
            let (frame, place) = (
                view.get_bounding_client_rect(),
                finding.get_bounding_client_rect(),
            );
            let (below, half) = (place.top() - frame.top(), frame.height() / 2.0);
            if !(0.0..half).contains(&below) {
                view.set_scroll_top(view.scroll_top() + (below - AIR_CSS) as i32);
            }
        }
    });
}

#[derive(Properties, PartialEq)]
struct FoundProps {
    found: Overview,
    /// What replays amount to, once they have ended.
    concluded: Option<Finding>,
    /// Whether the figures are of one memory pool.
    within_pool: bool,
    choices: FlameChoices,
    notes: Vec<Note>,
    theme: Theme,
    /// The colours of call sites; `None` while colours stand for something else.
    colours: Option<SiteColours>,
}

/// The content, once the overview is computed.
#[component]
fn Found(props: &FoundProps) -> Html {
    let commands = use_commands();
    let mut found = props.found.clone();
    // What comes later does not change the columns: nothing moves sideways under the pointer.
    let is_calm = is_calm(&found.findings);
    if let Some(concluded) = &props.concluded {
        found.conclude(concluded.clone());
    }
    let sentence = found.roles.sentence();
    let colours = props.colours.clone().filter(|_| sentence.is_none());
    let about = (!props.notes.is_empty()).then(|| {
        html! {
            <section class="recording">
                <h2>{ if props.within_pool { "About the whole recording" } else { "About the recording" } }</h2>
                { notes_list(&props.notes) }
            </section>
        }
    });
    // What a state alone cannot tell comes before what it tells.
    let (above, below) = if found.has_trace {
        (None, about)
    } else {
        (about, None)
    };
    html! {
        <div class="page">
            <Tiles found={found.clone()} within_pool={props.within_pool} />
            if let Some(sentence) = sentence {
                // The verdict above all views may be the same.
                <Roles sentence={(sentence != found.verdict()).then_some(sentence)} roles={found.roles.clone()} theme={props.theme} />
            }
            <div class={classes!("columns", is_calm.then_some("calm"))}>
                <div class="column">
                    { above }
                    <Cards findings={found.findings.clone()} choices={props.choices.clone()} colours={colours.clone()} has_trace={found.has_trace} is_empty={found.peak.allocations == 0} segments={found.segments} is_damaged={found.is_damaged} />
                    { below }
                </div>
                <div class="column">
                    <GapSection bars={found.bars()} start_us={found.start_us} segments={found.segments} has_trace={found.has_trace} />
                    if !found.peak_sites.rows.is_empty() {
                        <section class="sites">
                            <h2>{ &found.peak_sites.title }</h2>
                            { row_table(&commands, &found.peak_sites, Some(found.peak.active_bytes), colours.as_ref(), Some(found.peak.moment)) }
                        </section>
                    }
                </div>
            </div>
            if let Some(steps) = &found.steps { <StepsSection steps={steps.clone()} left_out={found.steps_left_out} /> }
        </div>
    }
}
