//! `cargo xtask notes`: what CHANGELOG.md says of a release, once its tag, the workspace and the changelog agree.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::process::root;

/// The version of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Args)]
pub(crate) struct Options {
    /// The tag that is released, such as v0.1.0; without one (or empty), the notes are those of what is not released yet
    #[arg(long, default_value = "")]
    tag: String,
    /// The file to write; without one they are printed
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Writes the notes.
pub(crate) fn run(options: &Options) -> Result<()> {
    let changelog = fs::read_to_string(root().join("CHANGELOG.md"))?;
    let notes = of(&options.tag, &changelog)?;
    match &options.out {
        Some(path) => Ok(fs::write(path, notes)?),
        None => {
            println!("{notes}");
            Ok(())
        }
    }
}

fn of<'a>(tag: &str, changelog: &'a str) -> Result<&'a str> {
    let title = match tag {
        "" => "Unreleased",
        tag => {
            ensure!(
                tag.strip_prefix('v') == Some(VERSION),
                "the tag is {tag}, and the workspace's version {VERSION}: set `version` in Cargo.toml, or tag v{VERSION}"
            );
            VERSION
        }
    };
    section(changelog, title).with_context(|| {
        format!("CHANGELOG.md says nothing under `## [{title}]`: move what is released there")
    })
}

/// What stands below a heading, up to the next one of its level; `None` if that is nothing.
fn section<'a>(changelog: &'a str, title: &str) -> Option<&'a str> {
    let (_, rest) = changelog.split_once(&format!("\n## [{title}]"))?;
    let (_, rest) = rest.split_once('\n')?;
    let text = rest.split("\n## [").next()?.trim();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_its_notes() {
        let log = format!(
            "# Changelog\n\n## [Unreleased]\n\n## [{VERSION}] - 2026-12-01\n\n- New.\n\n## [0.0.1]\n\n- Old.\n"
        );
        assert_eq!(of(&format!("v{VERSION}"), &log).unwrap(), "- New.");
        assert!(of("", &log).is_err());
        assert!(of("v99.0.0", &log).is_err());
        assert_eq!(section(&log, "0.0.1"), Some("- Old."));
    }
}
