//! Snapshots that other pages hand in.

use std::cell::RefCell;
use std::rc::Rc;

use gloo::events::EventListener;
use wasm_bindgen::JsCast;
use web_sys::{File, MessageEvent};
use yew::prelude::*;

use crate::browser::door::{self, Message};
use crate::components::ask_card::AskCard;
use crate::engine::Source;
use crate::state::door::{MOST_WAITING, is_trusted, question};

/// A snapshot that waits for the user's word.
struct Waiting {
    origin: String,
    file: File,
}

#[derive(Default)]
struct Door {
    waiting: Vec<Waiting>,
    /// The origins that the user did not let in; they are not asked about again while the page is open.
    refused: Vec<String>,
}

impl Door {
    /// Takes a snapshot in, if its page may hand it in unasked; else keeps it until the user says.
    fn take(&mut self, event: &MessageEvent, file: File, is_of_host: bool) -> Option<File> {
        let origin = event.origin();
        if is_of_host || is_trusted(&origin, &door::own_origin(), &door::allowed()) {
            return Some(file);
        }
        if self.waiting.len() < MOST_WAITING && !self.refused.contains(&origin) {
            self.waiting.push(Waiting { origin, file });
        }
        None
    }

    /// The page that is asked about first, and its snapshots.
    fn first(&self) -> Option<(String, Vec<(String, u64)>)> {
        let origin = &self.waiting.first()?.origin;
        let of_page = self.waiting.iter().filter(|one| one.origin == *origin);
        let files = of_page.map(|one| (one.file.name(), one.file.size() as u64));
        Some((origin.clone(), files.collect()))
    }

    /// The snapshots of the page that was asked about, which wait no longer.
    fn answered(&mut self, agreed: bool) -> Vec<File> {
        let Some((origin, _)) = self.first() else {
            return Vec::new();
        };
        let (of_page, others) = self.waiting.drain(..).partition(|one| one.origin == origin);
        self.waiting = others;
        if agreed {
            door::allow(&origin);
            return Vec::into_iter(of_page)
                .map(|one: Waiting| one.file)
                .collect();
        }
        self.refused.push(origin);
        Vec::new()
    }
}

/// Opens the snapshots that other pages hand in. Returns the card that asks about those of a page that is not trusted.
/// `is_embedded`: the page around this one chose to show it, and what it shows, as it does with `?src=`.
#[hook]
pub(crate) fn use_door(open: Callback<Vec<Source>>, is_embedded: bool) -> Option<Html> {
    let door = use_memo((), |()| Rc::new(RefCell::new(Door::default())));
    let asked = use_state_eq(|| None);
    {
        let (door, asked, open) = (Rc::clone(&door), asked.setter(), open.clone());
        use_effect_with((), move |()| {
            let window = gloo::utils::window();
            let listener = EventListener::new(&window, "message", move |event| {
                let Some(event) = event.dyn_ref::<MessageEvent>() else {
                    return;
                };
                match door::message(event) {
                    Some(Message::Ping) => door::answer_ping(event),
                    Some(Message::File(file)) => {
                        let is_of_host = is_embedded && door::is_of_host(event);
                        let taken = door.borrow_mut().take(event, file, is_of_host);
                        if let Some(file) = taken {
                            let source = match is_of_host {
                                true => Source::Handed(file),
                                false => Source::File(file),
                            };
                            open.emit(vec![source]);
                        }
                        asked.set(door.borrow().first());
                    }
                    Some(Message::Look(_)) | None => {}
                }
            });
            move || drop(listener)
        });
    }
    let (origin, files) = (*asked).clone()?;
    let (title, text) = question(&origin, &files);
    let setter = asked.setter();
    let on_answer = Callback::from(move |agreed| {
        let files = door.borrow_mut().answered(agreed);
        if !files.is_empty() {
            open.emit(Source::files(files));
        }
        setter.set(door.borrow().first());
    });
    Some(html! { <main class="middle"><AskCard {title} {text} {on_answer} /></main> })
}
