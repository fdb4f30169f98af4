//! The project's commands, as listed by `cargo xtask help`.
//!
//! Each command sets up all it needs, so a fresh clone on a fresh machine needs only Rust. Commands say what they
//! install and why. Nothing is installed globally, except system packages on Debian as root.
#![expect(clippy::print_stdout, reason = "a command line tool")]

mod bench;
mod book;
mod browser;
mod capture;
mod ci;
mod consumers;
mod dist;
mod fleet;
mod fresh;
mod fuzz;
mod gpu_kit;
mod hosts;
mod installed;
mod notes;
mod owner;
mod packages;
mod page;
mod program;
mod publish;
mod python;
mod recipes;
mod shots;
mod size;
mod test;
mod tidy;
mod torment;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xtask_page::{fingerprint, process, toolchain, view};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Build, test and measure vramscope")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build the page, serve it on loopback with the given files loaded, open the browser
    View(view::Options),
    /// Run every test, browser tests included
    Test(test::Options),
    /// Build the book into dist/site/book, and open it
    Book(book::Options),
    /// Write the files for release: the page as a static site with the book, the programs, the Python package
    Dist(dist::Options),
    /// Print what CHANGELOG.md says of a release; fail unless its tag, the workspace and the changelog agree
    Notes(notes::Options),
    /// Write where the project lives into every manifest and link
    Owner(owner::Options),
    /// Package the crates and build each from its package, as `cargo install` does; upload them only if asked to
    Publish(publish::Options),
    /// Measure decoding, drawing and memory; print one table
    Bench(bench::Options),
    /// Pack what `tests/gpu` needs on a machine with a GPU, and print where it is and its size
    GpuKit,
    /// Write screenshots of every view, light and dark, into `shots/`
    Shots(shots::Options),
    /// Run the fuzz targets in turn; keep what breaks them
    Fuzz(fuzz::Options),
    /// Attack the command line with damaged and extreme files
    Torment(torment::Options),
    /// Everything a change must pass: format, lints, tests, docs, fuzz targets, tidy
    Ci,
    /// Build the Python package as a wheel and test it in fresh environments
    Python(python::Options),
    /// Run the book's recipes with the real frameworks, which it installs into the target directory
    Recipes(recipes::Options),
    /// Compare dry runs with what strangers recorded on real cards, with torches that it installs into the target
    /// directory
    Recordings(recipes::Options),
    /// Build the npm package, and print where it is
    Npm(page::Given),
    /// Build the extension of VS Code, and print where it is
    Vscode(page::Given),
    /// Try the viewer in JupyterLab, MLflow, Docusaurus and VS Code, which it installs into the target directory
    Hosts(hosts::Options),
    /// Build the command line's SQL engine, test it, and compare its answers with DuckDB, Polars, Spark and Ballista
    Fleet(fleet::Options),
    /// Install the tools that read conversions in the tests, and print where they are
    Consumers,
    /// Print how large the page is, compressed and not
    Size,
    /// Only the checks of the sources that no other tool makes
    Tidy,
    /// Build the command line, optimised and with the page inside, and print where it is
    Build,
    /// Build the page into the target directory and print where it is
    Page {
        /// Less optimised, for working on it
        #[arg(long)]
        fast: bool,
    },
}

fn main() -> ExitCode {
    let result = run(Arguments::parse().command);
    process::ended(result.map(|()| ExitCode::SUCCESS))
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::View(options) => view::run(&options, page::profile(!options.release)),
        Command::Test(options) => test::run(&options),
        Command::Book(options) => book::run(&options),
        Command::Dist(options) => dist::run(&options),
        Command::Notes(options) => notes::run(&options),
        Command::Owner(options) => owner::run(&options),
        Command::Publish(options) => publish::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::GpuKit => gpu_kit::make(),
        Command::Shots(options) => shots::run(&options),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Torment(options) => torment::run(&options),
        Command::Ci => ci::run(),
        Command::Consumers => print_path(Ok(consumers::prepare())),
        Command::Python(options) => python::run(&options),
        Command::Recipes(options) => recipes::RECIPES.run(&options),
        Command::Recordings(options) => recipes::RECORDINGS.run(&options),
        Command::Fleet(options) => fleet::run(&options),
        Command::Npm(page) => print_path(packages::npm::pack(&page.folder()?)),
        Command::Hosts(options) => hosts::run(&options),
        Command::Vscode(page) => print_path(packages::vscode::pack(&page.folder()?)),
        Command::Size => size::run(),
        Command::Tidy => tidy::run(),
        Command::Build => print_path(program::build(Some(&page::build(page::FULL)?), "release")),
        Command::Page { fast } => print_path(page::build(page::profile(fast))),
    }
}

fn print_path(path: Result<PathBuf>) -> Result<()> {
    println!("{}", path?.display());
    Ok(())
}
