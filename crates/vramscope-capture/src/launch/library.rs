//! The injected library: part of this binary, unpacked into a private folder.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::failure::Failure;

/// Empty on platforms without capture.
static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libvramscope_inject.so"));

/// File name of the library.
pub(super) const NAME: &str = "libvramscope_inject.so";

/// Names under which programs look for NVTX 1 and 2.
const OLD_NVTX: [&str; 2] = ["libnvToolsExt.so.1", "libnvToolsExt.so"];

/// The unpacked library, in a folder that only this user may enter. Removed when dropped.
pub(crate) struct UnpackedLibrary {
    folder: TempDir,
}

impl UnpackedLibrary {
    /// Unpacks the library.
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
        let folder = create_loadable_folder()?;
        let unpacked = Self { folder };
        fs::write(unpacked.path(), LIBRARY).map_err(Failure::io(format!(
            "cannot write {}",
            unpacked.path().display()
        )))?;
        Ok(unpacked)
    }

    /// The folder, which may also contain logs.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The library's file.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder().join(NAME)
    }

    /// Creates a folder with the library under the names of NVTX 1 and 2, unless this machine has that NVTX.
    /// Programs that need it can run, and their ranges are recorded.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub(crate) fn add_old_nvtx(&self) -> Result<Option<PathBuf>, Failure> {
        if can_be_loaded(OLD_NVTX[0]) {
            return Ok(None);
        }
        let folder = self.folder().join("nvtx");
        let link = |name| symlink(self.path(), folder.join(name));
        fs::create_dir(&folder)
            .and_then(|()| OLD_NVTX.into_iter().try_for_each(link))
            .map_err(Failure::io(format!(
                "cannot write into {}",
                self.folder().display()
            )))?;
        Ok(Some(folder))
    }

    /// Keeps the folder because of the logs in it, without the library.
    pub(crate) fn keep(self) {
        drop(fs::remove_file(self.path()));
        drop(fs::remove_dir_all(self.folder().join("nvtx")));
        drop(self.folder.keep());
    }
}

/// Creates a folder from which libraries can be loaded and whose path can be in `LD_PRELOAD`.
fn create_loadable_folder() -> Result<TempDir, Failure> {
    let mut places = vec![std::env::temp_dir()];
    places.extend(["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from));
    places.extend(std::env::current_dir());
    let suits = |place: &&PathBuf| {
        let bytes = place.as_os_str().as_bytes();
        let can_stand_in_a_list = !bytes.iter().any(|byte| b": \t\n;".contains(byte));
        can_stand_in_a_list && place.is_absolute() && !is_noexec(place)
    };
    let mut tempfile = tempfile::Builder::new();
    tempfile
        .prefix("vramscope-")
        .permissions(fs::Permissions::from_mode(0o700));
    let mut created = places
        .iter()
        .filter(suits)
        .map(|place| tempfile.tempdir_in(place));
    created.find_map(Result::ok).ok_or_else(|| {
        let tried: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
        Failure::input(format!(
            "found no folder from which a library can be loaded; tried {}",
            tried.join(", ")
        ))
        .with_advice("Set TMPDIR to a folder that is not mounted with noexec and has no space or colon in its name.")
    })
}

/// Whether the file system is mounted with `noexec`.
fn is_noexec(folder: &Path) -> bool {
    query_file_system(folder).is_ok_and(|stat| stat.f_flag & libc::ST_NOEXEC != 0)
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
