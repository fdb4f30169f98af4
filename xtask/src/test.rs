//! `cargo xtask test`: all tests, with everything that they need.

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::Result;
use clap::Args;

use crate::book;
use crate::browser;
use crate::capture;
use crate::consumers;
use crate::packages::npm;
use crate::page;
use crate::process::{built, cargo, output, run as run_command, target_dir};
use crate::python;
use crate::recipes;
use crate::size;
use crate::torment;

/// The package with the browser tests.
const BROWSER_TESTS: &str = "vramscope-browser-tests";

/// The programs that tests start.
const PROGRAMS: [&str; 4] = [
    "vramscope",
    "vramscope-capture",
    torment::PACKAGE,
    capture::PREPARE,
];

/// The seed of the tests with random inputs. A seed set by the caller is not changed.
const SEED: &str = "PROPTEST_RNG_SEED";

/// Arguments for features that nothing in the workspace enables, so that they are tested, too.
pub(crate) const ALL_PARTS: [&str; 2] =
    ["--features", "vramscope-api/cudarc,vramscope-api/tracing"];

#[derive(Args, Default)]
pub(crate) struct Options {
    /// Leave the browser tests out
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Also what takes minutes and seldom breaks: the page as for hosts, checked against its budgets, the npm package
    /// in sites, the programs that read conversions, the recipes with the real frameworks, and dry runs beside
    /// recordings
    #[arg(long, conflicts_with = "no_browser")]
    pub(crate) all: bool,
}

/// Runs all tests in one go, those in the browser beside the others. Then the examples in the documentation beside the
/// tests of the Python package, the book's build and some attacks.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.no_browser {
        println!("without the page the Python package is not tested: `cargo xtask python` does");
        build(None)?;
        run_command(tests(false).envs(capture::prepare()?))?;
        return examples(None);
    }
    // Set up first, so that a missing program is reported early.
    let chromium = browser::for_tests()?;
    println!("browser: {}", chromium.display());
    let page = page::build(page::profile(!options.all))?;
    let mut sites = None;
    if options.all {
        size::hold(&page)?;
        consumers::prepare();
        sites = npm::sites(&page)?;
    } else {
        consumers::prepare_for_browser();
    }
    // Fetched while the compiler works. What is missing then is reported by the tests that want it.
    let tools = thread::spawn(|| drop(python::tools()));
    let is_built = build(Some(&page));
    drop(tools.join());
    is_built?;
    let program = built("vramscope");
    let mut all = tests(true);
    all.env("CHROME", chromium)
        .env("VRAMSCOPE_PAGE", &page)
        .env("VRAMSCOPE_BIN", &program)
        .envs(sites.map(|sites| (npm::SITES, sites)))
        .envs(capture::prepare()?);
    // Without nextest there is no report, and an earlier one is out of date.
    drop(fs::remove_file(report()));
    run_command(&mut all)?;
    let (of_docs, of_python) = thread::scope(|scope| {
        let of_docs = scope.spawn(|| examples(Some(&page)));
        let of_python = python::test(&program);
        (of_docs.join(), of_python)
    });
    of_python?;
    of_docs.expect("no panic in the tests of the documentation")?;
    book::build(&page, &target_dir().join("book"))?;
    torment::in_tests(&program, if options.all { 60 } else { 20 })?;
    if options.all {
        recipes::RECIPES.test(&program)?;
        recipes::RECORDINGS.test(&program)?;
    }
    print_longest();
    if !options.all {
        println!(
            "left to `cargo xtask ci`: the page as hosts get it, its npm package, the recipes, dry runs beside recordings, \
             readers of conversions that are not installed, a minute of attacks instead of 20 s"
        );
    }
    Ok(())
}

/// The report that nextest is configured to write.
fn report() -> PathBuf {
    target_dir().join("nextest/default/junit.xml")
}

/// Prints the longest ten tests of the report; nothing without one.
fn print_longest() {
    let Ok(report) = fs::read_to_string(report()) else {
        return;
    };
    let mut times: Vec<(f64, _)> = Vec::new();
    for test in report.split("<testcase ").skip(1) {
        let value = |name: &str| {
            let (_, value) = test.split_once(&format!("{name}=\""))?;
            value.split('"').next()
        };
        if let (Some(name), Some(of), Some(time)) =
            (value("name"), value("classname"), value("time"))
        {
            times.push((time.parse().unwrap_or(0.0), format!("{of} {name}")));
        }
    }
    times.sort_by(|one, other| other.0.total_cmp(&one.0));
    println!("the longest tests (CONTRIBUTING.md says why they are long):");
    for (seconds, name) in times.iter().take(10) {
        println!("{seconds:7.1} s  {name}");
    }
}

/// Builds everything at once, including the programs that tests start. Cargo compiles a library again for each set of
/// its features, and packages built alone want other sets than all together. With `page`, the command line has it
/// inside.
fn build(page: Option<&Path>) -> Result<()> {
    let mut build = cargo();
    build.args(["build", "--workspace", "--lib", "--tests"]);
    for program in PROGRAMS {
        build.args(["--bin", program]);
    }
    build.envs(page.map(|page| ("VRAMSCOPE_PAGE", page)));
    run_command(build.args(ALL_PARTS))
}

/// Tests the examples in the documentation.
fn examples(page: Option<&Path>) -> Result<()> {
    let mut examples = cargo();
    examples.args(["test", "--workspace", "--doc"]);
    examples.envs(page.map(|page| ("VRAMSCOPE_PAGE", page)));
    run_command(examples.args(ALL_PARTS))
}

/// `cargo nextest run` if it is installed, else `cargo test`.
fn tests(in_browser: bool) -> Command {
    let mut command = cargo();
    // A change must never fail because of a random input: inputs are the same in each run.
    if std::env::var_os(SEED).is_none() {
        command.env(SEED, "1");
    }
    command.env(consumers::VARIABLE, consumers::folder());
    if output(cargo().args(["nextest", "--version"])).is_some() {
        command.args(["nextest", "run", "--workspace"]);
        if in_browser {
            // The tests in the browser wait for it about half of the time.
            let cores = thread::available_parallelism().map_or(1, NonZero::get);
            let threads = cores + cores.div_ceil(2);
            command.arg(format!("--test-threads={threads}"));
        } else {
            command.arg(format!("--filterset=not package({BROWSER_TESTS})"));
        }
    } else {
        command.args(["test", "--workspace", "--lib", "--bins", "--tests"]);
        if !in_browser {
            command.args(["--exclude", BROWSER_TESTS]);
        }
    }
    command.args(ALL_PARTS);
    command
}
