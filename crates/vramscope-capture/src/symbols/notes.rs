//! Notes about code without names, with advice.

use super::files::Missing;
use super::{Counts, Module};

/// Maximum number of files named in a note.
const MAX_FILES: usize = 6;

/// One way in which names can be missing.
struct Deficiency {
    /// Number of affected addresses in a module.
    addresses: fn(&Module) -> u64,
    /// Text before the list of files.
    what: &'static str,
    /// Text after the list of files.
    advice: &'static str,
}

const DEFICIENCIES: &[Deficiency] = &[
    Deficiency {
        addresses: |module| missing(module, &Missing::Changed),
        what: "No names for addresses in files that have changed since the program ran (another build id):",
        advice: ". Keep the files that ran, or give a folder that contains them with --debug-dir.",
    },
    Deficiency {
        addresses: |module| missing(module, &Missing::NotFound),
        what: "No names for addresses in files that were not found:",
        advice: ". Convert where the program ran, or give a folder that contains copies with --debug-dir.",
    },
    Deficiency {
        addresses: |module| match module.names {
            Err(Missing::Unreadable(_)) => module.addresses,
            _ => 0,
        },
        what: "No names for addresses in files that cannot be read:",
        advice: ".",
    },
    Deficiency {
        addresses: |module| match module.names {
            Ok(_) if !is_of_system(module) => module.nameless,
            _ => 0,
        },
        what: "No names for addresses in files without symbols for them:",
        advice: ". If they were stripped, give their debug files with --debug-dir, or build without stripping.",
    },
    Deficiency {
        addresses: |module| match &module.names {
            Ok(names) if !names.has_lines() && !is_of_system(module) => {
                module.addresses - module.nameless
            }
            _ => 0,
        },
        what: "No source lines for addresses in files without debug information:",
        advice: ". Rust writes it with `debug = \"line-tables-only\"` in the profile, C and C++ compilers with -g.",
    },
];

/// One note for each kind of missing names.
pub(super) fn notes(modules: &[Module], counts: &Counts) -> Vec<String> {
    let sentences = DEFICIENCIES.iter().filter_map(|deficiency| {
        let files = list(modules, deficiency.addresses)?;
        Some(format!("{} {files}{}", deficiency.what, deficiency.advice))
    });
    let mut notes: Vec<String> = sentences.collect();
    if counts.interpreter > 0 && counts.python == 0 {
        notes.push(why_no_python(modules));
    }
    if counts.unmapped > 0 {
        notes.push(format!(
            "No names for {} addresses in code that was generated while the program ran.",
            counts.unmapped
        ));
    }
    notes
}

/// Why Python functions have no names.
fn why_no_python(modules: &[Module]) -> String {
    let interpreters = modules.iter().filter(|module| module.is_interpreter);
    let old = interpreters
        .filter_map(|module| python_version(&module.name))
        .find(|&version| version < (3, 12));
    let why = match old {
        Some((major, minor)) => {
            format!("Python {major}.{minor} cannot name them, 3.12 and later can.")
        }
        None => "Python 3.12 and later names them if it starts with PYTHONPERFSUPPORT=1, which \
                 `vramscope-capture run --python on` sets."
            .to_owned(),
    };
    format!("Python functions are missing from the stacks: {why}")
}

/// The version in an interpreter's file name, such as `libpython3.12.so.1.0` or `python3.12`.
fn python_version(name: &str) -> Option<(u32, u32)> {
    let (_, numbers) = name.split_once("python")?;
    let (major, rest) = numbers.split_once('.')?;
    let minor = rest.split(|it: char| !it.is_ascii_digit()).next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn missing(module: &Module, missing: &Missing) -> u64 {
    match &module.names {
        // The kernel maps this module into every process; it has no file.
        Err(found) if found == missing && module.path != "[vdso]" => module.addresses,
        _ => 0,
    }
}

/// Files with their numbers of affected addresses, highest first; `None` if there are none.
fn list(modules: &[Module], count: fn(&Module) -> u64) -> Option<String> {
    let counts = modules.iter().map(|module| (count(module), module));
    let mut counted: Vec<_> = counts.filter(|&(count, _)| count > 0).collect();
    counted.sort_by(|(a, x), (b, y)| b.cmp(a).then_with(|| x.path.cmp(&y.path)));
    let named = counted.iter().take(MAX_FILES).map(|(count, module)| {
        let why = match &module.names {
            Err(Missing::Unreadable(why)) => format!(", {why}"),
            _ => String::new(),
        };
        format!("{} ({count}{why})", module.path)
    });
    let mut text = named.collect::<Vec<_>>().join(", ");
    if counted.len() > MAX_FILES {
        text += &format!(" and {} more", counted.len() - MAX_FILES);
    }
    (!counted.is_empty()).then_some(text)
}

/// Whether a file belongs to the system or the driver, which users do not rebuild to get names.
fn is_of_system(module: &Module) -> bool {
    let starts = ["/lib", "/usr/lib", "/usr/local/cuda", "/opt/nvidia"];
    starts.iter().any(|start| module.path.starts_with(start))
        || module.path.contains("/site-packages/nvidia/")
}
