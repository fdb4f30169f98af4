//! Files of the user's machine: dropped, picked or pasted; and pasted texts, as files.

use js_sys::Array;
use wasm_bindgen::JsCast;
use web_sys::{DataTransfer, Element, EventTarget, File, FileList, HtmlInputElement};

/// The files of a drop or a paste.
#[must_use]
pub fn of_transfer(transfer: Option<DataTransfer>) -> Vec<File> {
    of_list(transfer.and_then(|transfer| transfer.files()))
}

/// The files picked in an `<input type=file>`. Clears the input, so that the same file can be
/// picked again.
#[must_use]
pub fn of_input(target: Option<web_sys::EventTarget>) -> Vec<File> {
    let Some(input) = target.and_then(|target| target.dyn_into::<HtmlInputElement>().ok()) else {
        return Vec::new();
    };
    let sources = of_list(input.files());
    input.set_value("");
    sources
}

/// Whether a drag over the page carries files; the page accepts no other drags.
#[must_use]
pub fn has_files(transfer: Option<&DataTransfer>) -> bool {
    transfer.is_some_and(|transfer| transfer.types().includes(&"Files".into(), 0))
}

/// The text of a paste, as a file; `None` if it has none.
#[must_use]
pub fn text_of_transfer(transfer: Option<DataTransfer>) -> Option<File> {
    of_text(&transfer?.get_data("text/plain").ok()?)
}

/// A text as a file; `None` if it is blank.
#[must_use]
pub fn of_text(text: &str) -> Option<File> {
    if text.trim().is_empty() {
        return None;
    }
    File::new_with_str_sequence(&Array::of1(&text.into()), "pasted text").ok()
}

/// Whether what is pasted belongs to a field of the page, such as the search box. Not of the box for errors: to paste
/// there is to open.
#[must_use]
pub fn is_field(target: Option<EventTarget>) -> bool {
    let element = target.and_then(|target| target.dyn_into::<Element>().ok());
    let field = element.and_then(|element| element.closest("input, textarea, select").ok()?);
    field.is_some_and(|field| !field.has_attribute("data-paste"))
}

fn of_list(list: Option<FileList>) -> Vec<File> {
    let Some(list) = list else { return Vec::new() };
    (0..list.length())
        .filter_map(|index| list.get(index))
        .collect()
}
