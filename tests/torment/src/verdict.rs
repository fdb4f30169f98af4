//! The rules for every run, whatever the file.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use serde_json::Value;
use vramscope_core::invisible;

use crate::child::Ended;

/// The exit codes promised in the help.
const CODES: [i32; 4] = [0, 1, 2, 3];

/// The fault of a run that ended; `None` if there is none.
pub(crate) fn fault(words: &[String], ended: &Ended, folder: &Path) -> Option<String> {
    let Some(code) = ended.code() else {
        let why = match ended.signal() {
            Some(signal) => format!(
                "signal {signal} ended it (6: aborted, 9 and 24: too long, 25: wrote too much)"
            ),
            None => "it hung".to_owned(),
        };
        return Some(format!("{why}: {}", ended.stderr.trim()));
    };
    if !CODES.contains(&code) {
        return Some(format!("exit code {code}: {}", ended.stderr.trim()));
    }
    let signs = [
        "panicked at",
        "internal error",
        "built without the page",
        // A file that the decoder accepts within these limits can be answered.
        "not enough memory for this answer",
    ];
    for sign in signs {
        if ended.stderr.contains(sign) {
            return Some(ended.stderr.trim().to_owned());
        }
    }
    if code != 0 && ended.stderr.trim().is_empty() && ended.stdout.is_empty() {
        return Some(format!("exit code {code} without a word"));
    }
    if ended.stderr.chars().any(is_control) {
        return Some("control characters in an error message".to_owned());
    }
    if ended.stderr.lines().any(is_command) {
        return Some("a command to a CI system in an error message".to_owned());
    }
    leftover(folder)
        .or_else(|| reassurance(words, ended, code))
        .or_else(|| wrong_answer(words, ended, code))
}

/// Reassuring words about a file that standard error reports as damaged.
fn reassurance(words: &[String], ended: &Ended, code: i32) -> Option<String> {
    if ended.stderr.trim().is_empty() {
        return None;
    }
    let text = String::from_utf8_lossy(&ended.stdout);
    if text.contains("Nothing found that looks wrong") {
        return Some(format!(
            "nothing is wrong, it says, but: {}",
            ended.stderr.trim()
        ));
    }
    let is_check = words.first().is_some_and(|word| word == "check");
    (is_check && code == 0).then(|| format!("it passed, but: {}", ended.stderr.trim()))
}

/// The fault of an interrupted run: `before` are the files that existed.
pub(crate) fn interrupted(ended: &Ended, before: &[OsString], folder: &Path) -> Option<String> {
    if ended.stderr.contains("panicked at") {
        return Some(ended.stderr.trim().to_owned());
    }
    let after = names(folder);
    (after != before).then(|| format!("{after:?} where there was {before:?}"))
}

/// The files of a folder, by name.
pub(crate) fn names(folder: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    names.sort();
    names
}

/// A partial file that was left behind.
fn leftover(folder: &Path) -> Option<String> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let partial = names.find(|name| name.starts_with(".vramscope"))?;
    Some(format!("{partial} stayed behind"))
}

/// The fault in the printed answer.
fn wrong_answer(words: &[String], ended: &Ended, code: i32) -> Option<String> {
    let is_json = words.iter().any(|word| word == "--json");
    if is_json && (code == 0 || !ended.stdout.is_empty()) {
        let parsed = serde_json::from_slice::<Value>(&ended.stdout);
        let has_command = || {
            let text = String::from_utf8_lossy(&ended.stdout);
            let is_any = text.lines().any(is_command);
            is_any.then(|| "a command to a CI system in JSON".to_owned())
        };
        return parsed
            .err()
            .map_or_else(has_command, |error| Some(format!("its JSON: {error}")));
    }
    let Ok(text) = std::str::from_utf8(&ended.stdout) else {
        return Some("its text is not UTF-8".to_owned());
    };
    let is_text = !words.iter().any(|word| word == "--to" || word == "--csv");
    if !is_text {
        return None;
    }
    // A picture is for programs, and escapes quoted text in its own way.
    if !text.starts_with("<?xml") && text.lines().any(is_command) {
        return Some("a command to a CI system in a text".to_owned());
    }
    text.chars()
        .any(is_control)
        .then(|| "control characters in a text".to_owned())
}

/// Whether a terminal would interpret a character as a command, or reorder the text around it.
fn is_control(character: char) -> bool {
    invisible::is_invisible(character)
        || character.is_control() && !matches!(character, '\n' | '\t')
}

/// Whether a CI system would interpret a line as a command.
fn is_command(line: &str) -> bool {
    let after = line.trim_start().strip_prefix("::");
    let anywhere = ["##[", "##vso[", "##teamcity["];
    after.is_some_and(|after| after.contains("::"))
        || anywhere.into_iter().any(|command| line.contains(command))
}
