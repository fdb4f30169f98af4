//! `cargo xtask hosts`: tests the viewer in the programs that show it to others, as their users have them.
//!
//! They are large and come from PyPI and npm into the target directory, so they are not part of the usual tests. A
//! script of `tests/hosts` operates each of them in Chromium.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

use crate::book;
use crate::browser;
use crate::dist;
use crate::installed;
use crate::packages::{vscode, with_tools};
use crate::page::{Given, replace_folder};
use crate::process::{root, run as run_command, target_dir};
use crate::python::{install, wheel_with};

#[derive(Args)]
pub(crate) struct Options {
    /// Only these, instead of all
    #[arg(value_enum)]
    hosts: Vec<Host>,
    #[command(flatten)]
    page: Given,
}

#[derive(Clone, Copy, ValueEnum)]
enum Host {
    /// The widget of notebooks (200 MB)
    Jupyterlab,
    /// The widget of notebooks, as an app too (100 MB)
    Marimo,
    /// The standalone page among a run's artifacts (800 MB)
    Mlflow,
    /// The standalone page as a run logs it (60 MB)
    Wandb,
    /// The site as a static Space of Hugging Face (10 MB)
    Space,
    /// The frame in a text panel (180 MB)
    Grafana,
    /// The element in pages of mdBook, MkDocs and Sphinx (60 MB)
    Docs,
    /// The element in pages written in MDX (300 MB)
    Docusaurus,
    /// The extension, in a VS Code for browsers (100 MB)
    Vscode,
    /// What cells have shown, in a notebook there
    VscodeNotebook,
    /// The image that serves the site; needs buildah and nginx
    Image,
}

/// Tests the viewer in each. Pictures go to `target/hosts/pictures`.
pub(crate) fn run(options: &Options) -> Result<()> {
    let page = options.page.folder()?;
    let chromium = browser::find()?;
    let hosts = match &options.hosts[..] {
        [] => Host::value_variants(),
        some => some,
    };
    let mut python = None;
    each(hosts, |host, name| {
        try_in(host, name, &mut python, &page, &chromium)
    })?;
    println!("pictures are in {}", pictures().display());
    Ok(())
}

/// Tries all, since an installation takes minutes, and only then fails.
fn each(hosts: &[Host], mut attempt: impl FnMut(Host, &str) -> Result<()>) -> Result<()> {
    let mut failed = Vec::new();
    for host in hosts {
        let name = host.to_possible_value().context("a host without a name")?;
        let name = name.get_name();
        match attempt(*host, name) {
            Ok(()) => println!("{name}: works"),
            Err(error) => {
                println!("{name}: {error:#}");
                failed.push(name.to_owned());
            }
        }
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

fn pictures() -> PathBuf {
    target_dir().join("hosts/pictures")
}

/// An environment with the Python package, the programs from PyPI, and the tool that operates a browser.
fn with_package(page: &Path) -> Result<PathBuf> {
    let wheel = wheel_with(page)?;
    let folder = target_dir().join("hosts/python");
    let list = root().join("tests/hosts/requirements.txt");
    let tools = "JupyterLab, marimo, MLflow, wandb, MkDocs, Sphinx and Playwright (1 GB)";
    installed::python(&folder, &list, tools, &[])?;
    install(&folder, &wheel)?;
    Ok(folder)
}

/// Tries one; the first that needs the Python environment creates it.
fn try_in(
    host: Host,
    name: &str,
    environment: &mut Option<PathBuf>,
    page: &Path,
    chromium: &Path,
) -> Result<()> {
    let further = match host {
        Host::Vscode => return vscode::test(page, chromium),
        Host::Docs => Some(book::mdbook()?.get_program().into()),
        Host::Grafana | Host::Docusaurus => Some(with_packages(name)?),
        Host::VscodeNotebook => Some(with_packages("vscode")?),
        Host::Image => Some(image(page)?),
        _ => None,
    };
    let environment = match environment {
        Some(environment) => environment,
        None => environment.insert(with_package(page)?),
    };
    let pictures = pictures();
    fs::create_dir_all(&pictures)?;
    let mut python = installed::program(environment, "python")?;
    let script = format!("tests/hosts/in_{}.py", name.replace('-', "_"));
    python.arg(root().join(script)).arg(pictures).arg(page);
    run_command(python.args(further).env("CHROME", chromium))
}

/// A copy of a folder of `tests/hosts`, with the packages from npm that it lists.
fn with_packages(name: &str) -> Result<PathBuf> {
    let folder = target_dir().join("hosts").join(name);
    let tests = root().join("tests/hosts").join(name);
    with_tools(&tests, &folder, name)?;
    Ok(folder)
}

/// The files for building the image, as written by `dist`.
fn image(page: &Path) -> Result<PathBuf> {
    let folder = target_dir().join("hosts/image");
    replace_folder(&folder)?;
    dist::site(page, &folder)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::{Host, each};
    use anyhow::bail;

    #[test]
    fn a_host_that_fails_does_not_hide_the_others() {
        let mut tried = 0;
        let told = each(&[Host::Space, Host::Docs, Host::Wandb], |host, _| {
            tried += 1;
            match host {
                Host::Docs => Ok(()),
                _ => bail!("no network"),
            }
        });
        assert_eq!(tried, 3);
        assert_eq!(told.unwrap_err().to_string(), "failed: space, wandb");
    }
}
