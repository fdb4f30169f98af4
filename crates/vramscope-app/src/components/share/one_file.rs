//! One HTML file with the viewer and the shown file inside.

use js_sys::Uint8Array;
use vramscope_protocol::views::export::Question;
use web_sys::Blob;
use yew::prelude::*;

use crate::browser::{download, one_file};
use crate::components::copy_button::CopyButton;
use crate::engine::Session;
use crate::state::Permalink;

#[derive(Properties, PartialEq)]
pub(super) struct OneFileItemsProps {
    pub(super) session: Session,
    /// What is seen.
    pub(super) place: Permalink,
    /// The start of file names.
    pub(super) name: AttrValue,
    /// Whether the file is a snapshot, which the worker packs and in which it can replace names.
    pub(super) is_snapshot: bool,
}

/// What became of a file.
#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    /// It is being made; whether it is the anonymous one.
    Packing(bool),
    /// It is saved; whether it is the anonymous one.
    Saved(bool),
    /// It could not be made; whether it is the anonymous one.
    Failed(bool),
}

/// The menu's items that save such files. Where the page's own files cannot be had again, the command that writes one.
#[component]
pub(super) fn OneFileItems(props: &OneFileItemsProps) -> Html {
    let outcome = use_state_eq(|| None);
    if let Some(Outcome::Failed(is_anonymous)) = *outcome {
        return command_item(props.session.name(), &props.name, is_anonymous);
    }
    let on_save = |is_anonymous: bool| {
        let (session, name) = (props.session.clone(), props.name.clone());
        let (place, said) = (props.place.clone(), outcome.setter());
        let is_snapshot = props.is_snapshot;
        Callback::from(move |_: MouseEvent| {
            said.set(Some(Outcome::Packing(is_anonymous)));
            let file = match is_anonymous {
                false => Named::of(&session, &name, place.clone()),
                true => Named::anonymous(&place),
            };
            let said = said.clone();
            if !is_snapshot {
                return file.save(session.file().map(|file| (**file).clone()), said);
            }
            let key = is_anonymous.then(one_file::random);
            session.ask_once(Question::Packed { key }, move |_, bytes| {
                let blob = (!bytes.is_null()).then(|| one_file::as_blob(&bytes).ok());
                file.save(blob.flatten(), said);
            });
        })
    };
    let item = |is_anonymous: bool, title: &str, about: &str| {
        let what = match *outcome {
            Some(Outcome::Packing(of)) if of == is_anonymous => "is being made…",
            Some(Outcome::Saved(of)) if of == is_anonymous => {
                "saved; it opens from disk, without any network"
            }
            _ => about,
        };
        let disabled = matches!(*outcome, Some(Outcome::Packing(_)));
        html! {
            <button type="button" class="item" onclick={on_save(is_anonymous)} {disabled}>
                <strong>{ title.to_owned() }</strong><span class="muted" role="status">{ what.to_owned() }</span>
            </button>
        }
    };
    html! {
        <>
            { item(false, "One HTML file", "viewer and file in one, for anybody: it opens from disk") }
            if props.is_snapshot {
                { item(true, "One HTML file, anonymous", "names of your code, paths and annotations replaced; numbers and pictures stay") }
            }
        </>
    }
}

/// The names in the file, and what it shows first.
struct Named {
    html: String,
    inside: String,
    is_anonymous: bool,
    shown: Permalink,
}

impl Named {
    fn of(session: &Session, stem: &str, shown: Permalink) -> Self {
        Self {
            html: format!("{stem}.html"),
            inside: session.name().to_owned(),
            is_anonymous: false,
            shown,
        }
    }

    /// Only what holds no names.
    fn anonymous(place: &Permalink) -> Self {
        Self {
            html: "anonymous.html".to_owned(),
            inside: "anonymous.vram".to_owned(),
            is_anonymous: true,
            shown: Permalink {
                view: place.view,
                place: place.place.clone(),
                ..Permalink::default()
            },
        }
    }

    /// Makes and saves the file with this content, and says what became of it.
    fn save(self, content: Option<Blob>, said: UseStateSetter<Option<Outcome>>) {
        wasm_bindgen_futures::spawn_local(async move {
            let made = match content {
                Some(content) => {
                    let shown = |key| {
                        let file = Some(key);
                        Permalink { file, ..self.shown }.to_text()
                    };
                    one_file::of(self.inside, &content, shown).await.ok()
                }
                None => None,
            };
            said.set(Some(match made {
                Some(html) => {
                    // Not as a text, which may be no longer than half a GiB in some browsers.
                    let html = Uint8Array::from(html.as_bytes());
                    download::save(&self.html, "text/html", &html);
                    Outcome::Saved(self.is_anonymous)
                }
                None => Outcome::Failed(self.is_anonymous),
            }));
        });
    }
}

/// The commands that write the file. An anonymous one is written of an anonymous snapshot.
fn command_item(name: &str, stem: &str, is_anonymous: bool) -> Html {
    let name = quoted(name);
    let command = match is_anonymous {
        false => format!(
            "vramscope html {name} -o {}",
            quoted(&format!("{stem}.html"))
        ),
        true => format!(
            "vramscope anonymise {name} -o anonymous.vram && vramscope html anonymous.vram -o anonymous.html"
        ),
    };
    let title = match is_anonymous {
        false => "One HTML file",
        true => "One HTML file, anonymous",
    };
    html! {
        <div class="item link">
            <span class="grow"><strong>{ title }</strong>
                <span class="muted" role="status">{ "could not be made here; the command line makes it" }</span></span>
            <CopyButton text={command} what="the command" with_word=true />
        </div>
    }
}

/// A file's name as a word of a shell.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+=@,/".contains(c);
    match name.chars().all(is_plain) && !name.starts_with('-') {
        true => name.to_owned(),
        false => format!("'./{}'", name.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn names_are_words_of_a_shell() {
        assert_eq!(quoted("run-1.pickle"), "run-1.pickle");
        assert_eq!(quoted("a b$.pickle"), "'./a b$.pickle'");
        assert_eq!(quoted("-o"), "'./-o'");
        assert_eq!(quoted("it's"), "'./it'\\''s'");
    }
}
