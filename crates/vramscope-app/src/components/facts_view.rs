//! The facts about a file: format, contents, gaps, and settings of the allocator.

mod captured;
mod counts;
mod host;
mod settings;

use std::rc::Rc;

use vramscope_protocol::views::overview::FileDetailsOf;
use vramscope_protocol::{DeviceFacts, Note, NoteLevel};
use yew::prelude::*;

use self::captured::captured_section;
use self::counts::counts_section;
use self::host::host_section;
use self::settings::settings_section;
use super::commands::use_commands;
use super::hooks::{use_answer, use_painted};
use super::icons::{Glyph, Icon};
use crate::engine::Session;
use crate::state::{Action, OpenFile, ViewKind, sentences};
use vramscope_view::display;

#[derive(Properties, PartialEq)]
pub(super) struct FactsViewProps {
    pub(super) session: Session,
    pub(super) file: Rc<OpenFile>,
}

/// The file, its devices, all notes, its settings and counts.
#[component]
pub(super) fn FactsView(props: &FactsViewProps) -> Html {
    let commands = use_commands();
    let opened = &props.file.opened;
    let answered = use_answer(&props.session, Some(FileDetailsOf));
    let answer = answered.and_then(|answered| answered.answer);
    use_painted("facts", answer.clone());
    let details = answer.as_deref();
    let has_trace = opened.devices.iter().any(|facts| facts.has_trace);
    let device = |(place, facts): (usize, &DeviceFacts)| {
        let show = {
            let dispatch = commands.dispatch.clone();
            Callback::from(move |_: MouseEvent| {
                dispatch.emit(Action::Device(place));
                dispatch.emit(Action::View(ViewKind::Timeline));
            })
        };
        html! {
            <tr>
                <th scope="row"><button type="button" class="plain" onclick={show}>{ &facts.name }</button></th>
                <td>{ display::count(u64::from(facts.events)) }</td>
                <td>{ display::count(u64::from(facts.allocations)) }</td>
                <td title={sentences::exact_bytes(facts.peak_bytes)}>{ display::bytes(facts.peak_bytes) }</td>
                <td title={facts.most_reserved_bytes.map(sentences::exact_bytes)}>{ sentences::peak_reserved(facts) }</td>
                if has_trace {
                    <td title={sentences::exact_bytes(facts.final_bytes)}>{ display::bytes(facts.final_bytes) }</td>
                    <td>{ sentences::known_count(facts.ooms) }</td>
                }
            </tr>
        }
    };
    html! {
        <section class="view facts" aria-label="Facts" tabindex="0" data-scrolls="">
            <div class="page">
                <h2>{ &opened.file.name }</h2>
                <dl class="rows">
                    { for sentences::file_rows(&opened.file).into_iter().map(|(name, value)| html! { <><dt>{ name }</dt><dd>{ value }</dd></> }) }
                </dl>
                <h3>{ "Devices" }</h3>
                if opened.devices.is_empty() {
                    <p class="muted">{ "No device has memory in this snapshot." }</p>
                } else { <div class="wide" tabindex="0"><table>
                    <thead><tr>
                        { for titles(has_trace).iter().map(|title| html! { <th scope="col">{ *title }</th> }) }
                    </tr></thead>
                    <tbody>{ for opened.devices.iter().enumerate().map(device) }</tbody>
                </table></div> }
                <h3>{ "What to know about it" }</h3>
                if props.file.notes().next().is_none() { <p class="muted">{ "Nothing odd was found." }</p> }
                { notes_list(props.file.notes().map(|(_, note)| note)) }
                if let Some(details) = details {
                    { captured_section(details) }
                    { settings_section(details) }
                    { host_section(&commands, details) }
                    { counts_section(details) }
                }
            </div>
        </section>
    }
}

/// The heads of the table of devices.
fn titles(has_trace: bool) -> &'static [&'static str] {
    if has_trace {
        &[
            "Device",
            "Events",
            "Allocations",
            "Peak live",
            "Peak reserved",
            "Live at the end",
            "OOM",
        ]
    } else {
        &[
            "Device",
            "Events",
            "Allocations",
            "Live at the dump",
            "Reserved at the dump",
        ]
    }
}

/// A list of notes, each with its advice.
pub(super) fn notes_list<'a>(notes: impl IntoIterator<Item = &'a Note>) -> Html {
    html! { <ul class="notes">{ for notes.into_iter().map(note) }</ul> }
}

fn note(note: &Note) -> Html {
    let icon = match note.level {
        NoteLevel::Info => Icon::Info,
        NoteLevel::Warning | NoteLevel::Damage => Icon::Warning,
    };
    html! {
        <li>
            <Glyph {icon} />
            <div>
                <p>{ &note.text }</p>
                if !note.advice.is_empty() { <p class="muted">{ &note.advice }</p> }
                if !note.places.is_empty() { <p class="mono muted">{ note.places.join(", ") }</p> }
            </div>
        </li>
    }
}
