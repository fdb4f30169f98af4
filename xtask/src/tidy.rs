//! Checks of the sources that no other tool makes: `cargo xtask tidy`.
//!
//! Each check is a function that adds its findings to one list; a finding names the file and what
//! to do about it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process::{cargo, in_root, output, root};

/// The longest a source file may be, its tests not counted.
const LONGEST_FILE_LINES: usize = 600;

/// All fixtures together: they are in every clone for ever.
const FIXTURES_LIMIT_BYTES: u64 = 8 << 20;

/// Which of the project's crates each may use; tests may use vramscope-synth besides.
const MAY_USE: [(&str, &[&str]); 10] = [
    ("vramscope-core", &[]),
    ("vramscope-view", &["vramscope-core"]),
    ("vramscope-app", &["vramscope-core", "vramscope-view"]),
    ("vramscope-cli", &["vramscope-core", "vramscope-view"]),
    // What writes the tests' files shares nothing with what reads them.
    ("vramscope-synth", &[]),
    ("vramscope-record", &["vramscope-core"]),
    ("vramscope-capture", &["vramscope-core", "vramscope-record"]),
    // Neither the captured program nor what is injected into it carries more than it must.
    ("vramscope-inject", &["vramscope-record"]),
    ("vramscope-api", &[]),
    ("fakecuda", &[]),
];

/// What core and view never touch: they take values and give values.
const NOT_IN_PURE_CRATES: [&str; 9] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::time::",
    "println!",
    "web_sys",
    "js_sys",
    "wasm_bindgen",
];

/// Words that give away an address from which something would be loaded.
const FOREIGN_HOSTS: [&str; 7] = [
    "unpkg.com",
    "jsdelivr",
    "cdnjs",
    "googleapis",
    "gstatic",
    "artifactory",
    "jfrog",
];

/// Runs all checks and prints every finding.
///
/// # Errors
///
/// When there is a finding.
pub(crate) fn run() -> Result<()> {
    let files = source_files()?;
    let mut findings = Vec::new();
    for name in &files {
        // Fixtures are recordings: their text is not ours.
        if name.starts_with("tests/fixtures/") {
            continue;
        }
        // What is not text has no lines to check.
        if let Ok(text) = fs::read_to_string(root().join(name)) {
            check_rust(name, &text, &mut findings);
            check_addresses(name, &text, &mut findings);
        }
    }
    check_fixtures(&files, &mut findings);
    check_dependencies(&mut findings)?;
    for finding in &findings {
        println!("tidy: {finding}");
    }
    if !findings.is_empty() {
        bail!("{} findings", findings.len());
    }
    println!("tidy: {} files are", files.len());
    Ok(())
}

/// Names, relative to the root, of all files that are or would be committed.
fn source_files() -> Result<Vec<String>> {
    let mut list = in_root(Command::new("git"));
    list.args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "--deduplicate",
    ]);
    let names = output(&mut list).context("tidy needs git to list the project's files")?;
    Ok(names
        .lines()
        .filter(|name| root().join(name).is_file())
        .map(str::to_owned)
        .collect())
}

/// Length, opening words, and purity of Rust files.
fn check_rust(name: &str, text: &str, findings: &mut Vec<String>) {
    let is_test = name.contains("/tests/") || name.ends_with("/tests.rs");
    if Path::new(name)
        .extension()
        .is_none_or(|extension| extension != "rs")
    {
        return;
    }
    let code = without_tests(text);
    let lines = code.lines().count();
    if !is_test && lines > LONGEST_FILE_LINES {
        findings.push(format!(
            "{name} has {lines} lines without tests; split it by topic"
        ));
    }
    if !text.starts_with("//!") {
        findings.push(format!("{name} does not open with //! and what it holds"));
    }
    let pure = ["crates/vramscope-core/src/", "crates/vramscope-view/src/"];
    if !is_test && pure.iter().any(|folder| name.starts_with(folder)) {
        for word in NOT_IN_PURE_CRATES {
            if code
                .lines()
                .any(|line| !line.trim_start().starts_with("//") && line.contains(word))
            {
                findings.push(format!(
                    "{name} uses {word}; core and view touch no outside world"
                ));
            }
        }
    }
}

/// What stands before the file's test module.
fn without_tests(text: &str) -> &str {
    text.find("#[cfg(test)]\nmod ")
        .and_then(|end| text.get(..end))
        .unwrap_or(text)
}

/// Nothing may name this machine, nor load from elsewhere.
fn check_addresses(name: &str, text: &str, findings: &mut Vec<String>) {
    // The list of what is forbidden has to be somewhere.
    if name == "xtask/src/tidy.rs" {
        return;
    }
    let home = std::env::var("HOME").unwrap_or_default();
    let around = root().parent().unwrap_or(root()).to_string_lossy();
    // Root's home is the same everywhere, and in many a recorded stack.
    for path in [around.as_ref(), &home]
        .into_iter()
        .filter(|path| !["", "/", "/root"].contains(path))
    {
        if text.contains(&format!("{path}/")) {
            findings.push(format!("{name} holds {path}, a path of this machine"));
        }
    }
    for host in FOREIGN_HOSTS {
        if text.contains(host) {
            findings.push(format!("{name} names {host}"));
        }
    }
    let served = name == "index.html" || name.starts_with("www/");
    let addresses = text.replace("http://www.w3.org/", "");
    if served && (addresses.contains("http://") || addresses.contains("https://")) {
        findings.push(format!(
            "{name} holds an absolute address; the page loads only its own"
        ));
    }
    let official = "registry+https://github.com/rust-lang/crates.io-index";
    if name.ends_with("Cargo.lock") {
        let sources = text.lines().filter(|line| line.starts_with("source = "));
        for source in sources.filter(|source| !source.contains(official)) {
            findings.push(format!("{name} takes a package from {source}"));
        }
    }
}

fn check_fixtures(files: &[String], findings: &mut Vec<String>) {
    let sizes = files
        .iter()
        .filter(|name| name.starts_with("tests/fixtures/"))
        .filter_map(|name| Some(fs::metadata(root().join(name)).ok()?.len()));
    let bytes: u64 = sizes.sum();
    if bytes > FIXTURES_LIMIT_BYTES {
        findings.push(format!(
            "tests/fixtures holds {} KiB, at most 8192",
            bytes / 1024
        ));
    }
}

/// Dependencies between the project's crates point one way.
fn check_dependencies(findings: &mut Vec<String>) -> Result<()> {
    let mut metadata = cargo();
    metadata.args(["metadata", "--no-deps", "--format-version", "1", "--quiet"]);
    let metadata = output(&mut metadata).context("cargo metadata failed")?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    for package in items(&metadata["packages"]) {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = MAY_USE.iter().find(|(crate_name, _)| *crate_name == name) else {
            continue;
        };
        for dependency in items(&package["dependencies"]) {
            let used = dependency["name"].as_str().unwrap_or_default();
            let in_tests = dependency["kind"] == "dev" && used == "vramscope-synth";
            if used.starts_with("vramscope") && !allowed.contains(&used) && !in_tests {
                findings.push(format!("{name} depends on {used}, against the direction"));
            }
        }
    }
    Ok(())
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}
