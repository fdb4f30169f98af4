//! `cargo xtask owner NAME/REPO`: where the project lives, written into every manifest and link. Until it is run, none is
//! invented.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::process::root;

#[derive(Args)]
pub(crate) struct Options {
    /// The repository on GitHub, such as somebody/vramscope
    repository: String,
}

/// A line of a file: the beginning of the line that it follows, its own beginning, and the rest of it.
type Line = (&'static str, &'static str, String);

/// Writes the repository's address wherever somebody looks for it. Run again, it replaces what it wrote.
pub(crate) fn run(options: &Options) -> Result<()> {
    let (owner, name) = parts(&options.repository)?;
    let source = format!("https://github.com/{owner}/{name}");
    let pages = format!("https://{}.github.io/{name}/", owner.to_lowercase());
    for (file, lines) in places(&source, &pages) {
        let path = root().join(file);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {file}"))?;
        let text = lines.iter().try_fold(text, |text, line| with(&text, line));
        fs::write(&path, text.with_context(|| format!("{file} has changed"))?)?;
        println!("{file}");
    }
    for manifest in published()? {
        let text = fs::read_to_string(&manifest)?;
        let line = (
            "license.workspace",
            "repository.workspace",
            " = true".to_owned(),
        );
        fs::write(&manifest, with(&text, &line)?)?;
    }
    println!("and the manifests of all crates that are published; look at `git diff`");
    Ok(())
}

fn parts(repository: &str) -> Result<(&str, &str)> {
    let is_name = |part: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    let parts = repository.split_once('/');
    let parts = parts.filter(|(owner, name)| is_name(owner) && is_name(name));
    parts.with_context(|| format!("{repository:?} is no NAME/REPO, such as somebody/vramscope"))
}

fn places(source: &str, pages: &str) -> Vec<(&'static str, Vec<Line>)> {
    let package = |folder: &str| {
        format!(r#" {{ "type": "git", "url": "git+{source}.git", "directory": "{folder}" }},"#)
    };
    let quoted = |url: &str| format!(" = {url:?}");
    vec![
        (
            "Cargo.toml",
            vec![("license =", "repository", quoted(source))],
        ),
        (
            "crates/vramscope-python/pyproject.toml",
            vec![
                ("vramscope = ", "[project.urls]", String::new()),
                ("[project.urls]", "Source", quoted(source)),
                ("Source", "Documentation", quoted(&format!("{pages}book/"))),
            ],
        ),
        (
            "packages/npm/package.json",
            vec![(
                "  \"license\"",
                "  \"repository\":",
                package("packages/npm"),
            )],
        ),
        (
            "packages/vscode/package.json",
            vec![(
                "  \"license\"",
                "  \"repository\":",
                package("packages/vscode"),
            )],
        ),
        (
            "book/book.toml",
            vec![("[output.html]", "git-repository-url", quoted(source))],
        ),
        (
            "CITATION.cff",
            vec![("type:", "repository-code:", format!(" {source:?}"))],
        ),
        (
            "README.md",
            vec![(
                "# vramscope",
                "[Open it in the browser]",
                format!("({pages}) · [Documentation]({pages}book/)"),
            )],
        ),
        (
            "SECURITY.md",
            vec![(
                "## How to report",
                "<",
                format!("{source}/security/advisories/new>"),
            )],
        ),
    ]
}

/// The text with a line after another one, or in place of what was written there before.
fn with(text: &str, (after, start, rest): &Line) -> Result<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let own = format!("{start}{rest}");
    match lines.iter().position(|line| line.starts_with(start)) {
        Some(place) => lines[place] = own,
        None => {
            let place = lines.iter().position(|line| line.starts_with(after));
            let place = place.with_context(|| format!("no line begins with {after:?}"))?;
            lines.insert(place + 1, own);
        }
    }
    Ok(lines.join("\n") + "\n")
}

/// The manifests of the crates that are published.
fn published() -> Result<Vec<std::path::PathBuf>> {
    let folders = fs::read_dir(root().join("crates"))?;
    let mut manifests = Vec::new();
    for folder in folders {
        let manifest = folder?.path().join("Cargo.toml");
        if is_published(&manifest)? {
            manifests.push(manifest);
        }
    }
    ensure!(!manifests.is_empty(), "no crate is published");
    Ok(manifests)
}

fn is_published(manifest: &Path) -> Result<bool> {
    Ok(fs::read_to_string(manifest)?
        .lines()
        .any(|line| line == "publish = true"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_there_and_takes_it_twice() {
        let written = |source: &str| places(source, "https://me.github.io/x/").into_iter();
        for ((file, first), (_, second)) in
            written("https://github.com/me/x").zip(written("https://github.com/you/x"))
        {
            let text = fs::read_to_string(root().join(file)).unwrap();
            let fill = |text: String, lines: &[Line]| {
                lines
                    .iter()
                    .try_fold(text, |text, line| with(&text, line))
                    .unwrap()
            };
            let once = fill(text.clone(), &first);
            assert_ne!(once, text, "{file}");
            assert_eq!(fill(once.clone(), &first), once, "{file}");
            assert_eq!(fill(once, &second), fill(text, &second), "{file}");
        }
    }

    #[test]
    fn a_repository_is_a_name_and_a_name() {
        assert_eq!(parts("me/vramscope").unwrap(), ("me", "vramscope"));
        for wrong in ["me", "me/", "a/b/c", "https://x/y", "me/a b"] {
            assert!(parts(wrong).is_err(), "{wrong}");
        }
    }
}
