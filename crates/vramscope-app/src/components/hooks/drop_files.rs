//! Files dropped anywhere on the window, or pasted; and pasted texts.

use gloo::events::{EventListener, EventListenerOptions};
use wasm_bindgen::JsCast;
use web_sys::{ClipboardEvent, DragEvent};
use yew::prelude::*;

use crate::browser::{clock, files};
use crate::engine::Source;

/// Opens files that are dropped or pasted, and the text of an error that is pasted. Where the page around this one chooses
/// them, `open` is `None`, and they are refused: the browser would show a dropped one in place of the page. Returns whether
/// files are being dragged over the window.
#[hook]
pub(crate) fn use_drop(open: Option<Callback<Vec<Source>>>) -> bool {
    let is_over = use_state_eq(|| false);
    {
        let is_over = is_over.clone();
        use_effect_with(open, move |open| {
            let drags = ["dragenter", "dragover", "dragleave", "drop"]
                .map(|kind| listen_to_drag(kind, is_over.setter(), open.clone()));
            let open = open.clone();
            let paste = EventListener::new(&gloo::utils::window(), "paste", move |event| {
                let transfer = event
                    .dyn_ref::<ClipboardEvent>()
                    .and_then(ClipboardEvent::clipboard_data);
                let Some(open) = &open else { return };
                let mut pasted = files::of_transfer(transfer.clone());
                if pasted.is_empty() && !files::is_field(event.target()) {
                    pasted.extend(files::text_of_transfer(transfer));
                }
                give(open, Source::files(pasted));
            });
            clock::mark("vramscope:started");
            move || drop((drags, paste))
        });
    }
    *is_over
}

fn listen_to_drag(
    kind: &'static str,
    is_over: UseStateSetter<bool>,
    open: Option<Callback<Vec<Source>>>,
) -> EventListener {
    let options = EventListenerOptions::enable_prevent_default();
    EventListener::new_with_options(&gloo::utils::window(), kind, options, move |event| {
        let Some(event) = event.dyn_ref::<DragEvent>() else {
            return;
        };
        let transfer = event.data_transfer();
        if kind == "drop" {
            is_over.set(false);
        }
        if !files::has_files(transfer.as_ref()) {
            return;
        }
        // Otherwise the browser would open the file in place of the page.
        event.prevent_default();
        let Some(open) = &open else {
            if let Some(transfer) = transfer {
                transfer.set_drop_effect("none");
            }
            return;
        };
        match kind {
            // With a related target, the drag has moved to another element; without one, it has
            // left the window.
            "dragleave" => is_over.set(event.related_target().is_some()),
            "drop" => give(open, Source::files(files::of_transfer(transfer))),
            _ => {
                if let Some(transfer) = transfer {
                    transfer.set_drop_effect("copy");
                }
                is_over.set(true);
            }
        }
    })
}

fn give(open: &Callback<Vec<Source>>, sources: Vec<Source>) {
    if !sources.is_empty() {
        open.emit(sources);
    }
}
