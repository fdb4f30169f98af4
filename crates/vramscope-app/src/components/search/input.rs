//! The input of the search box: text, underlined errors, and the number of matches.

use vramscope_protocol::views::filter::{Answer, Question};
use web_sys::{FocusEvent, HtmlInputElement, KeyboardEvent};
use yew::prelude::*;

use vramscope_core::analysis::search::filter::{Completions, Filter, FilterError, keys};
use vramscope_core::model::DeviceIndex;

use super::super::commands::use_commands;
use super::super::hooks::use_answer;
use super::super::icons::{Glyph, Icon};
use super::BOX_ID;
use super::found::{use_found, use_next};
use super::panel::Panel;
use crate::browser::clock;
use crate::engine::Session;
use crate::state::{Action, DeviceView, Search, search_box};
use vramscope_view::display;

/// Pause between keys before searching, in ms, so that fast typing searches once.
const PAUSE_MS: i32 = 30;
/// Pause after the name of a key, in ms, because a value usually follows.
const KEY_PAUSE_MS: i32 = 600;

#[derive(Properties, PartialEq)]
pub(crate) struct SearchBoxProps {
    pub(crate) session: Session,
    pub(crate) device: DeviceIndex,
    pub(crate) search: Search,
    pub(crate) view: DeviceView,
}

/// The text being edited.
#[derive(Clone, PartialEq, Default)]
struct Draft {
    text: String,
    /// Position of the caret, in bytes of the text.
    caret: usize,
    /// Whether to show the list of completions.
    is_open: bool,
    /// Index of the completion chosen with keys.
    chosen: Option<usize>,
    /// Whether to show the guide.
    has_guide: bool,
    is_focused: bool,
}

#[component]
pub(crate) fn SearchBox(props: &SearchBoxProps) -> Html {
    let node = use_node_ref();
    let (session, device, search) = (&props.session, props.device, &props.search);
    let draft = use_state_eq(Draft::default);
    let write = use_writer(&draft, search);
    let error = use_memo(draft.text.clone(), |text| Filter::parse(text).err());
    let wrong = (*error).as_ref().filter(|error| !error.is_unfinished);
    let found = use_found(session, device, search, &props.view);
    let next = use_next(session, device, search, &props.view);
    let completions = use_completions(session, device, &draft);
    use_caret(&node, &draft);

    let take = on_candidate(&draft, &completions, &write);
    let on_example = on_example(&draft, &write);
    let oninput = {
        let (node, write) = (node.clone(), write.clone());
        Callback::from(move |_: InputEvent| {
            if let Some((text, caret)) = node.cast::<HtmlInputElement>().map(|input| read(&input)) {
                write.emit((text, caret));
            }
        })
    };
    let onkeydown = on_key(&draft, &completions, take.clone(), write.clone());
    let (onfocusin, onfocusout) = on_focus(&draft);
    let toggle_guide = toggle_guide(&draft);
    let clear = write.reform(|_: MouseEvent| (String::new(), 0));
    let is_searching = search.is_on();
    let pinned = next.filter(|next| props.view.pinned() == Some(next.allocation));
    let shows_panel = draft.is_focused;
    html! {
        <search class={classes!("search", wrong.is_some().then_some("wrong"))} {onfocusin} {onfocusout}>
            <div class="search-field">
                { echo(&draft.text, wrong) }
                <input id={BOX_ID} ref={node} type="text" value={draft.text.clone()} {oninput} {onkeydown}
                    title={draft.text.clone()} placeholder="Search or filter  ( / )" autocomplete="off" spellcheck="false" autocapitalize="off"
                    role="combobox" aria-label="Search" aria-expanded={(!completions.candidates.is_empty()).to_string()}
                    aria-controls="search-options" aria-invalid={wrong.is_some().to_string()}
                    aria-activedescendant={draft.chosen.map(|place| format!("search-option-{place}"))} />
                if let Some(found) = found.as_ref().filter(|_| is_searching) {
                    <output class="search-found" title={search_box::found_title(found)}>
                        if let Some(next) = pinned { { format!("{} of ", display::count(next.place)) } }
                        { search_box::found_text(found) }
                    </output>
                }
                if !draft.text.is_empty() {
                    <button type="button" class="square small" title="Show everything (clears the box)" aria-label="Clear the search box"
                        onclick={clear}><Glyph icon={Icon::Close} /></button>
                }
                <button type="button" class="square small" title="Search syntax" aria-label="Search syntax"
                    aria-expanded={draft.has_guide.to_string()} onclick={toggle_guide}><Glyph icon={Icon::Help} /></button>
            </div>
            if shows_panel {
                <Panel error={(*error).as_ref().map(|error| AttrValue::from(error.message.clone()))} is_unfinished={wrong.is_none()}
                    notes={found.map(|found| found.notes).unwrap_or_default()}
                    candidates={completions.candidates.clone()} chosen={draft.chosen} has_guide={draft.has_guide}
                    on_candidate={take} {on_example} />
            }
        </search>
    }
}

/// Replaces the word at the caret by a completion.
fn on_candidate(
    draft: &UseStateHandle<Draft>,
    completions: &Completions,
    write: &Callback<(String, usize)>,
) -> Callback<usize> {
    let (draft, write, completions) = (draft.clone(), write.clone(), completions.clone());
    Callback::from(move |place: usize| {
        if let Some(candidate) = completions.candidates.get(place) {
            let span = completions.span.clone();
            write.emit(search_box::accept(&draft.text, span, candidate));
        }
    })
}

/// Appends an example of the guide to the text.
fn on_example(
    draft: &UseStateHandle<Draft>,
    write: &Callback<(String, usize)>,
) -> Callback<String> {
    let draft = draft.clone();
    write.reform(move |example: String| {
        let before = draft.text.trim_end();
        let space = if before.is_empty() { "" } else { " " };
        let text = format!("{before}{space}{example} ");
        let caret = text.len();
        (text, caret)
    })
}

fn toggle_guide(draft: &UseStateHandle<Draft>) -> Callback<MouseEvent> {
    let draft = draft.clone();
    Callback::from(move |_: MouseEvent| {
        draft.set(Draft {
            has_guide: !draft.has_guide,
            is_focused: true,
            ..(*draft).clone()
        });
    })
}

/// An invisible copy of the text that underlines the error.
fn echo(text: &str, error: Option<&FilterError>) -> Html {
    let Some(error) = error else {
        return Html::default();
    };
    let (before, within, after) = search_box::split(text, &error.span);
    // An error at the end of the text is marked behind it.
    let within = if within.is_empty() {
        "\u{a0}".to_owned()
    } else {
        within
    };
    html! {
        <div class="search-echo" aria-hidden="true">{ before }<span class="wrong">{ within }</span>{ after }</div>
    }
}

/// Text and caret of the input.
fn read(input: &HtmlInputElement) -> (String, usize) {
    let text = input.value();
    let units = input.selection_start().ok().flatten();
    let caret = units.map_or(text.len(), |units| search_box::byte_at(&text, units));
    (text, caret)
}

/// Sets text and caret: in the box at once; in the search after a pause, if the text is a valid
/// filter.
#[hook]
fn use_writer(draft: &UseStateHandle<Draft>, search: &Search) -> Callback<(String, usize)> {
    let commands = use_commands();
    // The text last sent to the search, to recognise changes by others.
    let told = use_mut_ref(String::new);
    let presses = use_mut_ref(|| 0_u32);
    {
        let (draft, told) = (draft.clone(), told.clone());
        use_effect_with(search.text.clone(), move |text| {
            if *told.borrow() != *text {
                told.replace(text.clone());
                draft.set(Draft {
                    text: text.clone(),
                    caret: text.len(),
                    ..(*draft).clone()
                });
            }
        });
    }
    let draft = draft.clone();
    Callback::from(move |(text, caret): (String, usize)| {
        let is_filter = Filter::parse(&text).is_ok();
        draft.set(Draft {
            text: text.clone(),
            caret,
            is_open: true,
            chosen: None,
            ..(*draft).clone()
        });
        *presses.borrow_mut() += 1;
        if !is_filter {
            return;
        }
        let (now, presses) = (*presses.borrow(), presses.clone());
        let (told, dispatch) = (told.clone(), commands.dispatch.clone());
        let written = text.clone();
        let search = move || {
            if *presses.borrow() == now {
                told.replace(text.clone());
                dispatch.emit(Action::Search(text));
            }
        };
        let word = text_before(&written, caret);
        let pause_ms = if keys::find(word).is_some() {
            KEY_PAUSE_MS
        } else {
            PAUSE_MS
        };
        clock::later(pause_ms, search);
    })
}

/// The word that ends at the caret.
fn text_before(text: &str, caret: usize) -> &str {
    let before = text.get(..caret).unwrap_or(text);
    before
        .rsplit([' ', '(', '!', '-', '|'])
        .next()
        .unwrap_or_default()
}

/// Completions at the caret, while the box has the focus.
#[hook]
fn use_completions(session: &Session, device: DeviceIndex, draft: &Draft) -> Completions {
    let question = draft.is_focused.then(|| Question::Complete {
        device,
        text: draft.text.clone(),
        caret: draft.caret,
    });
    let answered = use_answer(session, question);
    let completions = answered.and_then(|answered| {
        // A list for another text would insert at the wrong place.
        let is_current = matches!(&answered.question, Question::Complete { text, caret, .. }
            if *text == draft.text && *caret == draft.caret);
        match &*answered.answer? {
            Answer::Completions(completions) if is_current => Some(completions.clone()),
            _ => None,
        }
    });
    completions
        .filter(|_| draft.is_open && draft.is_focused)
        .unwrap_or_default()
}

/// Moves the caret to the end of an inserted completion.
#[hook]
fn use_caret(node: &NodeRef, draft: &Draft) {
    let node = node.clone();
    use_effect_with((draft.text.clone(), draft.caret), move |(text, caret)| {
        if let Some(input) = node.cast::<HtmlInputElement>() {
            let at = search_box::units_at(text, *caret);
            let is_there = input.selection_start().ok().flatten() == Some(at);
            if input.value() == *text && !is_there {
                let _ = input.set_selection_range(at, at);
            }
        }
    });
}

fn on_key(
    draft: &UseStateHandle<Draft>,
    completions: &Completions,
    take: Callback<usize>,
    write: Callback<(String, usize)>,
) -> Callback<KeyboardEvent> {
    let draft = draft.clone();
    let count = completions.candidates.len();
    Callback::from(move |event: KeyboardEvent| {
        let choose = |chosen: Option<usize>| {
            draft.set(Draft {
                chosen,
                is_open: true,
                ..(*draft).clone()
            });
        };
        match event.key().as_str() {
            "ArrowDown" if count > 0 => {
                choose(Some(draft.chosen.map_or(0, |chosen| (chosen + 1) % count)));
            }
            // Arrow down also opens the list that Enter has closed.
            "ArrowDown" => choose(None),
            "ArrowUp" if count > 0 => {
                choose(Some(
                    draft
                        .chosen
                        .map_or(count, |chosen| chosen)
                        .checked_sub(1)
                        .unwrap_or(count - 1),
                ));
            }
            "Tab" if count > 0 && !event.shift_key() && !draft.text.trim().is_empty() => {
                take.emit(draft.chosen.unwrap_or(0));
            }
            "Enter" => match draft.chosen.filter(|&chosen| chosen < count) {
                Some(chosen) => take.emit(chosen),
                None => {
                    write.emit((draft.text.clone(), draft.caret));
                    draft.set(Draft {
                        is_open: false,
                        has_guide: false,
                        ..(*draft).clone()
                    });
                }
            },
            "Escape" => {
                if let Some(input) = event.target_dyn_into::<HtmlInputElement>() {
                    let _ = input.blur();
                }
            }
            _ => return,
        }
        event.prevent_default();
    })
}

/// The panel is open while any element of the box has the focus.
fn on_focus(draft: &UseStateHandle<Draft>) -> (Callback<FocusEvent>, Callback<FocusEvent>) {
    let set = |is_focused: bool| {
        let draft = draft.clone();
        move |event: FocusEvent| {
            let stays = !is_focused && stays_inside(&event);
            if draft.is_focused != is_focused && !stays {
                draft.set(Draft {
                    is_focused,
                    is_open: is_focused,
                    has_guide: is_focused && draft.has_guide,
                    chosen: None,
                    ..(*draft).clone()
                });
            }
        }
    };
    (Callback::from(set(true)), Callback::from(set(false)))
}

/// Whether the focus moves to another element of the box.
fn stays_inside(event: &FocusEvent) -> bool {
    let to = event
        .related_target()
        .and_then(|target| wasm_bindgen::JsCast::dyn_into::<web_sys::Element>(target).ok());
    to.is_some_and(|to| to.closest(".search").ok().flatten().is_some())
}
