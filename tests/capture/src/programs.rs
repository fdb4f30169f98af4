//! Paths of the binaries that the tests start: vramscope-capture, the stand-in driver, and the captured programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

/// Path of vramscope-capture.
const CAPTURE: &str = "VRAMSCOPE_CAPTURE_BIN";
/// Folder with the stand-in driver as `libcuda.so.1` and `libcuda.so`.
const FAKECUDA: &str = "VRAMSCOPE_FAKECUDA";
/// Folder with the captured programs.
const CLIENTS: &str = "VRAMSCOPE_CAPTURE_CLIENTS";

/// Packages of the captured programs, in build order. Each is built alone, so that cargo does not merge their
/// features.
const PACKAGES: [&str; 7] = [
    "scenes", "linked", "loading", "linking", "eager", "bench", "annotate",
];

/// Path of vramscope-capture.
#[must_use]
pub fn capture() -> &'static Path {
    &places()[0]
}

/// Folder with the stand-in driver, for `LD_LIBRARY_PATH`.
#[must_use]
pub fn fakecuda() -> &'static Path {
    &places()[1]
}

/// Path of a captured program.
#[must_use]
pub fn client(name: &str) -> PathBuf {
    places()[2].join(name)
}

/// The paths, from the environment or by building.
fn places() -> &'static [PathBuf; 3] {
    static PLACES: OnceLock<[PathBuf; 3]> = OnceLock::new();
    PLACES.get_or_init(|| {
        let given = [CAPTURE, FAKECUDA, CLIENTS].map(std::env::var_os);
        if let [Some(capture), Some(fakecuda), Some(clients)] = given {
            return [capture, fakecuda, clients].map(PathBuf::from);
        }
        match build(false) {
            Ok(built) => built.map(|(_, path)| path),
            Err(error) => panic!("the programs of these tests cannot be built: {error:#}"),
        }
    })
}

/// Builds everything, or only the captured programs if the others `are_built`. Returns the variables with the paths.
///
/// # Errors
///
/// If a build fails; cargo has printed why.
pub fn build(are_built: bool) -> Result<[(&'static str, PathBuf); 3]> {
    let target = target_dir();
    if !are_built {
        let packages = ["--package", "vramscope-capture", "--package", "fakecuda"];
        run(cargo(&["build"]).args(packages).current_dir(root()))?;
    }
    let cuda = target.join("capture-tests/cuda");
    fs::create_dir_all(&cuda)?;
    for name in ["libcuda.so.1", "libcuda.so"] {
        install(&target.join("debug/libcuda.so"), &cuda.join(name))?;
    }
    let clients = target.join("capture-tests/clients");
    for package in PACKAGES {
        let mut build = cargo(&["build", "--locked", "--package", package]);
        build
            .current_dir(root().join("tests/capture/clients"))
            .env("CARGO_TARGET_DIR", &clients)
            .env("VRAMSCOPE_STUBS", &cuda);
        run(&mut build)?;
    }
    Ok([
        (CAPTURE, target.join("debug/vramscope-capture")),
        (FAKECUDA, cuda),
        (CLIENTS, clients.join("debug")),
    ])
}

/// The target of the other processor.
const AARCH64: &str = "aarch64-unknown-linux-gnu";

/// Builds the recorder, the stand-in driver and the scenes for aarch64, into one folder. `None` if something needed is
/// missing: qemu-user, a C compiler for it, or Rust's standard library.
///
/// # Errors
///
/// If a build fails; cargo has printed why.
pub fn build_for_aarch64() -> Result<Option<PathBuf>> {
    let answer = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok()?;
        output.status.success().then_some(output.stdout)
    };
    let linker = "aarch64-linux-gnu-gcc";
    let library = answer("rustc", &["--print", "target-libdir", "--target", AARCH64]);
    let library = library.and_then(|path| String::from_utf8(path).ok());
    let has_programs = ["qemu-aarch64", linker]
        .iter()
        .all(|program| answer(program, &["--version"]).is_some());
    if !has_programs || !library.is_some_and(|path| Path::new(path.trim()).exists()) {
        return Ok(None);
    }
    let target = target_dir().join("capture-tests/aarch64");
    for (folder, packages) in [
        (
            "",
            &["--package", "fakecuda", "--package", "vramscope-inject"][..],
        ),
        (
            "tests/capture/clients",
            &["--locked", "--package", "scenes"],
        ),
    ] {
        let mut build = cargo(&["build", "--target", AARCH64]);
        build
            .args(packages)
            .current_dir(root().join(folder))
            .env("CARGO_TARGET_DIR", &target)
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", linker);
        run(&mut build)?;
    }
    let built = target.join(AARCH64).join("debug");
    install(&built.join("libcuda.so"), &built.join("libcuda.so.1"))?;
    Ok(Some(built))
}

/// Copies a file in one step, unless it already exists: a running program may have it mapped.
fn install(from: &Path, to: &Path) -> Result<()> {
    let new = fs::read(from).with_context(|| format!("no {}", from.display()))?;
    if fs::read(to).is_ok_and(|old| old == new) {
        return Ok(());
    }
    let beside = to.with_extension(format!("new-{}", std::process::id()));
    fs::write(&beside, new)?;
    Ok(fs::rename(&beside, to)?)
}

/// Compiles a C program or library.
///
/// # Panics
///
/// If there is no compiler, or the code is wrong.
pub fn compile(code: &str, flags: &[&str], to: &Path) {
    let source = to.with_extension("c");
    fs::write(&source, code).expect("room");
    let mut compiler = Command::new("cc");
    let compiler = compiler.arg("-w").args(flags).arg(&source);
    let status = compiler.arg("-o").arg(to).arg("-ldl").status();
    assert!(
        status.expect("a C compiler").success(),
        "{}",
        source.display()
    );
}

/// Root of the repository.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// Cargo's target folder.
#[must_use]
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// A cargo command with these arguments.
#[must_use]
pub fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null());
    // Removes the variables that cargo sets for this test: they would make another build start over.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PKG_") {
            command.env_remove(name);
        }
    }
    command.env_remove("CARGO_MANIFEST_DIR");
    command
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(())
}
