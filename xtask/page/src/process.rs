//! Runs other programs, and locates the repository.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};

/// Turns a program's result into its exit code. An error is printed on one line, without the backtrace that anyhow
/// might add.
pub fn ended(result: Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

/// The repository's root, two folders above this package.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}

/// Cargo's target directory for this workspace.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        // Cargo resolves a relative path against the current folder, which is the root here.
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// The path of a program in the build for tests.
pub fn built(program: &str) -> PathBuf {
    built_in("dev", program)
}

/// The path of a program built in a profile.
pub fn built_in(profile: &str, program: &str) -> PathBuf {
    let folder = if profile == "dev" { "debug" } else { profile };
    target_dir().join(folder).join(executable(program))
}

/// A program's file name on this system.
pub fn executable(program: &str) -> String {
    format!("{program}{}", std::env::consts::EXE_SUFFIX)
}

/// The active toolchain's cargo, to run in the repository's root.
pub fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    in_root(Command::new(program))
}

/// Sets the repository's root as the command's folder.
pub fn in_root(mut command: Command) -> Command {
    command.current_dir(root());
    command
}

/// Prints and runs a command.
pub fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", shown(command));
    run_quiet(command)
}

/// Runs a command without printing it.
pub fn run_quiet(command: &mut Command) -> Result<()> {
    let status = command.status();
    let status = status.with_context(|| format!("cannot start {}", shown(command)))?;
    ensure!(status.success(), "{} failed: {status}", shown(command));
    Ok(())
}

/// Prints and runs a command, and returns its standard output.
pub fn run_for_output(command: &mut Command) -> Result<String> {
    println!("$ {}", shown(command));
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start {}", shown(command)))?;
    let status = output.status;
    ensure!(status.success(), "{} failed: {status}", shown(command));
    Ok(String::from_utf8(output.stdout)?)
}

/// Runs a command and returns its trimmed standard output; `None` if it fails in any way.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// The first of `names` that is on the search path.
pub fn find_program(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    names.iter().find_map(|name| {
        let mut places = std::env::split_paths(&path).map(|folder| folder.join(executable(name)));
        places.find(|place| place.is_file())
    })
}

/// The command as text: program and arguments.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name();
    let words = program.into_iter().chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
