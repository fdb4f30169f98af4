//! Finds the files with symbols and checks that they are the ones that ran.
//!
//! A file is used only if it has the recorded build id. For modules without a build id, the path must do.

use super::bytes::FileBytes;
use object::Object as _;
use std::path::{Component, Path, PathBuf};
use vramscope_record::symbols::LoadedModule;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Missing {
    NotFound,
    /// The file is not the one that ran.
    Changed,
    /// The file cannot be read; holds the reason.
    Unreadable(String),
}

impl Missing {
    pub(super) fn damaged() -> Self {
        Self::Unreadable("its debug information is damaged".to_owned())
    }
}

/// The folders to search.
pub(super) struct SearchPaths {
    /// The user's folders: copies of the other machine's files by path, or files by name or build id.
    folders: Vec<PathBuf>,
    /// The distribution's folder for debug information.
    system: PathBuf,
    /// The download folder of `debuginfod-find`.
    downloads: Option<PathBuf>,
}

impl SearchPaths {
    pub(super) fn new(folders: &[PathBuf]) -> Self {
        let cache = std::env::var_os("DEBUGINFOD_CACHE_PATH").map(PathBuf::from);
        let home = || Some(std::env::home_dir()?.join(".cache/debuginfod_client"));
        Self {
            folders: folders.to_vec(),
            system: PathBuf::from("/usr/lib/debug"),
            downloads: cache.or_else(home),
        }
    }

    /// Finds the file that was loaded.
    ///
    /// # Errors
    ///
    /// If there is none, with the reason.
    pub(super) fn find_image(
        &self,
        module: &LoadedModule,
    ) -> Result<(PathBuf, FileBytes), Missing> {
        // The kernel's mark for files replaced or deleted while in use.
        let path = module.path.strip_suffix(" (deleted)");
        let path = Path::new(path.unwrap_or(&module.path));
        let inside = below_root(path);
        let mut candidates = Vec::new();
        for folder in &self.folders {
            candidates.push(folder.join(&inside));
            candidates.extend(path.file_name().map(|name| folder.join(name)));
            candidates.extend(by_build_id(folder, &module.build_id, ""));
        }
        if path.is_absolute() {
            candidates.push(path.to_owned());
        }
        let mut missing = Missing::NotFound;
        for candidate in candidates {
            match FileBytes::read(&candidate) {
                Ok(None) => {}
                Ok(Some(bytes)) if has_build_id(&bytes, &module.build_id) => {
                    return Ok((candidate, bytes));
                }
                Ok(Some(_)) => missing = Missing::Changed,
                Err(error) => {
                    if missing == Missing::NotFound {
                        missing = Missing::Unreadable(error.to_string());
                    }
                }
            }
        }
        Err(missing)
    }

    /// Finds a module's separate debug information. `image` is the module's own file, if found.
    pub(super) fn find_debug_file(
        &self,
        module: &LoadedModule,
        image: Option<(&Path, &FileBytes)>,
    ) -> Option<(PathBuf, FileBytes)> {
        let build_id = &module.build_id;
        let mut candidates = Vec::new();
        for folder in self.folders.iter().chain([&self.system]) {
            candidates.extend(by_build_id(folder, build_id, ".debug"));
        }
        if let Some(downloads) = self.downloads.as_ref().filter(|_| !build_id.is_empty()) {
            candidates.push(downloads.join(hexadecimal(build_id)).join("debuginfo"));
        }
        for candidate in candidates {
            if let Ok(Some(bytes)) = FileBytes::read(&candidate)
                && has_build_id(&bytes, build_id)
            {
                return Some((candidate, bytes));
            }
        }
        let (path, bytes) = image?;
        self.find_linked(path, bytes, build_id)
    }

    /// Finds the file named by `.gnu_debuglink`.
    fn find_linked(
        &self,
        image: &Path,
        bytes: &FileBytes,
        build_id: &[u8],
    ) -> Option<(PathBuf, FileBytes)> {
        let object = object::File::parse(bytes.get()).ok()?;
        let (name, check) = object.gnu_debuglink().ok()??;
        let name = Path::new(std::str::from_utf8(name).ok()?).file_name()?;
        let folder = image.parent()?;
        let mut candidates = vec![folder.join(name), folder.join(".debug").join(name)];
        for debug in self.folders.iter().chain([&self.system]) {
            candidates.push(debug.join(below_root(folder)).join(name));
            candidates.push(debug.join(name));
        }
        for candidate in candidates {
            if candidate == image {
                continue;
            }
            if let Ok(Some(linked)) = FileBytes::read(&candidate) {
                let fits = if build_id.is_empty() {
                    crc32(linked.get()) == check
                } else {
                    has_build_id(&linked, build_id)
                };
                if fits {
                    return Some((candidate, linked));
                }
            }
        }
        None
    }

    /// Where to look for a file that debug information names by its path on the build machine.
    pub(super) fn built_file_candidates(&self, path: &Path) -> Vec<PathBuf> {
        let mut candidates = Vec::new();
        for folder in &self.folders {
            candidates.push(folder.join(below_root(path)));
            candidates.extend(path.file_name().map(|name| folder.join(name)));
        }
        candidates.push(path.to_owned());
        candidates
    }
}

/// Whether a file is an object with this build id. An empty build id matches only objects without one.
fn has_build_id(bytes: &FileBytes, build_id: &[u8]) -> bool {
    let Ok(object) = object::File::parse(bytes.get()) else {
        // The caller reports damaged files.
        return build_id.is_empty();
    };
    let found = object.build_id().ok().flatten().unwrap_or_default();
    found == build_id
}

/// A path without its root and without components that leave the folder.
fn below_root(path: &Path) -> PathBuf {
    path.components()
        .filter(|component| matches!(component, Component::Normal(_)))
        .collect()
}

fn by_build_id(folder: &Path, build_id: &[u8], suffix: &str) -> Option<PathBuf> {
    let text = hexadecimal(build_id);
    let (start, rest) = text.split_at_checked(2)?;
    Some(
        folder
            .join(".build-id")
            .join(start)
            .join(format!("{rest}{suffix}")),
    )
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The checksum in `.gnu_debuglink`, which is zlib's.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let mut value = index as u32;
            let mut bit = 0;
            while bit < 8 {
                value = (value >> 1) ^ (0xEDB8_8320 * (value & 1));
                bit += 1;
            }
            table[index] = value;
            index += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |sum: u32, &byte| {
        (sum >> 8) ^ TABLE[usize::from(sum as u8 ^ byte)]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_zlibs() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn paths_stay_below_their_folder() {
        assert_eq!(
            below_root(Path::new("/usr/../../lib/x.so")),
            Path::new("usr/lib/x.so")
        );
        let path = by_build_id(Path::new("/d"), &[0xAB, 0x01, 0x02], ".debug");
        assert_eq!(path.unwrap(), Path::new("/d/.build-id/ab/0102.debug"));
        assert_eq!(by_build_id(Path::new("/d"), &[], ".debug"), None);
    }
}
