//! `cargo xtask test`: all tests, with everything that they need.

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::available_parallelism;

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

/// The seed of the tests with random inputs. A caller's own seed is left as it is.
const SEED: &str = "PROPTEST_RNG_SEED";

/// Arguments for features that nothing in the workspace enables. They are tested, too.
pub(crate) const ALL_PARTS: [&str; 2] =
    ["--features", "vramscope-api/cudarc,vramscope-api/tracing"];

/// Options of the command.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Leave the browser tests out
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// Also what takes minutes and seldom breaks: the page as hosts get it, held to its sizes, the npm package in sites,
    /// the programs that read conversions, the recipes with the real frameworks, and dry runs beside recordings
    #[arg(long, conflicts_with = "no_browser")]
    pub(crate) all: bool,
}

/// Runs the native tests, the examples in the documentation and the book's build, some attacks, then the browser tests.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.no_browser {
        println!("without the page the Python package is not tested: `cargo xtask python` does");
        return native(None);
    }
    // Set up first, so that a missing program is reported early.
    let chromium = browser::for_tests()?;
    println!("browser: {}", chromium.display());
    let page = page::build(page::profile(!options.all))?;
    if options.all {
        size::hold(&page)?;
        consumers::prepare();
    } else {
        consumers::prepare_for_browser();
    }
    native(Some(&page))?;
    let mut times = Times::default();
    times.read()?;
    let program = built("vramscope");
    python::test(&program)?;
    book::build(&page, &target_dir().join("book"))?;
    torment::in_tests(&program, if options.all { 60 } else { 20 })?;
    if options.all {
        recipes::RECIPES.test(&program)?;
        recipes::RECORDINGS.test(&program)?;
    }
    let sites = match options.all {
        true => npm::sites(&page)?,
        false => None,
    };
    in_browser(&chromium, &page, &program, sites)?;
    times.read()?;
    times.print();
    if !options.all {
        println!(
            "left to `cargo xtask ci`: the page as hosts get it, its npm package, the recipes, dry runs beside recordings, \
             readers of conversions that are not installed, a minute of attacks instead of 20 s"
        );
    }
    Ok(())
}

/// How long tests took.
#[derive(Default)]
struct Times(Vec<(f64, String)>);

impl Times {
    /// Adds those of nextest's last run, as its configuration has it write them; none without it.
    fn read(&mut self) -> Result<()> {
        let report = target_dir().join("nextest/default/junit.xml");
        let Ok(report) = fs::read_to_string(report) else {
            return Ok(());
        };
        for test in report.split("<testcase ").skip(1) {
            let value = |name: &str| {
                let (_, value) = test.split_once(&format!("{name}=\""))?;
                value.split('"').next()
            };
            if let (Some(name), Some(of), Some(time)) =
                (value("name"), value("classname"), value("time"))
            {
                self.0.push((time.parse()?, format!("{of} {name}")));
            }
        }
        Ok(())
    }

    /// The longest ten.
    fn print(mut self) {
        self.0.sort_by(|one, other| other.0.total_cmp(&one.0));
        println!("the longest tests (CONTRIBUTING.md says why they are long):");
        for (seconds, name) in self.0.iter().take(10) {
            println!("{seconds:7.1} s  {name}");
        }
    }
}

/// All tests but those in the browser, and the programs that tests start. With `page`, the command line has it inside.
fn native(page: Option<&Path>) -> Result<()> {
    let page = page.map(|page| ("VRAMSCOPE_PAGE", page));
    build(page)?;
    let mut tests = runner(Tests::Native);
    tests.env(consumers::VARIABLE, consumers::folder());
    tests.envs(capture::prepare()?);
    run_command(tests.envs(page))?;
    let mut examples = cargo();
    examples.args(["test", "--workspace", "--doc"]);
    run_command(examples.args(ALL_PARTS).envs(page))
}

/// Builds all at once. Cargo compiles a library anew for each set of its features, and packages that are built alone
/// want other sets than all together.
fn build(page: Option<(&str, &Path)>) -> Result<()> {
    let mut build = cargo();
    build.args(["build", "--workspace", "--lib", "--tests"]);
    for program in PROGRAMS {
        build.args(["--bin", program]);
    }
    run_command(build.args(ALL_PARTS).envs(page))
}

fn in_browser(chromium: &Path, page: &Path, program: &Path, sites: Option<PathBuf>) -> Result<()> {
    let mut tests = runner(Tests::InBrowser);
    tests
        .env("CHROME", chromium)
        .env("VRAMSCOPE_PAGE", page)
        .env("VRAMSCOPE_BIN", program)
        .env(consumers::VARIABLE, consumers::folder())
        .envs(sites.map(|sites| (npm::SITES, sites)))
        .envs(capture::prepare()?);
    run_command(&mut tests)
}

/// Which tests run.
#[derive(Clone, Copy)]
enum Tests {
    Native,
    InBrowser,
}

/// `cargo nextest run` if it is installed, else `cargo test`.
fn runner(tests: Tests) -> Command {
    let mut command = cargo();
    // A change must never fail by an input that chance chose: random inputs are the same in each run.
    if std::env::var_os(SEED).is_none() {
        command.env(SEED, "1");
    }
    if output(cargo().args(["nextest", "--version"])).is_some() {
        let are_in_browser = format!("package({BROWSER_TESTS})");
        command.args(["nextest", "run", "--workspace"]);
        command.args(ALL_PARTS).arg("--filterset");
        match tests {
            Tests::Native => command.arg(format!("not {are_in_browser}")),
            // Each waits for its browser about half of the time.
            Tests::InBrowser => {
                let cores = available_parallelism().map_or(1, NonZero::get);
                let threads = cores + cores.div_ceil(2);
                command
                    .arg(are_in_browser)
                    .arg(format!("--test-threads={threads}"))
            }
        };
        return command;
    }
    command.args(["test", "--lib", "--bins", "--tests"]);
    match tests {
        Tests::Native => command
            .args(["--workspace", "--exclude", BROWSER_TESTS])
            .args(ALL_PARTS),
        Tests::InBrowser => command.args(["--package", BROWSER_TESTS]),
    };
    command
}
