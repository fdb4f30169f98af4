//! Tests of the reader and its conclusions on texts from public threads, and on those texts broken at random.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod advice;
mod broken;
mod forms;
mod threads;

use std::path::Path;

/// A text from a thread, and its cause according to the thread.
struct Thread {
    name: String,
    class: String,
    text: String,
}

/// All texts of `tests/fixtures/text/threads.txt`.
fn threads() -> Vec<Thread> {
    threads_in("threads.txt")
}

/// Those in a file of the fixtures.
fn threads_in(file: &str) -> Vec<Thread> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/text");
    let all = std::fs::read_to_string(folder.join(file)).unwrap();
    let parts = all
        .split("\n### ")
        .map(|part| part.trim_start_matches("### "));
    let threads = parts.map(|part| {
        let (head, text) = part.split_once('\n').unwrap();
        let mut head = head.split(" | ").map(str::to_owned);
        Thread {
            name: head.next().unwrap(),
            class: head.next().unwrap(),
            text: format!("{text}\n"),
        }
    });
    threads.collect()
}

/// A class by its name in JSON.
fn class_name(class: vramscope_text::Class) -> String {
    let debug = format!("{class:?}");
    let mut name = String::new();
    for letter in debug.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}
