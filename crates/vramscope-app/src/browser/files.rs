//! Files of the user's machine: dropped, picked or pasted.

use wasm_bindgen::JsCast;
use web_sys::{DataTransfer, File, FileList, HtmlInputElement};

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

fn of_list(list: Option<FileList>) -> Vec<File> {
    let Some(list) = list else { return Vec::new() };
    (0..list.length())
        .filter_map(|index| list.get(index))
        .collect()
}
