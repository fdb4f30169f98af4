//! The program to capture: its path, and what keeps the library from being loaded into it.

use std::ffi::{CString, OsStr, OsString};
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadCache};

use super::elf_file::Lacking;
use super::{elf_file, library};

/// Maximum number of nested script interpreters; the kernel's limit.
const MAX_SCRIPT_DEPTH: usize = 4;

/// Commands that start programs in a container: with other libraries, and usually without our variables and files.
const CONTAINERS: [&str; 10] = [
    "apptainer",
    "bwrap",
    "ch-run",
    "docker",
    "enroot",
    "nerdctl",
    "podman",
    "sarus",
    "shifter",
    "singularity",
];

/// The path of a program, found as the system would find it.
///
/// # Errors
/// The message, and the exit code that shells use: 127 if the program was not found, 126 if it cannot be started.
pub(crate) fn find(name: &OsStr) -> Result<PathBuf, (String, u8)> {
    let display = Path::new(name).display();
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return match fs::metadata(&path) {
            Err(error) => {
                let is_missing = error.kind() == ErrorKind::NotFound;
                let code = if is_missing { 127 } else { 126 };
                Err((format!("cannot start {display}: {error}"), code))
            }
            Ok(_) if is_program(&path) => Ok(path),
            Ok(_) => Err((
                format!("cannot start {display}: it is not a program that you may run"),
                126,
            )),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/bin:/usr/bin"));
    let mut candidates = std::env::split_paths(&path).map(|folder| folder.join(name));
    candidates
        .find(|candidate| is_program(candidate))
        .ok_or_else(|| {
            (
                format!("cannot start {display}: no folder in PATH has a program of that name"),
                127,
            )
        })
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Why the dynamic linker will not load the library into a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Obstacle {
    Static,
    /// The program has privileges that its starter lacks: set-user-id, set-group-id, or file capabilities.
    Privileged(&'static str),
    /// The program is for another processor, or 32-bit.
    OtherMachine,
    /// The program's dynamic linker is not glibc's; holds its path.
    OtherLinker(String),
    /// The program's C library is too old for the library.
    OldLibc(Lacking),
    /// The command starts programs in a container; holds its name.
    Container(String),
}

/// An obstacle and the file that has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    file: PathBuf,
    obstacle: Obstacle,
}

impl Refusal {
    /// Whether trying anyway would disturb the user: the dynamic linker prints an error, or the program does not start.
    pub(crate) fn is_visible(&self) -> bool {
        matches!(
            self.obstacle,
            Obstacle::OtherMachine
                | Obstacle::OtherLinker(_)
                | Obstacle::OldLibc(_)
                | Obstacle::Container(_)
        )
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match &self.obstacle {
            Obstacle::Static => write!(
                f,
                "{file} is linked statically: no library can be loaded into it"
            ),
            Obstacle::Privileged(how) => write!(
                f,
                "{file} has {how}: the dynamic linker does not preload libraries into it. Capture a copy without that"
            ),
            Obstacle::OtherMachine => write!(
                f,
                "{file} is not a 64-bit program for this processor ({})",
                std::env::consts::ARCH
            ),
            Obstacle::OtherLinker(linker) => {
                write!(
                    f,
                    "{file} is loaded by {linker}; the library needs glibc's dynamic linker"
                )
            }
            Obstacle::OldLibc(Lacking { version, library }) => write!(
                f,
                "{file} runs with {}, which lacks {version}: it would not start with the library. Use the \
                 vramscope-capture of `cargo xtask dist`, which also suits old systems, or one built on such a system",
                library.display()
            ),
            Obstacle::Container(name) => write!(
                f,
                "{name} starts programs in a container, which vramscope-capture does not look into. Run it inside, as it \
                 is a single file: {name} … vramscope-capture run -o FILE -- PROGRAM"
            ),
        }
    }
}

/// The obstacle in a command's program, or in its interpreter if it is a script. `program` is where it was found.
pub(crate) fn find_refusal(command: &[OsString], program: &Path) -> Option<Refusal> {
    let (name, arguments) = command.split_first()?;
    let file = with_interpreters(program).pop()?;
    let obstacle = match container(name, arguments) {
        Some(name) => Obstacle::Container(name),
        None => find_obstacle(&file)?,
    };
    Some(Refusal { file, obstacle })
}

/// A program and, if it is a script, its interpreter, which may be a script too. The system starts the last one.
pub(crate) fn with_interpreters(program: &Path) -> Vec<PathBuf> {
    let mut files = vec![program.to_owned()];
    while files.len() <= MAX_SCRIPT_DEPTH
        && let Some(interpreter) = files.last().and_then(|file| interpreter(file))
    {
        files.push(interpreter);
    }
    files
}

/// The command's name if it starts programs in a container.
fn container(command: &OsStr, arguments: &[OsString]) -> Option<String> {
    let name = Path::new(command).file_name()?.to_str()?;
    // Slurm has containers of its own, and those of the plugin pyxis.
    let is_option = |argument: &OsString| {
        let argument = argument.as_bytes();
        argument == b"--container"
            || [
                &b"--container="[..],
                b"--container-image",
                b"--container-name",
            ]
            .iter()
            .any(|start| argument.starts_with(start))
    };
    (CONTAINERS.contains(&name) || name == "srun" && arguments.iter().any(is_option))
        .then(|| name.to_owned())
}

/// The interpreter of a script; for `#!/usr/bin/env NAME`, NAME.
fn interpreter(file: &Path) -> Option<PathBuf> {
    let mut head = Vec::new();
    File::open(file)
        .ok()?
        .take(256)
        .read_to_end(&mut head)
        .ok()?;
    let line = head
        .strip_prefix(b"#!")?
        .split(|&byte| byte == b'\n')
        .next()?;
    let mut words = line
        .split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty());
    let first = PathBuf::from(OsString::from_vec(words.next()?.to_vec()));
    if first.file_name() != Some(OsStr::new("env")) {
        return Some(first);
    }
    let mut names = words.filter(|word| !word.starts_with(b"-") && !word.contains(&b'='));
    find(OsStr::from_bytes(names.next()?)).ok()
}

fn find_obstacle(file: &Path) -> Option<Obstacle> {
    // If the file cannot be read, the only way is to try.
    let metadata = fs::metadata(file).ok()?;
    if let Some(how) = extra_privilege(&metadata, effective_ids(), || has_capabilities(file)) {
        return Some(Obstacle::Privileged(how));
    }
    let data = ReadCache::new(File::open(file).ok()?);
    if FileHeader32::<Endianness>::parse(&data).is_ok() {
        return Some(Obstacle::OtherMachine);
    }
    let header = FileHeader64::<Endianness>::parse(&data).ok()?;
    let endian = header.endian().ok()?;
    let machine = match std::env::consts::ARCH {
        "aarch64" => elf::EM_AARCH64,
        _ => elf::EM_X86_64,
    };
    if header.e_machine(endian) != machine {
        return Some(Obstacle::OtherMachine);
    }
    let headers = header.program_headers(endian, &data).ok()?;
    let linker = headers
        .iter()
        .find_map(|header| header.interpreter(endian, &data).ok()?);
    let Some(linker) = linker.map(String::from_utf8_lossy) else {
        return Some(Obstacle::Static);
    };
    // Only the file name counts; glibc's linker is ld-linux-….so.N or ld64.so.N.
    let name = linker.rsplit('/').next().unwrap_or_default();
    if name.contains("musl") || name.starts_with("linker") {
        return Some(Obstacle::OtherLinker(linker.into_owned()));
    }
    elf_file::find_lacking(&library::NEEDED, Path::new(linker.as_ref())).map(Obstacle::OldLibc)
}

/// What gives the program privileges beyond those of the user and group that start it.
fn extra_privilege(
    program: &Metadata,
    (user, group): (u32, u32),
    has_capabilities: impl Fn() -> bool,
) -> Option<&'static str> {
    if program.mode() & 0o4000 != 0 && program.uid() != user {
        return Some("the set-user-id bit");
    }
    if program.mode() & 0o2000 != 0 && program.gid() != group {
        return Some("the set-group-id bit");
    }
    // Root has all capabilities anyway.
    (user != 0 && has_capabilities()).then_some("file capabilities")
}

/// The effective user and group of this process.
pub(super) fn effective_ids() -> (u32, u32) {
    // SAFETY: takes no arguments and cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

fn has_capabilities(file: &Path) -> bool {
    let Ok(path) = CString::new(file.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: both strings end with a zero; with a size of 0 the call only returns the length.
    let length = unsafe {
        libc::getxattr(
            path.as_ptr(),
            c"security.capability".as_ptr(),
            std::ptr::null_mut(),
            0,
        )
    };
    length > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(program: &Path) -> Option<Refusal> {
        find_refusal(&[program.into()], program)
    }

    #[test]
    fn programs_are_found_as_shells_find_them() {
        assert!(find(OsStr::new("sh")).unwrap().is_absolute());
        assert_eq!(find(OsStr::new("no-such-program")).unwrap_err().1, 127);
        assert_eq!(find(OsStr::new("/no/such/program")).unwrap_err().1, 127);
        assert_eq!(find(OsStr::new("/etc/passwd")).unwrap_err().1, 126);
        assert_eq!(find(OsStr::new("/etc/passwd/x")).unwrap_err().1, 126);
        assert_eq!(find(OsStr::new("/etc")).unwrap_err().1, 126);
    }

    #[test]
    fn ordinary_programs_and_scripts_have_no_obstacle() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        for line in [
            "#!/bin/sh",
            "#! /usr/bin/env -S A=b sh -e",
            "#!/no/such/interpreter",
            "text",
        ] {
            fs::write(&script, format!("{line}\nexit 0\n")).unwrap();
            assert_eq!(refusal(&script), None, "{line}");
        }
        assert_eq!(refusal(Path::new("/proc/self/exe")), None);
    }

    #[test]
    fn rights_that_their_starter_has_not_are_an_obstacle() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let (user, group) = effective_ids();
        for (mode, has_capabilities, other_user, other_group, expected) in [
            (0o755, false, true, true, None),
            (0o4755, false, false, true, None),
            (0o4755, false, true, false, Some("the set-user-id bit")),
            (0o2755, false, true, false, None),
            (0o2755, false, false, true, Some("the set-group-id bit")),
            (0o755, true, true, true, Some("file capabilities")),
        ] {
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let starter = (user + u32::from(other_user), group + u32::from(other_group));
            let metadata = fs::metadata(&file).unwrap();
            assert_eq!(
                extra_privilege(&metadata, starter, || has_capabilities),
                expected,
                "{mode:o}"
            );
        }
    }

    #[test]
    fn other_processors_are_an_obstacle_also_of_scripts() {
        let folder = tempfile::tempdir().unwrap();
        let mut header = vec![0; 64];
        header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        header[16] = 2;
        header[18..20].copy_from_slice(&elf::EM_RISCV.0.to_le_bytes());
        let foreign = folder.path().join("foreign");
        fs::write(&foreign, header).unwrap();
        assert_eq!(find_obstacle(&foreign), Some(Obstacle::OtherMachine));
        let script = folder.path().join("script");
        fs::write(&script, format!("#!{} -x\n", foreign.display())).unwrap();
        assert_eq!(refusal(&script).unwrap().file, foreign);
    }

    #[test]
    fn commands_that_start_containers_are_known() {
        let is_container = |command: &str| {
            let command: Vec<OsString> = command.split(' ').map(OsString::from).collect();
            container(&command[0], &command[1..]).is_some()
        };
        for command in [
            "docker run --gpus all image ./train",
            "/opt/bin/apptainer exec --nv image.sif ./train",
            "srun -n 4 --container-image=image ./train",
            "srun --container bundle ./train",
            "shifter --image=image ./train",
        ] {
            assert!(is_container(command), "{command}");
        }
        for command in ["srun -n 4 ./train", "./train --container x", "dockerd"] {
            assert!(!is_container(command), "{command}");
        }
    }

    /// A program whose dynamic linker is beside a C library without the needed versions.
    #[test]
    fn a_c_library_that_is_too_old_is_an_obstacle() {
        let folder = tempfile::Builder::new().tempdir_in("/tmp").unwrap();
        let shell = fs::read("/bin/sh").unwrap();
        let headers = FileHeader64::<Endianness>::parse(shell.as_slice()).unwrap();
        let endian = headers.endian().unwrap();
        let mut headers = headers
            .program_headers(endian, shell.as_slice())
            .unwrap()
            .iter();
        let linker = headers
            .find_map(|header| header.interpreter(endian, shell.as_slice()).ok()?)
            .unwrap()
            .to_vec();
        let own = folder.path().join("ld.so");
        let mut name = own.as_os_str().as_bytes().to_vec();
        assert!(name.len() <= linker.len());
        name.resize(linker.len(), 0);
        let program = folder.path().join("program");
        fs::write(&program, replaced(&shell, &linker, &name)).unwrap();
        fs::copy(Path::new(OsStr::from_bytes(&linker)), &own).unwrap();
        // Without a C library beside the linker, nothing is known.
        assert_eq!(refusal(&program), None);
        let system = fs::canonicalize(OsStr::from_bytes(&linker)).unwrap();
        let libc = fs::read(system.with_file_name("libc.so.6")).unwrap();
        let place = folder.path().join("libc.so.6");
        fs::write(&place, &libc).unwrap();
        assert_eq!(refusal(&program), None);
        fs::write(&place, replaced(&libc, b"GLIBC_2.", b"GLIBC_9.")).unwrap();
        let refusal = refusal(&program).unwrap();
        assert!(refusal.is_visible());
        let newest = library::NEEDED.iter().map(|(_, version)| version);
        let newest = newest.max_by_key(|it| elf_file::numbers(it)).unwrap();
        assert!(refusal.to_string().contains(newest), "{refusal}");
    }

    /// Replaces each occurrence of some bytes by others of the same length.
    fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for start in 0..=bytes.len() - from.len() {
            if bytes[start..].starts_with(from) {
                bytes[start..start + to.len()].copy_from_slice(to);
            }
        }
        bytes
    }
}
