//! What is inside an artefact: the crates that are compiled into it, as cargo resolves them for its target, and the
//! libraries that come with compilers. Crates that are only used to build or test are not inside, and neither are
//! macros.
//!
//! cargo-about and cargo-cyclonedx would each cover half of it: neither combines a program with the page inside, nor
//! knows the compilers' libraries, and both are hundreds of crates to build in a fresh clone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use spdx::{Expression, LicenseReq, ParseMode};

use crate::process::{cargo, output, root};

/// One of the project's packages, the target that it is compiled for, and its features there.
pub(super) type Part<'a> = (&'a str, &'a str, &'a [&'a str]);

/// Something with a licence of its own.
#[derive(Clone)]
pub(super) struct Component {
    /// Unique among all components; for a crate its package URL.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) version: String,
    /// An SPDX expression.
    pub(super) licence: String,
    /// Where its source code is.
    pub(super) address: String,
    /// Files with its licences and notices; none for our own crates.
    pub(super) texts: Vec<PathBuf>,
    /// The ids of the components that it uses.
    pub(super) uses: BTreeSet<String>,
}

/// The licences of others' code that we may distribute. All require no more than their text, and CDDL a way to the
/// crate's own sources.
const ACCEPTED: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDDL-1.0",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Prefixes of licence file names.
const LICENCE_FILES: [&str; 6] = [
    "LICENSE",
    "LICENCE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "UNLICENSE",
];

/// Others' work inside a crate, with its own licence.
const WITHIN_CRATES: [(&str, &str); 2] = [
    ("dejavu", "assets/dejavu-fonts-ttf-2.37/LICENSE"),
    ("zstd-sys", "zstd/LICENSE"),
];

/// Crates without their licence file, and the one from their repository.
const MISSING: [(&str, &str); 1] = [("alloc-stdlib", "xtask/src/dist/alloc-stdlib.LICENSE")];

pub(super) struct Crates {
    packages: BTreeMap<(String, String), Value>,
    /// For each package, cargo's ids of the packages it uses.
    uses: BTreeMap<String, Vec<String>>,
}

impl Crates {
    pub(super) fn read() -> Result<Self> {
        let mut metadata = cargo();
        metadata.args(["metadata", "--locked", "--format-version", "1", "--quiet"]);
        metadata.arg("--all-features");
        let metadata = output(&mut metadata).context("cargo metadata failed")?;
        let metadata: Value = serde_json::from_str(&metadata)?;
        let packages = list(&metadata["packages"]).iter();
        let packages = packages.map(|it| ((text(&it["name"]), text(&it["version"])), it.clone()));
        let nodes = list(&metadata["resolve"]["nodes"]).iter();
        let used = |node: &Value| list(&node["dependencies"]).iter().map(text).collect();
        Ok(Self {
            packages: packages.collect(),
            uses: nodes.map(|node| (text(&node["id"]), used(node))).collect(),
        })
    }

    /// The components of an artefact by name, with Rust's own library.
    pub(super) fn inside(&self, parts: &[Part<'_>]) -> Result<Vec<Component>> {
        let mut names = BTreeSet::new();
        for (package, target, features) in parts {
            names.extend(compiled_in(package, target, features)?);
        }
        let mut packages = Vec::new();
        for name in &names {
            let package = self.packages.get(name);
            packages.push(package.with_context(|| format!("cargo does not know {name:?}"))?);
        }
        let mut components = vec![rust()?];
        for package in &packages {
            let used = &self.uses[&text(&package["id"])];
            let inside = packages.iter().filter(|it| used.contains(&text(&it["id"])));
            let uses = inside.map(|package| id(package)).collect();
            components.push(component(package, uses)?);
        }
        Ok(components)
    }
}

/// The names and versions of the crates that are compiled into a package.
fn compiled_in(
    package: &str,
    target: &str,
    features: &[&str],
) -> Result<BTreeSet<(String, String)>> {
    let mut tree = cargo();
    tree.args(["tree", "--locked", "--quiet", "--prefix", "none"]);
    tree.args(["--edges", "normal,no-proc-macro", "--format", "{p}"]);
    tree.args(["--package", package, "--target", target]);
    tree.args(features);
    let tree = output(&mut tree).with_context(|| format!("cargo tree failed for {package}"))?;
    let pairs = tree.lines().filter_map(|line| {
        let (name, rest) = line.split_once(" v")?;
        Some((name.to_owned(), rest.split_whitespace().next()?.to_owned()))
    });
    Ok(pairs.collect())
}

fn component(package: &Value, uses: BTreeSet<String>) -> Result<Component> {
    let (name, version) = (text(&package["name"]), text(&package["version"]));
    let told = text(&package["license"]);
    let licence = Expression::canonicalize(&told)?.unwrap_or(told);
    let parsed = Expression::parse_mode(&licence, ParseMode::STRICT)
        .with_context(|| format!("{name} {version} states the licence {licence:?}"))?;
    ensure!(
        parsed.evaluate(|asked| ACCEPTED.iter().any(|accepted| is(asked, accepted))),
        "{name} {version} is under {licence}, which xtask/src/dist/inside.rs does not accept"
    );
    let texts = match package["source"].is_null() {
        // The project's own licences accompany every release.
        true => Vec::new(),
        false => texts(package, &parsed)?,
    };
    Ok(Component {
        id: id(package),
        address: format!("https://crates.io/crates/{name}/{version}"),
        name,
        version,
        licence,
        texts,
        uses,
    })
}

/// A crate's licence and notice files. Some crates have none; if they may be used under the Apache licence, which names
/// no owner, its general text is used.
fn texts(package: &Value, licence: &Expression) -> Result<Vec<PathBuf>> {
    let name = text(&package["name"]);
    let manifest = text(&package["manifest_path"]);
    let folder = Path::new(&manifest).parent().unwrap_or(Path::new(""));
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy().to_uppercase();
        if LICENCE_FILES.iter().any(|begin| file.starts_with(begin)) && entry.path().is_file() {
            texts.push(entry.path());
        }
    }
    let told = package["license_file"].as_str();
    texts.extend(told.map(|file| folder.join(file)));
    let within = WITHIN_CRATES.iter().filter(|(within, _)| *within == name);
    texts.extend(within.map(|(_, file)| folder.join(file)));
    let missing = MISSING.iter().filter(|(missing, _)| *missing == name);
    texts.extend(missing.map(|(_, file)| root().join(file)));
    if texts.is_empty() && licence.evaluate(|asked| is(asked, "Apache-2.0")) {
        texts.push(root().join("LICENSE-APACHE"));
    }
    ensure!(
        !texts.is_empty(),
        "{name} has no file with its licence ({licence}); look for the text"
    );
    texts.sort();
    texts.dedup();
    Ok(texts)
}

fn is(asked: &LicenseReq, licence: &str) -> bool {
    asked.license.id() == spdx::license_id(licence)
}

/// Rust's own library, with the copyright notices of its authors.
fn rust() -> Result<Component> {
    let ask = |argument: &[&str]| output(Command::new("rustc").current_dir(root()).args(argument));
    let version = ask(&["--version"]).context("rustc does not report its version")?;
    let sysroot = ask(&["--print", "sysroot"]).context("rustc does not report its folder")?;
    let notices = Path::new(&sysroot).join("share/doc/rust/COPYRIGHT-library.html");
    ensure!(
        notices.is_file(),
        "{} is missing: rustup's toolchains have it",
        notices.display()
    );
    let version = version.split(' ').nth(1).unwrap_or_default().to_owned();
    Ok(Component {
        id: format!("pkg:generic/rust-std@{version}"),
        name: "Rust's standard library".to_owned(),
        version,
        licence: "MIT OR Apache-2.0".to_owned(),
        address: "https://github.com/rust-lang/rust".to_owned(),
        texts: vec![notices],
        uses: BTreeSet::new(),
    })
}

/// A package's URL, as SBOMs name packages.
fn id(package: &Value) -> String {
    let version = text(&package["version"]).replace('+', "%2B");
    format!("pkg:cargo/{}@{version}", text(&package["name"]))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
