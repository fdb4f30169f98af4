//! The environment variables of a captured program.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use vramscope_record::settings::{self, Settings};

use super::{library, python};

/// The library that NVTX loads.
const NVTX: &str = "NVTX_INJECTION64_PATH";

/// Options of the address sanitizer.
const SANITIZER: &str = "ASAN_OPTIONS";
/// The sanitizer's option that requires it to be the first library.
const SANITIZER_ORDER: &str = "verify_asan_link_order";

/// Differences from this process's environment.
pub(crate) struct Environment {
    pub(crate) variables: Vec<(&'static str, OsString)>,
    /// Whether NVTX already loads another library, so that ranges are not recorded.
    pub(crate) nvtx_is_taken: bool,
}

/// Determines the variables to set. `existing` returns the current values.
///
/// `library` is the library to preload, `None` if the program could not load it. `old_nvtx` is a folder with a
/// replacement for NVTX 1 and 2. `names_python` is whether Python is to name its functions.
pub(crate) fn capture_environment(
    existing: impl Fn(&str) -> Option<OsString>,
    library: Option<&Path>,
    old_nvtx: Option<&Path>,
    names_python: bool,
    settings: &Settings,
) -> Environment {
    let mut variables = vec![(settings::VARIABLE, settings.to_variable().into())];
    let mut nvtx_is_taken = false;
    if let Some(library) = library {
        let library = library.as_os_str();
        let others = existing("LD_PRELOAD").map(|preloaded| without_ours(&preloaded));
        variables.push(("LD_PRELOAD", join(library, others.as_deref())));
        variables.extend(sanitizer_options(existing(SANITIZER)));
        nvtx_is_taken = existing(NVTX).is_some_and(|path| !path.is_empty() && !is_ours(&path));
        if !nvtx_is_taken {
            variables.push((NVTX, library.to_owned()));
        }
    }
    if names_python {
        variables.push((python::VARIABLE, "1".into()));
    }
    if let Some(folder) = old_nvtx {
        let name = "LD_LIBRARY_PATH";
        let before = existing(name).filter(|before| !before.is_empty());
        // Last, so that existing libraries take precedence.
        let value = match before {
            Some(before) => join(&before, Some(folder.as_os_str())),
            None => folder.as_os_str().to_owned(),
        };
        variables.push((name, value));
    }
    Environment {
        variables,
        nvtx_is_taken,
    }
}

/// Options for the address sanitizer. As a shared library (gcc's default) it would end the program because ours is
/// loaded before it, although it works in that order too. Set always, since nobody knows which of the started programs
/// use it.
fn sanitizer_options(existing: Option<OsString>) -> Option<(&'static str, OsString)> {
    let existing = existing.unwrap_or_default();
    let name = SANITIZER_ORDER.as_bytes();
    if existing.as_bytes().windows(name.len()).any(|it| it == name) {
        return None;
    }
    let own = format!("{SANITIZER_ORDER}=0");
    let options = match existing.is_empty() {
        true => own.into(),
        false => join(&existing, Some(own.as_ref())),
    };
    Some((SANITIZER, options))
}

/// Whether a path is the injected library, such as an outer `run`'s.
fn is_ours(path: &OsStr) -> bool {
    Path::new(path).file_name() == Some(OsStr::new(library::NAME))
}

/// Removes an outer `run`'s injected library from a value of `LD_PRELOAD`: two copies in one program would record each
/// other.
fn without_ours(preloaded: &OsStr) -> OsString {
    let entries = || preloaded.as_bytes().split(|byte| b": ".contains(byte));
    let is_other = |entry: &&[u8]| !is_ours(OsStr::from_bytes(entry));
    if entries().all(|entry| is_other(&entry)) {
        return preloaded.to_owned();
    }
    let others: Vec<_> = entries().filter(is_other).collect();
    OsString::from_vec(others.join(&b':'))
}

/// Joins two entries with a colon. An empty entry would mean the working folder.
fn join(first: &OsStr, second: Option<&OsStr>) -> OsString {
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

    fn environment_of(existing: &[(&str, &str)]) -> (Vec<(String, String)>, bool) {
        let settings = Settings::default();
        let existing = |name: &str| {
            let found = existing.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let environment = capture_environment(
            existing,
            Some(Path::new("/p/l.so")),
            Some(Path::new("/p/n")),
            true,
            &settings,
        );
        let text =
            |(name, value): (&str, OsString)| (name.to_owned(), value.into_string().unwrap());
        // Leaves out the settings, which have their own tests.
        (
            environment
                .variables
                .into_iter()
                .skip(1)
                .map(text)
                .collect(),
            environment.nvtx_is_taken,
        )
    }

    fn owned(pairs: [(&str, &str); 5]) -> Vec<(String, String)> {
        pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec()
    }

    #[test]
    fn an_empty_environment_gets_all_of_ours() {
        let (variables, nvtx_is_taken) =
            environment_of(&[("LD_PRELOAD", ""), ("LD_LIBRARY_PATH", "")]);
        assert_eq!(
            variables,
            owned([
                ("LD_PRELOAD", "/p/l.so"),
                ("ASAN_OPTIONS", "verify_asan_link_order=0"),
                ("NVTX_INJECTION64_PATH", "/p/l.so"),
                ("PYTHONPERFSUPPORT", "1"),
                ("LD_LIBRARY_PATH", "/p/n"),
            ])
        );
        assert!(!nvtx_is_taken);
    }

    #[test]
    fn what_was_there_stays() {
        let (variables, nvtx_is_taken) = environment_of(&[
            ("LD_PRELOAD", "/a.so /b.so"),
            ("NVTX_INJECTION64_PATH", "/nsys.so"),
            ("LD_LIBRARY_PATH", "/c:/d"),
            ("ASAN_OPTIONS", "protect_shadow_gap=0"),
        ]);
        let expected = [
            ("LD_PRELOAD", "/p/l.so:/a.so /b.so"),
            (
                "ASAN_OPTIONS",
                "protect_shadow_gap=0:verify_asan_link_order=0",
            ),
            ("PYTHONPERFSUPPORT", "1"),
            ("LD_LIBRARY_PATH", "/c:/d:/p/n"),
        ];
        assert_eq!(
            variables,
            expected
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec()
        );
        assert!(nvtx_is_taken);
        let wanted = Some("verify_asan_link_order=1".into());
        assert_eq!(sanitizer_options(wanted), None);
    }

    #[test]
    fn the_library_of_a_run_outside_is_left_out() {
        let outer = "/tmp/vramscope-x/libvramscope_inject.so";
        let (variables, nvtx_is_taken) = environment_of(&[
            ("LD_PRELOAD", &format!("{outer}:/a.so /b.so")),
            ("NVTX_INJECTION64_PATH", outer),
        ]);
        let value = |name| {
            let found = variables.iter().find(|(other, _)| other == name);
            found.unwrap().1.as_str()
        };
        assert_eq!(value("LD_PRELOAD"), "/p/l.so:/a.so:/b.so");
        assert_eq!(value("NVTX_INJECTION64_PATH"), "/p/l.so");
        assert!(!nvtx_is_taken);
    }
}
