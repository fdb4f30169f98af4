//! `cargo xtask tidy`: checks of the sources that no other tool has.
//!
//! Each check adds its findings to a list. A finding names the file and what to do about it.

mod rooms;
mod source;

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process::{cargo, in_root, output, root};

use self::source::Source;

/// Maximum number of lines of a source file, not counting tests.
const LONGEST_FILE_LINES: usize = 600;

/// Maximum number of lines of code of a Yew component with its signature, like the limit for functions in
/// `clippy.toml`.
const LONGEST_COMPONENT_LINES: usize = 62;

/// Maximum size of all fixtures together, because every clone contains them forever.
const FIXTURES_LIMIT_BYTES: u64 = 18 << 20;

/// Crates that use none of the project's others except these, because each is meant to know little or to stay small.
/// For all other dependencies, cargo refuses cycles.
const APART: [(&str, &[&str]); 9] = [
    // They work on a page and files, a program, or Parquet files, and know nothing about snapshots.
    ("vramscope-serve", &[]),
    ("vramscope-launch", &[]),
    ("vramscope-sql", &[]),
    // The crate that writes files for tests shares no code with the one that reads them.
    ("vramscope-synth", &[]),
    // The library in captured programs, and the crate for programs to call, should be as small as possible.
    ("vramscope-inject", &["vramscope-record"]),
    ("vramscope-record", &["vramscope-core"]),
    ("vramscope-api", &[]),
    // The stand-in is built a second time, by rustc alone.
    ("vramscope-standin", &[]),
    ("fakecuda", &[]),
];

/// Crates without I/O, clocks, threads or DOM: they take values and return values.
const PURE_CRATES: [&str; 5] = [
    "vramscope-core",
    "vramscope-inductor",
    "vramscope-plan",
    "vramscope-text",
    "vramscope-view",
];

/// Names that must not occur in pure crates. They cannot use the page, since none of its crates is a dependency.
const NOT_IN_PURE_CRATES: [&str; 5] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::time::",
];

/// Words that indicate an address from which something would be loaded.
const FOREIGN_HOSTS: [&str; 7] = [
    "unpkg.com",
    "jsdelivr",
    "cdnjs",
    "googleapis",
    "gstatic",
    "artifactory",
    "jfrog",
];

/// Runs all checks and prints the findings.
pub(crate) fn run() -> Result<()> {
    // All files that are in the repository or would be committed.
    let mut list = in_root(Command::new("git"));
    list.args(["ls-files", "--cached", "--others"]);
    list.args(["--exclude-standard", "--deduplicate"]);
    let names = output(&mut list).context("tidy needs git to list the project's files")?;
    let (mut findings, mut texts, mut fixtures_bytes) = (Vec::new(), Vec::new(), 0);
    for name in names.lines() {
        let path = root().join(name);
        if name.starts_with("tests/fixtures/") {
            // Recordings contain other people's text.
            fixtures_bytes += fs::metadata(path).map_or(0, |file| file.len());
        } else if let Ok(text) = fs::read_to_string(path) {
            texts.push((name, text));
        }
    }
    if fixtures_bytes > FIXTURES_LIMIT_BYTES {
        findings.push(format!(
            "tests/fixtures holds {fixtures_bytes} bytes, at most {FIXTURES_LIMIT_BYTES}"
        ));
    }
    check_names(&mut findings);
    for (name, text) in &texts {
        check_addresses(name, text, &mut findings);
    }
    let rust = texts.iter().filter(|(name, _)| name.ends_with(".rs"));
    let sources: Vec<_> = rust.map(|(name, text)| Source::new(name, text)).collect();
    for source in &sources {
        check_rust(source, &mut findings);
        check_components(source, &mut findings);
    }
    rooms::check(&sources, &mut findings);
    check_dependencies(&mut findings)?;
    for finding in &findings {
        println!("tidy: {finding}");
    }
    if !findings.is_empty() {
        bail!("{} findings", findings.len());
    }
    println!("{} files are tidy", names.lines().count());
    Ok(())
}

/// Checks the length, the opening comment and the purity of Rust files.
fn check_rust(source: &Source, findings: &mut Vec<String>) {
    let name = source.name;
    if !source.text.starts_with("//!") {
        findings.push(format!("{name} does not open with //! and what it holds"));
    }
    if source.is_test {
        return;
    }
    let lines = source.lines.len();
    if lines > LONGEST_FILE_LINES {
        findings.push(format!(
            "{name} has {lines} lines without tests; split it by topic"
        ));
    }
    let folder = name.split("/src/").next().unwrap_or_default();
    if PURE_CRATES.iter().any(|pure| folder.ends_with(pure)) {
        for word in NOT_IN_PURE_CRATES {
            if source.code().any(|(_, line)| line.contains(word)) {
                findings.push(format!(
                    "{name} uses {word}; its crate touches no file, clock, thread or page"
                ));
            }
        }
    }
}

/// Checks that components are short. Clippy's `too_many_lines` does not look into them.
fn check_components(source: &Source, findings: &mut Vec<String>) {
    let mut code = source.code().filter(|(_, line)| !line.trim().is_empty());
    while let Some((number, line)) = code.next() {
        if line.starts_with("#[component") {
            let lines = code.by_ref().take_while(|(_, line)| *line != "}").count();
            if lines > LONGEST_COMPONENT_LINES {
                let name = source.name;
                findings.push(format!(
                    "{name}:{number}: the component has {lines} lines; split it"
                ));
            }
        }
    }
}

/// Checks that none of our files names a foreign host, or a path of this machine.
fn check_names(findings: &mut Vec<String>) {
    let mut grep = in_root(Command::new("git"));
    grep.args(["grep", "--untracked", "--line-number", "--fixed-strings"]);
    for host in FOREIGN_HOSTS {
        grep.args(["-e", host]);
    }
    let home = std::env::var("HOME").unwrap_or_default();
    let around = root().parent().unwrap_or(root()).to_string_lossy();
    // Root's home is the same on all machines, and occurs in recorded stacks.
    for path in [around.as_ref(), &home] {
        if !["", "/", "/root"].contains(&path) {
            grep.args(["-e", &format!("{path}/")]);
        }
    }
    // This file contains the words, and fixtures are recordings with other people's text.
    grep.args(["--", ".", ":!xtask/src/tidy.rs", ":!tests/fixtures"]);
    let found = output(&mut grep).unwrap_or_default();
    let found = found.lines().map(|line| format!("{line}: a host or path"));
    findings.extend(found);
}

/// Checks that the page loads only its own files, and cargo only crates from crates.io.
fn check_addresses(name: &str, text: &str, findings: &mut Vec<String>) {
    let served = ["index.html", "mini.html"].contains(&name) || name.starts_with("www/");
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

/// Checks that crates which stand apart use no others, except in tests.
fn check_dependencies(findings: &mut Vec<String>) -> Result<()> {
    let mut metadata = cargo();
    metadata.args(["metadata", "--no-deps", "--format-version", "1", "--quiet"]);
    let metadata = output(&mut metadata).context("cargo metadata failed")?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages = list(&metadata["packages"]);
    for (name, allowed) in APART {
        let package = packages.iter().find(|package| package["name"] == name);
        let package = package.with_context(|| format!("no crate is called {name}"))?;
        for dependency in list(&package["dependencies"]) {
            let used = dependency["name"].as_str().unwrap_or_default();
            let is_ours = dependency["path"].is_string();
            if is_ours && dependency["kind"] != "dev" && !allowed.contains(&used) {
                findings.push(format!(
                    "{name} depends on {used}, from which it stands apart"
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_FILE_LINES, Source, check_components, check_rust};

    fn findings(text: String) -> String {
        let source = Source::new("crates/vramscope-core/src/model/mod.rs", &text);
        let mut findings = Vec::new();
        check_rust(&source, &mut findings);
        check_components(&source, &mut findings);
        findings.join("\n")
    }

    #[test]
    fn a_leading_test_module_hides_nothing() {
        let mut text = "//! Doc.\n\n#[cfg(test)]\nmod tests;\n\n".to_owned();
        text += &"fn f() {}\n".repeat(LONGEST_FILE_LINES);
        text += "use std::fs;\n";
        let told = findings(text);
        assert!(told.contains("has 604 lines without tests"), "{told}");
        assert!(told.contains("uses std::fs"), "{told}");
    }

    #[test]
    fn long_components_are_findings() {
        let component = |lines| {
            let lines = "    <A />\n\n    // why\n".repeat(lines);
            format!("//! Doc.\n#[component]\nfn A() -> Html {{\n{lines}}}\nfn b() {{}}\n")
        };
        assert_eq!(findings(component(61)), "");
        assert!(findings(component(62)).contains(":2: the component has 63 lines"));
    }
}
