//! Where in the snapshot the machine is, in the words of Python: `device_traces[0][1234].frames`.
//!
//! Nothing is tracked while all goes well: the stack itself tells. Below each mark lies the container
//! that is being filled; between two marks lie what has been gathered for it so far and the container
//! that the next mark fills.

use super::key::Key;
use super::machine::Machine;
use super::value::{DictCell, Packed, Value};

/// Keys longer than this are cut: they come from the file.
const LONGEST_KEY: usize = 64;

/// The path of the container under construction, and of `field` in it.
pub(super) fn of(machine: &Machine, field: Option<&str>) -> String {
    let mut path = String::new();
    for (index, &mark) in machine.marks.iter().enumerate() {
        let mark = mark as usize;
        let Some(&container) = mark
            .checked_sub(1)
            .and_then(|below| machine.stack.get(below))
        else {
            continue;
        };
        let is_last = index + 1 == machine.marks.len();
        let end = match machine.marks.get(index + 1) {
            Some(&next) => (next as usize).saturating_sub(1),
            None => machine.stack.len(),
        };
        let gathered = machine.stack.get(mark..end).unwrap_or(&[]);
        match machine.value(container) {
            Value::List(list) if is_last => {
                push_index(
                    &mut path,
                    machine.list_len(list) + gathered.len().saturating_sub(1),
                );
            }
            Value::List(list) => push_index(&mut path, machine.list_len(list) + gathered.len()),
            Value::Dict(_) if is_last && field.is_some() => {}
            Value::Dict(dict) => push_key(&mut path, machine, dict, gathered),
            _ => {}
        }
    }
    if let Some(field) = field {
        push_name(&mut path, field);
    }
    path
}

fn push_index(path: &mut String, index: usize) {
    path.push('[');
    path.push_str(&index.to_string());
    path.push(']');
}

/// The key whose value comes next: the last one gathered without a value.
fn push_key(path: &mut String, machine: &Machine, dict: u32, gathered: &[Packed]) {
    if gathered.len() % 2 == 0 {
        return;
    }
    let Some(id) = gathered.last().and_then(|key| key.text()) else {
        return;
    };
    let name = machine.tables.strings.get(id);
    // A key of the settings or of an unknown part may be anything; of the schema it is a word.
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
