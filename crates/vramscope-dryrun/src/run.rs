//! One run of a program over the stand-in.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::{env, fs, io};

use crate::device::Device;
use crate::invented::CUDNN_WORKSPACE;

/// Empty on platforms without a stand-in.
static STANDIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libvramscope_standin.so"));
const LIBRARY: &str = "libvramscope_standin.so";
/// The names under which programs look for CUDA's libraries.
const NAMES: &str = include_str!("../standin/names.txt");
/// Modules that are found before the program's own.
const MODULES: [(&str, &str); 2] = [
    ("sitecustomize.py", include_str!("sitecustomize.py")),
    ("vramscope_weights.py", include_str!("vramscope_weights.py")),
];

/// What the host reads where a kernel would have written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Values {
    #[default]
    Zeros,
    /// Ones; values of four bytes or more as floats.
    Ones,
    /// Floats from 0 to 1.
    Uniform,
}

/// Where the program's output goes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Output {
    /// To our own output.
    #[default]
    Ours,
    /// All to standard error, because somebody reads an answer from standard output.
    Stderr,
    /// To this file, which is replaced.
    File(PathBuf),
}

/// The settings of a dry run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The device that the program sees.
    pub device: Device,
    /// Number of devices, 1 to 8.
    pub devices: u32,
    /// Which of how many ranks the program is to be, if it runs as one of several.
    pub rank: Option<(u32, u32)>,
    /// What the host reads.
    pub values: Values,
    pub output: Output,
}

/// The result of a run.
#[derive(Debug)]
pub struct Run {
    pub status: ExitStatus,
    /// The snapshots of the processes that used CUDA, in the run's folder.
    pub snapshots: Vec<PathBuf>,
    /// Why the program's torch cannot be used, or that there is none: a line that says what to install.
    pub unusable: Option<String>,
}

/// Whether this build carries the stand-in: on Linux with glibc, on x86-64 and aarch64.
#[must_use]
pub fn is_possible() -> bool {
    !STANDIN.is_empty()
}

/// Runs a program in `folder`, which holds libraries and snapshots and is the caller's to remove.
///
/// # Errors
/// If the folder cannot be filled or the program cannot be started.
pub fn run(command: &[OsString], options: &Options, folder: &Path) -> io::Result<Run> {
    let [libraries, recorder, snapshots] =
        ["lib", "python", "snapshots"].map(|name| folder.join(name));
    for folder in [&libraries, &recorder, &snapshots] {
        fs::create_dir_all(folder)?;
    }
    let library = libraries.join(LIBRARY);
    if !library.exists() {
        fs::write(&library, STANDIN)?;
        for name in NAMES.split_whitespace() {
            link(LIBRARY, &libraries.join(name))?;
        }
        for (name, text) in MODULES {
            fs::write(recorder.join(name), text)?;
        }
    }
    for old in fs::read_dir(&snapshots)? {
        fs::remove_file(old?.path())?;
    }
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut child = Command::new(program);
    child.args(arguments);
    child.envs(variables(options));
    child.env("VRAMSCOPE_DRY_RUN", &snapshots);
    child.env("LD_PRELOAD", before("LD_PRELOAD", &library));
    child.env("LD_LIBRARY_PATH", before("LD_LIBRARY_PATH", &libraries));
    child.env("PYTHONPATH", before("PYTHONPATH", &recorder));
    // This selects among the machine's devices, which are not used here.
    child.env_remove("CUDA_VISIBLE_DEVICES");
    match &options.output {
        Output::Ours => {}
        Output::Stderr => drop(child.stdout(stderr()?)),
        Output::File(path) => {
            let file = fs::File::create(path)?;
            child.stdout(file.try_clone()?).stderr(file);
        }
    }
    end_with_us(&mut child);
    let status = in_foreground(&mut child)?;
    let written = fs::read_dir(&snapshots)?.map(|entry| Ok(entry?.path()));
    let mut written = written.collect::<io::Result<Vec<_>>>()?;
    written.sort();
    let with_end = |wanted: &'static str| {
        let files = written.iter();
        files.filter(move |file| file.extension().is_some_and(|end| end == wanted))
    };
    let unusable = with_end("unusable").next().map(fs::read_to_string);
    Ok(Run {
        status,
        snapshots: with_end("pickle").cloned().collect(),
        unusable: unusable.transpose()?,
    })
}

/// The variables for the stand-in and the program.
fn variables(options: &Options) -> Vec<(&'static str, String)> {
    let device = &options.device;
    let mut variables = vec![
        ("STANDIN_TOTAL_BYTES", device.total_bytes.to_string()),
        ("STANDIN_CONTEXT_BYTES", device.context().bytes.to_string()),
        ("STANDIN_DEVICES", options.devices.to_string()),
        ("STANDIN_CAPABILITY", device.capability.to_string()),
        ("STANDIN_PROCESSORS", device.processors.to_string()),
        ("STANDIN_NAME", device.name.clone()),
        (
            "STANDIN_CUDNN_WORKSPACE_BYTES",
            CUDNN_WORKSPACE.bytes.to_string(),
        ),
        (
            "STANDIN_VALUES",
            format!("{:?}", options.values).to_lowercase(),
        ),
        // Triton's kernels would be compiled for nothing, so compiled functions run as they are written.
        ("TORCH_COMPILE_DISABLE", "1".to_owned()),
        ("TORCHDYNAMO_DISABLE", "1".to_owned()),
        // cuDNN's attention has no plans here. torch then uses FlashAttention, which is its own.
        ("TORCH_CUDNN_SDPA_DEPRIORITIZED", "1".to_owned()),
        ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
    ];
    if let Some((rank, world)) = options.rank {
        let local = rank % options.devices.max(1);
        variables.extend([
            ("RANK", rank.to_string()),
            ("LOCAL_RANK", local.to_string()),
            ("WORLD_SIZE", world.to_string()),
            ("LOCAL_WORLD_SIZE", world.min(options.devices).to_string()),
            ("MASTER_ADDR", "127.0.0.1".to_owned()),
            ("MASTER_PORT", "29500".to_owned()),
            ("VRAMSCOPE_DRY_RUN_PEERS", "1".to_owned()),
        ]);
    }
    variables
}

/// A list of paths with one in front of it.
fn before(variable: &str, path: &Path) -> OsString {
    let mut list = path.as_os_str().to_owned();
    if let Some(old) = env::var_os(variable).filter(|old| !old.is_empty()) {
        list.push(":");
        list.push(old);
    }
    list
}

#[cfg(unix)]
fn link(to: &str, from: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, from)
}

#[cfg(not(unix))]
fn link(_: &str, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
fn stderr() -> io::Result<Stdio> {
    use std::os::fd::AsFd;
    Ok(io::stderr().as_fd().try_clone_to_owned()?.into())
}

#[cfg(not(unix))]
fn stderr() -> io::Result<Stdio> {
    Ok(Stdio::null())
}

/// Signals sent to this process are meant for the program.
#[cfg(unix)]
fn in_foreground(child: &mut Command) -> io::Result<ExitStatus> {
    vramscope_launch::run(child)
}

#[cfg(not(unix))]
fn in_foreground(child: &mut Command) -> io::Result<ExitStatus> {
    child.status()
}

/// Makes the kernel end the program when this process ends, for whatever reason.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "runs in the child before the program")]
fn end_with_us(child: &mut Command) {
    use std::os::unix::process::CommandExt;
    let ask = || {
        // SAFETY: one system call, which allocates nothing and takes no lock.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) };
        Ok(())
    };
    // SAFETY: `ask` does only what is allowed between fork and exec.
    unsafe { child.pre_exec(ask) };
}

#[cfg(not(target_os = "linux"))]
fn end_with_us(_: &mut Command) {}
