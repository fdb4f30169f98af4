//! A link that holds the file itself.

use vramscope_view::display;
use yew::prelude::*;

use crate::browser::carried::{self, Carried, MOST_BYTES};
use crate::browser::{clipboard, history};
use crate::engine::Session;

#[derive(Properties, PartialEq)]
pub(super) struct CarryItemProps {
    pub(super) session: Session,
    /// The address of what is seen.
    pub(super) fragment: AttrValue,
}

/// What became of the link.
#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Packing,
    Copied(u64),
    TooLarge(Option<u64>),
    Failed,
}

/// The menu's item that copies such a link.
#[component]
pub(super) fn CarryItem(props: &CarryItemProps) -> Html {
    let outcome = use_state_eq(|| None);
    let what = match *outcome {
        None => format!(
            "for somebody who lacks the file: up to {} compressed",
            display::bytes(MOST_BYTES)
        ),
        Some(Outcome::Packing) => "is being made…".to_owned(),
        Some(Outcome::Copied(bytes)) => {
            format!("copied; it holds {}", display::bytes(bytes))
        }
        Some(Outcome::TooLarge(bytes)) => {
            let file = bytes.map_or_else(|| "much more".to_owned(), display::bytes);
            format!(
                "the file takes {file}, and a link holds {}; select a range, and save it as a snapshot",
                display::bytes(MOST_BYTES)
            )
        }
        Some(Outcome::Failed) => "the browser did not allow it".to_owned(),
    };
    let onclick = {
        let (session, fragment) = (props.session.clone(), props.fragment.clone());
        let said = outcome.setter();
        Callback::from(move |_: MouseEvent| {
            let (session, fragment) = (session.clone(), fragment.clone());
            let said = said.clone();
            said.set(Some(Outcome::Packing));
            wasm_bindgen_futures::spawn_local(async move {
                let Some(file) = session.file() else { return };
                match carried::of(file).await {
                    Ok(Carried::Text(text, bytes)) => {
                        let link = history::link(
                            None,
                            &carried::with(&carried::named(&fragment, bytes), &text),
                        );
                        clipboard::copy(&link, move |worked| {
                            said.set(Some(match worked {
                                true => Outcome::Copied(bytes),
                                false => Outcome::Failed,
                            }));
                        });
                    }
                    Ok(Carried::TooLarge(bytes)) => said.set(Some(Outcome::TooLarge(bytes))),
                    Err(_) => said.set(Some(Outcome::Failed)),
                }
            });
        })
    };
    html! {
        <button type="button" class="item carry" {onclick}>
            <strong>{ "Link with the file in it" }</strong><span class="muted" role="status">{ what }</span>
        </button>
    }
}
