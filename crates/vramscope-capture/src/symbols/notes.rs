//! What could not be named, and what would help.

use super::files::Missing;
use super::{Counts, Module};

/// More files than these are only counted.
const MOST_NAMED: usize = 6;

/// A line for each kind of thing that could not be named.
pub(super) fn notes(modules: &[Module], counts: &Counts) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |count: &dyn Fn(&Module) -> u64, before: &str, after: &str| {
        if let Some(files) = list(modules, count) {
            notes.push(format!("{before} {files}{after}"));
        }
    };
    let lacks = |module: &Module, missing: &Missing| match &module.names {
        Err(found) if found == missing && module.path != "[vdso]" => module.addresses,
        _ => 0,
    };
    note(
        &|module| lacks(module, &Missing::Changed),
        "No names for addresses in files that have changed since the program ran (another build id):",
        ". Keep the files that ran, or give a folder with them by --debug-dir.",
    );
    note(
        &|module| lacks(module, &Missing::NotFound),
        "No names for addresses in files that are not here:",
        ". Convert where the program ran, or give a folder with copies by --debug-dir.",
    );
    note(
        &|module| match &module.names {
            Err(Missing::Unreadable(_)) => module.addresses,
            _ => 0,
        },
        "No names for addresses in files that cannot be read:",
        ".",
    );
    note(
        &|module| {
            if module.names.is_ok() {
                module.nameless
            } else {
                0
            }
        },
        "No names for addresses in files without symbols for them:",
        ". If they were stripped, give their debug files by --debug-dir, or build without stripping.",
    );
    note(
        &|module| {
            if module.names.is_ok() && !module.has_lines && !is_of_system(module) {
                module.addresses - module.nameless
            } else {
                0
            }
        },
        "No source lines for addresses in files without debug information:",
        ". Rust writes it with `debug = \"line-tables-only\"` in the profile, C and C++ compilers with -g.",
    );
    if counts.interpreter > 0 && counts.python == 0 {
        notes.push(
            "Python functions are missing from the stacks. Python 3.12 and newer tells them when it is started as \
             `python -X perf`."
                .to_owned(),
        );
    }
    if counts.nowhere > 0 {
        notes.push(format!(
            "No names for {} addresses in code that was generated while the program ran.",
            counts.nowhere
        ));
    }
    notes
}

/// Files with their counts, those that count most first; `None` if none counts.
fn list(modules: &[Module], count: &dyn Fn(&Module) -> u64) -> Option<String> {
    let mut counted: Vec<(u64, &Module)> = modules
        .iter()
        .map(|module| (count(module), module))
        .filter(|&(count, _)| count > 0)
        .collect();
    counted.sort_by(|(a, x), (b, y)| b.cmp(a).then_with(|| x.path.cmp(&y.path)));
    let named = counted.iter().take(MOST_NAMED).map(|(count, module)| {
        let why = match &module.names {
            Err(Missing::Unreadable(why)) => format!(", {why}"),
            _ => String::new(),
        };
        format!("{} ({count}{why})", module.path)
    });
    let mut text = named.collect::<Vec<_>>().join(", ");
    if counted.len() > MOST_NAMED {
        text += &format!(" and {} more", counted.len() - MOST_NAMED);
    }
    (!counted.is_empty()).then_some(text)
}

/// Whether a file came with the system or the driver: nobody builds those anew for their lines.
fn is_of_system(module: &Module) -> bool {
    ["/lib", "/usr/lib", "/usr/local/cuda", "/opt/nvidia"]
        .iter()
        .any(|start| module.path.starts_with(start))
}
