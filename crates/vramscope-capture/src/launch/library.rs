//! The library that programs are started with: carried in this binary, unpacked into a private folder.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::failure::Failure;

/// Empty where there is nothing to capture.
static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libvramscope_inject.so"));

/// Its file's name.
pub(super) const NAME: &str = "libvramscope_inject.so";

/// What programs that draw ranges by the older NVTX look for.
const OLD_NVTX: [&str; 2] = ["libnvToolsExt.so.1", "libnvToolsExt.so"];

/// The library as a file, in a folder that only this user may enter and that goes with this value.
pub(crate) struct Unpacked {
    folder: TempDir,
}

impl Unpacked {
    /// Unpacks it.
    ///
    /// # Errors
    /// When this binary carries none, or no folder will do.
    pub(crate) fn new() -> Result<Self, Failure> {
        if LIBRARY.is_empty() {
            return Err(Failure::usage(
                "this build cannot record: it carries no library to start programs with",
            )
            .with_cure("Recording works on Linux with glibc, on x86-64 and aarch64; `convert` works everywhere."));
        }
        let folder = folder()?;
        let unpacked = Self { folder };
        fs::write(unpacked.path(), LIBRARY).map_err(Failure::io(format!(
            "cannot write {}",
            unpacked.path().display()
        )))?;
        Ok(unpacked)
    }

    /// The folder, which may hold more.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The library.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder().join(NAME)
    }

    /// A folder with the library under the names of the older NVTX, if this machine has none: programs that insist on
    /// it run, and what they say is recorded.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn as_old_nvtx(&self) -> Result<Option<PathBuf>, Failure> {
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

    /// Leaves the folder where it is, for there is something in it that is worth keeping.
    pub(crate) fn keep(self) {
        drop(fs::remove_file(self.path()));
        drop(fs::remove_dir_all(self.folder().join("nvtx")));
        drop(self.folder.keep());
    }
}

/// A new folder where libraries may be loaded from, and whose path can stand in `LD_PRELOAD`.
fn folder() -> Result<TempDir, Failure> {
    let mut places = vec![std::env::temp_dir()];
    places.extend(["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from));
    places.extend(std::env::current_dir());
    let suits = |place: &&PathBuf| {
        let bytes = place.as_os_str().as_bytes();
        let can_stand_in_a_list = !bytes.iter().any(|byte| b": \t\n;".contains(byte));
        can_stand_in_a_list && place.is_absolute() && !forbids_programs(place)
    };
    let mut tempfile = tempfile::Builder::new();
    tempfile
        .prefix("vramscope-")
        .permissions(fs::Permissions::from_mode(0o700));
    let mut made = places
        .iter()
        .filter(suits)
        .map(|place| tempfile.tempdir_in(place));
    made.find_map(Result::ok).ok_or_else(|| {
        let tried: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
        Failure::input(format!(
            "there is no folder that a library could be loaded from; tried {}",
            tried.join(", ")
        ))
        .with_cure("Let TMPDIR name one that is not mounted with noexec and has no space or colon in its name.")
    })
}

/// Whether the file system is mounted with `noexec`.
fn forbids_programs(folder: &Path) -> bool {
    file_system(folder).is_ok_and(|stat| stat.f_flag & libc::ST_NOEXEC != 0)
}

/// Bytes that this user may still write there.
///
/// # Errors
/// When the system does not say.
pub(crate) fn free_bytes(folder: &Path) -> io::Result<u64> {
    #[expect(
        clippy::useless_conversion,
        reason = "its width differs between targets"
    )]
    file_system(folder)
        .map(|stat| u64::from(stat.f_bavail).saturating_mul(u64::from(stat.f_frsize)))
}

fn file_system(folder: &Path) -> io::Result<libc::statvfs> {
    let path = CString::new(folder.as_os_str().as_bytes())?;
    // SAFETY: all zeros are a valid `statvfs`.
    let mut stat: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path ends with a zero, and `stat` is a place for the answer.
    match unsafe { libc::statvfs(path.as_ptr(), &raw mut stat) } {
        0 => Ok(stat),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether the dynamic linker finds a library, as it will for the program.
fn can_be_loaded(name: &str) -> bool {
    let Ok(name) = CString::new(name) else {
        return false;
    };
    // SAFETY: the name ends with a zero. The library's own constructors run, as they would in the program.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return false;
    }
    // SAFETY: it was just opened.
    unsafe { libc::dlclose(handle) };
    true
}
