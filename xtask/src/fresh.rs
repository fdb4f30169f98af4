//! Checks README's promise: the first picture in a fresh clone.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::page::replace_folder;
use crate::process::{cargo, root, run, run_quiet, target_dir};

/// The longest that `cargo xtask view FILE` may take on two cores, once cargo has downloaded the crates.
const MOST: Duration = Duration::from_secs(240);

/// Clones the last commit, and measures until the viewer is served there.
pub(crate) fn check() -> Result<()> {
    let clone = target_dir().join("fresh");
    replace_folder(&clone)?;
    let mut git = Command::new("git");
    run(git.args(["clone", "--quiet"]).arg(root()).arg(&clone))?;
    run_quiet(cargo().args(["fetch", "--quiet", "--locked"]))?;
    let start = Instant::now();
    let mut view = cargo();
    view.args(["xtask", "view", "--no-open"])
        .arg(clone.join("tests/fixtures/torch-2.15.0/training.pickle"))
        .current_dir(&clone)
        .env_remove("CARGO_TARGET_DIR")
        .stdout(Stdio::piped())
        .process_group(0);
    let mut view = view.spawn().context("cannot start cargo")?;
    let out = view.stdout.take().context("cargo has no output")?;
    let mut lines = BufReader::new(out).lines().map_while(Result::ok);
    let is_served = lines.any(|line| line.starts_with("http://"));
    let took = start.elapsed();
    // Ctrl-C in a terminal goes to all processes of the group.
    let mut interrupt = Command::new("kill");
    run_quiet(interrupt.args(["-INT", "--", &format!("-{}", view.id())]))?;
    let ended = view.wait()?;
    fs::remove_dir_all(&clone)?;
    println!("`cargo xtask view FILE` in a fresh clone: {took:?}");
    ensure!(is_served, "the viewer was not served: {ended}");
    ensure!(ended.success(), "Ctrl-C ended it with {ended}");
    ensure!(took <= MOST, "README promises {MOST:?} on two cores");
    Ok(())
}
