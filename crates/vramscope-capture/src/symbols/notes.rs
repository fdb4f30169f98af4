//! What could not be named, and what would help.

use super::files::Missing;
use super::{Counts, Module};

/// More files than these are only counted.
const MOST_NAMED: usize = 6;

/// Something that names lack.
struct Lack {
    /// How many addresses of a module lack it.
    addresses: fn(&Module) -> u64,
    /// Before the files.
    what: &'static str,
    /// Behind them.
    cure: &'static str,
}

const LACKS: &[Lack] = &[
    Lack {
        addresses: |module| missing(module, &Missing::Changed),
        what: "No names for addresses in files that have changed since the program ran (another build id):",
        cure: ". Keep the files that ran, or give a folder with them by --debug-dir.",
    },
    Lack {
        addresses: |module| missing(module, &Missing::NotFound),
        what: "No names for addresses in files that are not here:",
        cure: ". Convert where the program ran, or give a folder with copies by --debug-dir.",
    },
    Lack {
        addresses: |module| match module.names {
            Err(Missing::Unreadable(_)) => module.addresses,
            _ => 0,
        },
        what: "No names for addresses in files that cannot be read:",
        cure: ".",
    },
    Lack {
        addresses: |module| match module.names {
            Ok(_) if !is_of_system(module) => module.nameless,
            _ => 0,
        },
        what: "No names for addresses in files without symbols for them:",
        cure: ". If they were stripped, give their debug files by --debug-dir, or build without stripping.",
    },
    Lack {
        addresses: |module| match &module.names {
            Ok(names) if !names.has_lines() && !is_of_system(module) => {
                module.addresses - module.nameless
            }
            _ => 0,
        },
        what: "No source lines for addresses in files without debug information:",
        cure: ". Rust writes it with `debug = \"line-tables-only\"` in the profile, C and C++ compilers with -g.",
    },
];

/// A line for each kind of thing that could not be named.
pub(super) fn notes(modules: &[Module], counts: &Counts) -> Vec<String> {
    let lacking = LACKS.iter().filter_map(|lack| {
        let files = list(modules, lack.addresses)?;
        Some(format!("{} {files}{}", lack.what, lack.cure))
    });
    let mut notes: Vec<String> = lacking.collect();
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

fn missing(module: &Module, missing: &Missing) -> u64 {
    match &module.names {
        // What the kernel maps into each process is no file.
        Err(found) if found == missing && module.path != "[vdso]" => module.addresses,
        _ => 0,
    }
}

/// Files with their counts, those that count most first; `None` if none counts.
fn list(modules: &[Module], count: fn(&Module) -> u64) -> Option<String> {
    let counts = modules.iter().map(|module| (count(module), module));
    let mut counted: Vec<_> = counts.filter(|&(count, _)| count > 0).collect();
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

/// Whether a file came with the system or from the driver's maker: nobody builds those anew for their names.
fn is_of_system(module: &Module) -> bool {
    let starts = ["/lib", "/usr/lib", "/usr/local/cuda", "/opt/nvidia"];
    starts.iter().any(|start| module.path.starts_with(start))
        || module.path.contains("/site-packages/nvidia/")
}
