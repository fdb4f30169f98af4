//! The injected library: part of this binary, unpacked to where programs can load it.
//!
//! All runs of a user share that place, and the library stays there. A process that outlives the run has its path in
//! `LD_PRELOAD`, and every program it starts would print an error if the file were gone. The place is in the user's
//! cache or, if that cannot be trusted, in a folder of the user's for temporary files.

use std::ffi::CString;
use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::{elf_file, program};
use crate::failure::Failure;

/// Empty on platforms without capture.
static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libvramscope_inject.so"));

pub(super) const NAME: &str = "libvramscope_inject.so";

/// Names under which programs look for NVTX 1 and 2.
const OLD_NVTX: [&str; 2] = ["libnvToolsExt.so.1", "libnvToolsExt.so"];

/// The versions that the library needs: names of libraries and versions.
pub(super) static NEEDED: LazyLock<Vec<(String, String)>> =
    LazyLock::new(|| elf_file::needed_versions(LIBRARY).unwrap_or_default());

/// The library as a file, in a folder that only this user may write to.
pub(crate) struct UnpackedLibrary {
    folder: PathBuf,
}

impl UnpackedLibrary {
    /// Writes the library, unless an earlier run did.
    ///
    /// # Errors
    /// If this binary contains no library, or if there is no suitable folder.
    pub(crate) fn new() -> Result<Self, Failure> {
        if LIBRARY.is_empty() {
            return Err(Failure::usage(
                "this build cannot record: it does not contain the library to inject",
            )
            .with_advice("Recording works on Linux with glibc, on x86-64 and aarch64; `convert` works everywhere."));
        }
        if let Some(folder) = cache_folder().and_then(|cache| unpack_into_cache(&cache)) {
            return Ok(Self { folder });
        }
        let name = format!("vramscope-{}", program::effective_ids().0);
        let places = temporary_places();
        let mut unpacked = places.iter().map(|place| unpack_into(&place.join(&name)));
        let folder = unpacked.find_map(|folder| folder).ok_or_else(|| {
            let tried: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
            Failure::input(format!(
                "found no folder from which a library can be loaded and in which only you can replace it; tried the cache, {}",
                tried.join(", ")
            ))
            .with_advice(
                "Set XDG_CACHE_HOME to a folder to which only you may write, that is not mounted with noexec and has no \
                 space or colon in its name.",
            )
        })?;
        Ok(Self { folder })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// Creates a folder with the library under the names of NVTX 1 and 2, unless this machine has that NVTX. Programs
    /// that need it can then run, and their ranges are recorded.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub(crate) fn add_old_nvtx(&self) -> Result<Option<PathBuf>, Failure> {
        if can_be_loaded(OLD_NVTX[0]) {
            return Ok(None);
        }
        let folder = self.folder.join("nvtx");
        let link = |name| match symlink(Path::new("..").join(NAME), folder.join(name)) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            outcome => outcome,
        };
        create_private(&folder)
            .and_then(|()| OLD_NVTX.into_iter().try_for_each(link))
            .map_err(Failure::io(format!(
                "cannot write into {}",
                self.folder.display()
            )))?;
        Ok(Some(folder))
    }
}

/// The user's cache folder.
fn cache_folder() -> Option<PathBuf> {
    let folder = |name| Some(PathBuf::from(std::env::var_os(name)?)).filter(|it| it.is_absolute());
    folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))
}

/// [`unpack_into`] in the user's `cache`.
fn unpack_into_cache(cache: &Path) -> Option<PathBuf> {
    // In another user's home, as after `su`, a folder of ours would be in that user's way.
    let existing = cache.ancestors().find(|it| it.exists())?;
    is_safe(&fs::canonicalize(existing).ok()?).then(|| unpack_into(&cache.join("vramscope")))?
}

/// Writes the library into a folder of this user. `None` if programs cannot load it there, or if others could replace
/// it.
fn unpack_into(folder: &Path) -> Option<PathBuf> {
    let mut hasher = DefaultHasher::new();
    hasher.write(LIBRARY);
    let folder = folder.join(format!("{:016x}", hasher.finish()));
    create_private(&folder).ok()?;
    let folder = fs::canonicalize(folder).ok()?;
    (is_loadable(&folder) && is_safe(&folder)).then_some(())?;
    let file = folder.join(NAME);
    let is_written = fs::symlink_metadata(&file).is_ok_and(|it| it.is_file() && is_private(&it))
        && fs::read(&file).is_ok_and(|bytes| bytes == LIBRARY);
    if !is_written {
        write_library(&folder).ok()?;
    }
    Some(folder)
}

/// Writes the library. The file appears only when complete, since other runs may be writing it at the same time.
fn write_library(folder: &Path) -> io::Result<()> {
    let mut file = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(folder)?;
    file.write_all(LIBRARY)?;
    file.persist(folder.join(NAME))
        .map_err(|error| error.error)?;
    Ok(())
}

/// Creates a folder, with its parents, that only this user may enter.
fn create_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Whether a folder belongs to this user, and no other user can replace it or anything in it. The path has no links.
fn is_safe(folder: &Path) -> bool {
    let root = |metadata: &Metadata| metadata.uid() == 0;
    let is_guarded = |parent: &Path| {
        fs::symlink_metadata(parent).is_ok_and(|it| {
            let is_sticky = it.mode() & libc::S_ISVTX != 0;
            is_private(&it) || (root(&it) && (is_sticky || it.mode() & 0o022 == 0))
        })
    };
    fs::symlink_metadata(folder).is_ok_and(|it| is_private(&it))
        && folder.ancestors().skip(1).all(is_guarded)
}

/// Whether a file or folder belongs to this user, and no other user may write to it.
fn is_private(metadata: &Metadata) -> bool {
    metadata.uid() == program::effective_ids().0 && metadata.mode() & 0o022 == 0
}

/// Whether libraries can be loaded from a folder, and `LD_PRELOAD` can hold its path.
fn is_loadable(folder: &Path) -> bool {
    let bytes = folder.as_os_str().as_bytes();
    let can_stand_in_a_list = !bytes.iter().any(|byte| b": \t\n;".contains(byte));
    can_stand_in_a_list && folder.is_absolute() && !is_noexec(folder)
}

/// Folders for temporary files, the best first.
pub(crate) fn temporary_places() -> Vec<PathBuf> {
    let mut places = vec![std::env::temp_dir()];
    places.extend(["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from));
    places
}

/// Whether the file system is mounted with `noexec`.
fn is_noexec(folder: &Path) -> bool {
    query_file_system(folder).is_ok_and(|stat| stat.f_flag & libc::ST_NOEXEC != 0)
}

/// Whether files in a folder are in memory.
pub(crate) fn is_in_memory(folder: &Path) -> bool {
    /// `RAMFS_MAGIC`, which `libc` lacks.
    const RAMFS: u64 = 0x8584_58f6;
    let Ok(path) = CString::new(folder.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: all zeros are a valid `statfs`.
    let mut stat: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path ends with a zero, and `stat` is a valid out-pointer.
    let outcome = unsafe { libc::statfs(path.as_ptr(), &raw mut stat) };
    outcome == 0 && [libc::TMPFS_MAGIC as u64, RAMFS].contains(&(stat.f_type as u64))
}

/// Bytes that this user can still write to a file system.
///
/// # Errors
/// If the system call fails.
pub(crate) fn free_bytes(folder: &Path) -> io::Result<u64> {
    #[expect(
        clippy::useless_conversion,
        reason = "its width differs between targets"
    )]
    query_file_system(folder)
        .map(|stat| u64::from(stat.f_bavail).saturating_mul(u64::from(stat.f_frsize)))
}

fn query_file_system(folder: &Path) -> io::Result<libc::statvfs> {
    let path = CString::new(folder.as_os_str().as_bytes())?;
    // SAFETY: all zeros are a valid `statvfs`.
    let mut stat: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path ends with a zero, and `stat` is a valid out-pointer.
    match unsafe { libc::statvfs(path.as_ptr(), &raw mut stat) } {
        0 => Ok(stat),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether the dynamic linker finds a library.
fn can_be_loaded(name: &str) -> bool {
    let Ok(name) = CString::new(name) else {
        return false;
    };
    // SAFETY: the name ends with a zero. The library's constructors run here, as they would in the program.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return false;
    }
    // SAFETY: the handle was just opened.
    unsafe { libc::dlclose(handle) };
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It is loaded before the program's own libraries, so anything else it needed would come before theirs.
    #[test]
    fn the_library_needs_the_c_library_alone() {
        let libraries = elf_file::needed_libraries(LIBRARY).unwrap();
        let of_c = [
            "libc.so.",
            "ld-linux",
            "libm.so.",
            "libdl.so.",
            "libpthread.so.",
        ];
        let is_of_c = |name: &String| of_c.iter().any(|start| name.starts_with(start));
        assert!(libraries.iter().all(is_of_c), "{libraries:?}");
        let versions: Vec<_> = NEEDED.iter().map(|(_, version)| version.as_str()).collect();
        assert!(!versions.is_empty());
        assert!(
            versions
                .iter()
                .all(|version| version.starts_with("GLIBC_2.")),
            "{versions:?}"
        );
    }

    #[test]
    fn the_library_is_written_once_and_again_if_it_is_damaged() {
        let cache = tempfile::tempdir().unwrap();
        let folder = unpack_into_cache(cache.path()).unwrap();
        let file = folder.join(NAME);
        let inode = || fs::metadata(&file).unwrap().ino();
        let first = inode();
        assert_eq!(unpack_into_cache(cache.path()), Some(folder.clone()));
        assert_eq!(inode(), first);
        fs::write(&file, "short").unwrap();
        assert_eq!(unpack_into_cache(cache.path()), Some(folder.clone()));
        assert_eq!(fs::read(&file).unwrap(), LIBRARY);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        // A link to another user's file is replaced, not written through.
        let other = cache.path().join("other");
        fs::write(&other, "theirs").unwrap();
        fs::remove_file(&file).unwrap();
        symlink(&other, &file).unwrap();
        assert_eq!(unpack_into_cache(cache.path()), Some(folder));
        assert_eq!(fs::read(&file).unwrap(), LIBRARY);
        assert_eq!(fs::read(&other).unwrap(), b"theirs");
    }

    #[test]
    fn a_place_that_others_may_write_to_is_not_used() {
        let cache = tempfile::tempdir().unwrap();
        let set = |folder: &Path, mode| {
            fs::set_permissions(folder, Permissions::from_mode(mode)).unwrap();
        };
        let folder = unpack_into_cache(cache.path()).unwrap();
        let parent = folder.parent().unwrap();
        for changed in [cache.path(), parent, &folder] {
            for mode in [0o777, 0o770] {
                set(changed, mode);
                assert_eq!(
                    unpack_into_cache(cache.path()),
                    None,
                    "{} {mode:o}",
                    changed.display()
                );
                set(changed, 0o700);
            }
            // Only root can change the owner of a folder.
            if std::os::unix::fs::chown(changed, Some(12_345), None).is_ok() {
                assert_eq!(
                    unpack_into_cache(cache.path()),
                    None,
                    "{}",
                    changed.display()
                );
                std::os::unix::fs::chown(changed, Some(0), None).unwrap();
            }
        }
        assert!(unpack_into_cache(cache.path()).is_some());
        // Nothing is left in an unsuitable place.
        let other = cache.path().join("other");
        create_private(&other).unwrap();
        set(&other, 0o777);
        assert_eq!(unpack_into_cache(&other), None);
        assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
        set(&folder.join(NAME), 0o666);
        assert!(unpack_into_cache(cache.path()).is_some());
        assert_eq!(
            fs::metadata(folder.join(NAME)).unwrap().mode() & 0o777,
            0o600
        );
        assert_eq!(unpack_into_cache(&cache.path().join("a b")), None);
        assert_eq!(unpack_into_cache(Path::new("/proc/no/such")), None);
    }
}
