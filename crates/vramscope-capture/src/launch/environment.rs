//! The variables that a captured program is started with.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use vramscope_record::settings::{self, Settings};

use super::library;

/// Where programs with NVTX look for whoever wants to know their ranges.
const NVTX: &str = "NVTX_INJECTION64_PATH";

/// What differs from our own environment.
pub(crate) struct Environment {
    /// Names and values to be set.
    pub(crate) variables: Vec<(&'static str, OsString)>,
    /// Somebody else's library is told of NVTX ranges, so ours is not.
    pub(crate) nvtx_is_taken: bool,
}

/// The variables, on top of those that `existing` gives.
///
/// `library` is what to preload, unless the program would not bear it; `old_nvtx` a folder with a stand-in for the older
/// NVTX.
pub(crate) fn environment(
    existing: impl Fn(&str) -> Option<OsString>,
    library: Option<&Path>,
    old_nvtx: Option<&Path>,
    settings: &Settings,
) -> Environment {
    let mut variables = vec![(settings::VARIABLE, settings.to_variable().into())];
    let mut nvtx_is_taken = false;
    if let Some(library) = library {
        let library = library.as_os_str();
        let others = existing("LD_PRELOAD").map(|preloaded| without_ours(&preloaded));
        variables.push(("LD_PRELOAD", list(library, others.as_deref())));
        nvtx_is_taken = existing(NVTX).is_some_and(|path| !path.is_empty() && !is_ours(&path));
        if !nvtx_is_taken {
            variables.push((NVTX, library.to_owned()));
        }
    }
    if let Some(folder) = old_nvtx {
        let name = "LD_LIBRARY_PATH";
        let before = existing(name).filter(|before| !before.is_empty());
        // Last: whatever is found without it comes first.
        let value = match before {
            Some(before) => list(&before, Some(folder.as_os_str())),
            None => folder.as_os_str().to_owned(),
        };
        variables.push((name, value));
    }
    Environment {
        variables,
        nvtx_is_taken,
    }
}

/// Whether a path is that of the library: of another `run`, which has started this one.
fn is_ours(path: &OsStr) -> bool {
    Path::new(path).file_name() == Some(OsStr::new(library::NAME))
}

/// A list for `LD_PRELOAD` without the library of a `run` outside: two in one program would record each other.
fn without_ours(preloaded: &OsStr) -> OsString {
    let entries = || preloaded.as_bytes().split(|byte| b": ".contains(byte));
    let is_other = |entry: &&[u8]| !is_ours(OsStr::from_bytes(entry));
    if entries().all(|entry| is_other(&entry)) {
        return preloaded.to_owned();
    }
    let others: Vec<_> = entries().filter(is_other).collect();
    OsString::from_vec(others.join(&b':'))
}

/// Two entries of a list with colons. An empty one would mean the working folder.
fn list(first: &OsStr, second: Option<&OsStr>) -> OsString {
    let mut list = first.to_owned();
    if let Some(second) = second.filter(|second| !second.is_empty()) {
        list.push(":");
        list.push(second);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(existing: &[(&str, &str)]) -> (Vec<(String, String)>, bool) {
        let settings = Settings::default();
        let existing = |name: &str| {
            let found = existing.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let made = environment(
            existing,
            Some(Path::new("/p/l.so")),
            Some(Path::new("/p/n")),
            &settings,
        );
        let text =
            |(name, value): (&str, OsString)| (name.to_owned(), value.into_string().unwrap());
        // The settings are tested where they are.
        (
            made.variables.into_iter().skip(1).map(text).collect(),
            made.nvtx_is_taken,
        )
    }

    fn owned(pairs: [(&str, &str); 3]) -> Vec<(String, String)> {
        pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec()
    }

    #[test]
    fn an_empty_environment_gets_all_of_ours() {
        let (variables, is_taken) = of(&[("LD_PRELOAD", ""), ("LD_LIBRARY_PATH", "")]);
        assert_eq!(
            variables,
            owned([
                ("LD_PRELOAD", "/p/l.so"),
                ("NVTX_INJECTION64_PATH", "/p/l.so"),
                ("LD_LIBRARY_PATH", "/p/n"),
            ])
        );
        assert!(!is_taken);
    }

    #[test]
    fn what_was_there_stays() {
        let (variables, is_taken) = of(&[
            ("LD_PRELOAD", "/a.so /b.so"),
            ("NVTX_INJECTION64_PATH", "/nsys.so"),
            ("LD_LIBRARY_PATH", "/c:/d"),
        ]);
        let expected = [
            ("LD_PRELOAD", "/p/l.so:/a.so /b.so"),
            ("LD_LIBRARY_PATH", "/c:/d:/p/n"),
        ];
        assert_eq!(
            variables,
            expected
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec()
        );
        assert!(is_taken);
    }

    #[test]
    fn the_library_of_a_run_outside_is_left_out() {
        let outer = "/tmp/vramscope-x/libvramscope_inject.so";
        let (variables, is_taken) = of(&[
            ("LD_PRELOAD", &format!("{outer}:/a.so /b.so")),
            ("NVTX_INJECTION64_PATH", outer),
        ]);
        let value = |name| {
            let found = variables.iter().find(|(other, _)| other == name);
            found.unwrap().1.as_str()
        };
        assert_eq!(value("LD_PRELOAD"), "/p/l.so:/a.so:/b.so");
        assert_eq!(value("NVTX_INJECTION64_PATH"), "/p/l.so");
        assert!(!is_taken);
    }
}
