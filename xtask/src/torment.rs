//! `cargo xtask torment`: attacks the command line with damaged and extreme files.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use clap::Args;

use crate::process::{built, cargo, root, run as run_command, target_dir};
use crate::program;

/// The package that attacks.
pub(crate) const PACKAGE: &str = "vramscope-torment";

#[derive(Args)]
pub(crate) struct Options {
    /// How long to go on
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// The seed for making files; by default another one each time
    #[arg(long)]
    seed: Option<u64>,
    /// Only this case, to repeat a fault
    #[arg(long)]
    case: Option<u64>,
    /// Also compare the time and memory for files of different sizes, in up to half of the time
    #[arg(long)]
    growth: bool,
}

/// Attacks for as long as the options say.
pub(crate) fn run(options: &Options) -> Result<()> {
    // Enough of a page for the commands that write or serve it.
    let page = root().join("tests/torment/page");
    let program = program::build(Some(&page), "dev")?;
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    let any = since_1970.map_or(0, |since| since.as_secs());
    let mut words = vec![
        format!("--seconds={}", options.minutes * 60),
        format!("--seed={}", options.seed.unwrap_or(any)),
    ];
    words.extend(options.case.map(|case| format!("--case={case}")));
    words.extend(options.growth.then(|| "--growth".to_owned()));
    let mut tormentor = cargo();
    tormentor.args(["run", "--quiet", "--package", PACKAGE, "--"]);
    attack(tormentor, &program, &words)
}

/// The attack that is part of the tests, by the program that is built with them: the same shapes and files in the same
/// order each time, as many as time allows. A change must never fail because of a random file.
pub(crate) fn in_tests(program: &Path, seconds: u64) -> Result<()> {
    let seconds = format!("--seconds={seconds}");
    let words = [seconds.as_str(), "--seed=1", "--growth"];
    attack(Command::new(built(PACKAGE)), program, &words)
}

fn attack(mut command: Command, program: &Path, words: &[impl AsRef<OsStr>]) -> Result<()> {
    command.arg("--program").arg(program);
    for folder in ["fuzz/corpus/seeds", "fuzz/crashes"] {
        command.arg("--seeds").arg(root().join(folder));
    }
    command.arg("--faults").arg(target_dir().join("torment"));
    run_command(command.args(words))
}
