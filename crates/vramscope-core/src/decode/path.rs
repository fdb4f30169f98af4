//! The machine's position in the snapshot, in Python's syntax: `device_traces[0][1234].frames`.
//!
//! The position is not tracked during decoding but derived from the stack when needed. From the bottom up, the stack holds
//! the containers under construction, each followed by the values gathered for it so far. After a mark there can be
//! many (APPENDS, SETITEMS). Without one there is a single item, or a key and its value (APPEND, SETITEM: written
//! by Python for containers of one item, and by protocol 0 for all).

use super::key::Key;
use super::machine::Machine;
use super::value::{DictCell, Packed, Value};

/// Longer keys are cut, because they come from the file.
const LONGEST_KEY: usize = 64;

/// The path of the innermost container under construction, and of `field` in it.
pub(super) fn of(machine: &Machine, field: Option<&str>) -> String {
    let mut path = String::new();
    let mut at = 0;
    // Lists that were opened and never used are on the stack too, in any number.
    for _ in 0..machine.limits.depth {
        let Some(&container) = machine.stack.get(at) else {
            break;
        };
        let next = match machine.value(container) {
            Value::List(list) => in_list(&mut path, machine, at, list),
            Value::Dict(dict) => in_dict(&mut path, machine, at, dict, field.is_some()),
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    if let Some(field) = field {
        push_name(&mut path, field);
    }
    path
}

/// Whether a mark follows the container at `at`, and the stack index of the next marked container above it.
fn marks_at(machine: &Machine, at: usize) -> (bool, Option<usize>) {
    let marks = machine.marks.iter().map(|&mark| mark as usize);
    let is_marked = marks.clone().any(|mark| mark == at + 1);
    (
        is_marked,
        marks
            .filter(|&mark| mark > at + 1)
            .min()
            .map(|mark| mark - 1),
    )
}

/// Appends the index of the item under construction. Returns the item's stack index.
fn in_list(path: &mut String, machine: &Machine, at: usize, list: u32) -> Option<usize> {
    let (is_marked, inner) = marks_at(machine, at);
    let last = machine.stack.len() - 1;
    let item = if is_marked {
        inner.unwrap_or(last)
    } else {
        at + 1
    };
    if item > last && !is_marked {
        return None;
    }
    // A list contains one kind of value, so a dict after a list is that list's first item.
    let value = |at: usize| machine.stack.get(at).map(|&packed| machine.value(packed));
    let is_within_last = item > at + 1
        && matches!(
            (value(item - 1), value(item)),
            (Some(Value::List(_)), Some(Value::Dict(_)))
        );
    let item = item - usize::from(is_within_last);
    push_index(path, machine.list_len(list) + item.saturating_sub(at + 1));
    (item > at && item <= last).then_some(item)
}

/// Appends the key whose value is under construction. Returns the value's stack index. If the dict itself is the record
/// with the fault, the caller names the key.
fn in_dict(
    path: &mut String,
    machine: &Machine,
    at: usize,
    dict: u32,
    has_field: bool,
) -> Option<usize> {
    let (is_marked, inner) = marks_at(machine, at);
    if is_marked && inner.is_none() && has_field {
        return None;
    }
    for key in (at + 1..machine.stack.len()).step_by(2) {
        let value = machine.stack.get(key + 1);
        // A complete value is followed by the next key. Otherwise it is an item of a value under construction.
        let is_open = !is_marked
            || inner == Some(key + 1)
            || machine
                .stack
                .get(key + 2)
                .is_some_and(|next| next.text().is_none());
        if value.is_none() || is_open {
            push_key(path, machine, dict, machine.stack[key]);
            return value.map(|_| key + 1);
        }
    }
    None
}

fn push_index(path: &mut String, index: usize) {
    path.push('[');
    path.push_str(&index.to_string());
    path.push(']');
}

fn push_key(path: &mut String, machine: &Machine, dict: u32, key: Packed) {
    let Some(id) = key.text() else { return };
    let name = machine.tables.strings.get(id);
    // Keys of the schema are words; those of settings and of unknown values may be anything.
    if Key::of(id).is_some() || machine.dict(dict) == DictCell::Empty {
        push_name(path, &name.chars().take(LONGEST_KEY).collect::<String>());
    }
}

fn push_name(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}
