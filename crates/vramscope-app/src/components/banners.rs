//! Thin banners: data that a file lacks, and the consequences for its views.

use std::rc::Rc;

use yew::prelude::*;

use super::commands::use_commands;
use super::icons::{Glyph, Icon};
use crate::protocol::{Note, NoteLevel};
use crate::state::{Action, Navigation, OpenFile, ViewKind};
use vramscope_core::sorting::SortFew;

/// The most banners at once: more would take too much of the views' height. The facts view shows all notes.
const SHOWN: usize = 1;

/// Banners are for damage, and for notes that affect views or tell why the program failed. Other oddities of
/// single records are listed in the facts view only.
fn is_banner(note: &Note) -> bool {
    note.moment.is_some()
        || match note.level {
            NoteLevel::Info => false,
            NoteLevel::Warning => note.places.is_empty(),
            NoteLevel::Damage => true,
        }
}

#[derive(Properties, PartialEq)]
pub(super) struct BannersProps {
    pub(super) file: Rc<OpenFile>,
}

/// The notes that affect what is shown and have not been closed.
#[component]
pub(super) fn Banners(props: &BannersProps) -> Html {
    let commands = use_commands();
    let mut notes: Vec<_> = props
        .file
        .open_notes()
        .filter(|(_, note)| is_banner(note))
        .collect();
    // Damage comes first, as it makes all else doubtful; then failed requests, the likeliest reason to open the file.
    notes.sort_few_by_key(|(_, note)| (note.level != NoteLevel::Damage, note.moment.is_none()));
    let go = |moment| {
        let dispatch = commands.dispatch.clone();
        Callback::from(move |_: MouseEvent| {
            dispatch.emit(Action::View(ViewKind::Timeline));
            dispatch.emit(Action::Navigate(Navigation::Event(moment)));
        })
    };
    let further = notes.len().saturating_sub(SHOWN);
    let banner = |(place, (number, note)): (usize, &(usize, &Note))| {
        let is_last = place + 1 == notes.len().min(SHOWN);
        html! {
            <div class={classes!("banner", (note.level == NoteLevel::Damage).then_some("damage"))} key={*number}>
                <Glyph icon={Icon::Warning} />
                // The advice on a failed allocation is in the facts view only.
                <p title={format!("{}\n{}", note.text, note.advice)}><b>{ &note.text }</b> { " " } if note.moment.is_none() { <span>{ &note.advice }</span> }</p>
                if let Some(moment) = note.moment {
                    <button type="button" class="plain" onclick={commands.on_explain()}>{ "Explain" }</button>
                    <button type="button" class="plain" onclick={go(moment)}>{ "Go there" }</button>
                }
                if is_last && further > 0 {
                    <button type="button" class="plain" onclick={commands.on(Action::View(ViewKind::Facts))}>
                        { format!("{further} more") }
                    </button>
                }
                <button type="button" class="square" title="Read" aria-label="Close this note"
                    onclick={commands.on(Action::DismissNote(*number))}><Glyph icon={Icon::Close} /></button>
            </div>
        }
    };
    html! {
        <div class="banners" role="region" aria-label="Notes on this file">
            { for notes.iter().take(SHOWN).enumerate().map(banner) }
        </div>
    }
}
