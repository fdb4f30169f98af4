//! Thin banners: the device in one sentence, and data that a file lacks with the consequences for its views.

use std::rc::Rc;

use vramscope_protocol::{Note, NoteLevel};
use yew::prelude::*;

use super::commands::use_commands;
use super::icons::{Glyph, Icon};
use super::verdict::Verdict;
use crate::engine::Session;
use crate::state::{Action, OpenFile, ViewKind};
use vramscope_core::sorting::SortFew;

/// The most notes at once: more would take too much of the views' height. The facts view shows all.
const SHOWN: usize = 1;

/// Banners are for damage, and for notes that affect views. Other oddities of single records are listed in the facts view
/// only, and the verdict tells why the program failed.
fn is_banner(note: &Note) -> bool {
    note.moment.is_none()
        && match note.level {
            NoteLevel::Info => false,
            NoteLevel::Warning => note.places.is_empty(),
            NoteLevel::Damage => true,
        }
}

#[derive(Properties, PartialEq)]
pub(super) struct BannersProps {
    pub(super) file: Rc<OpenFile>,
    /// The file within the chosen memory pools.
    pub(super) session: Session,
    /// The view below.
    pub(super) view: ViewKind,
}

/// The verdict, and the notes that affect what is shown and have not been closed.
#[component]
pub(super) fn Banners(props: &BannersProps) -> Html {
    let commands = use_commands();
    let file = &props.file;
    let mut notes: Vec<_> = file
        .open_notes()
        .filter(|(_, note)| is_banner(note))
        // The overview has all notes itself.
        .filter(|(_, note)| note.level == NoteLevel::Damage || props.view != ViewKind::Overview)
        .collect();
    // Damage comes first, as it makes all else doubtful.
    notes.sort_few_by_key(|(_, note)| note.level != NoteLevel::Damage);
    let further = notes.len().saturating_sub(SHOWN);
    let banner = |(number, note): &(usize, &Note)| {
        html! {
            <div class={classes!("banner", (note.level == NoteLevel::Damage).then_some("damage"))} key={*number}>
                <Glyph icon={Icon::Warning} />
                <p title={format!("{}\n{}", note.text, note.advice)}><b>{ &note.text }</b> { " " } <span>{ &note.advice }</span></p>
                if further > 0 {
                    <button type="button" class="plain" onclick={commands.on(Action::View(ViewKind::Facts))}>
                        { format!("{further} more") }
                    </button>
                }
                <button type="button" class="square" title="Read" aria-label="Close this note"
                    onclick={commands.on(Action::DismissNote(*number))}><Glyph icon={Icon::Close} /></button>
            </div>
        }
    };
    let failures = file.notes().map(|(_, note)| note);
    let failure = failures
        .filter_map(|note| Some((note.moment?, AttrValue::from(note.text.clone()))))
        .last();
    html! {
        <div class="banners" role="region" aria-label="Notes on this file">
            { for notes.iter().take(SHOWN).map(banner) }
            if let Some(facts) = file.facts() {
                <Verdict key={facts.device.to_string()} session={props.session.clone()} device={facts.device} {failure} />
            }
        </div>
    }
}
