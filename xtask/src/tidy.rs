//! `cargo xtask tidy`: checks of the sources that no other tool has.
//!
//! Each check adds its findings to a list. A finding names the file and what to do about it.

mod packed;
mod rooms;
mod source;

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process::{cargo, in_root, output, root};

use self::source::{Source, read_all};

/// Maximum number of lines of a source file, not counting tests.
const LONGEST_FILE_LINES: usize = 600;

/// Maximum number of lines of code of a Yew component with its signature, as `clippy.toml` has it for functions.
const LONGEST_COMPONENT_LINES: usize = 62;

/// Maximum size of all fixtures together, because every clone contains them forever.
const FIXTURES_LIMIT_BYTES: u64 = 18 << 20;

/// The project's crates, and those that each may use.
const MAY_USE: [(&str, &[&str]); 19] = [
    ("vramscope-core", &[]),
    ("vramscope-inductor", &["vramscope-core"]),
    ("vramscope-plan", &["vramscope-core"]),
    ("vramscope-text", &["vramscope-core"]),
    (
        "vramscope-view",
        &["vramscope-core", "vramscope-inductor", "vramscope-plan"],
    ),
    (
        "vramscope-app",
        &[
            "vramscope-core",
            "vramscope-inductor",
            "vramscope-plan",
            "vramscope-text",
            "vramscope-view",
        ],
    ),
    (
        "vramscope-cli",
        &[
            "vramscope-core",
            "vramscope-dryrun",
            "vramscope-inductor",
            "vramscope-launch",
            "vramscope-plan",
            "vramscope-serve",
            "vramscope-sql",
            "vramscope-text",
            "vramscope-view",
        ],
    ),
    // It is given a page and files, and knows no snapshot.
    ("vramscope-serve", &[]),
    ("vramscope-launch", &[]),
    // It is given Parquet files, and knows no snapshot.
    ("vramscope-sql", &[]),
    ("vramscope-python", &["vramscope-cli", "vramscope-core"]),
    // The crate that writes files for tests shares no code with the one that reads them.
    ("vramscope-synth", &[]),
    ("vramscope-record", &["vramscope-core"]),
    ("vramscope-capture", &["vramscope-core", "vramscope-record"]),
    // The library in captured programs, and the crate for programs to call, should be as small as possible.
    ("vramscope-inject", &["vramscope-record"]),
    ("vramscope-api", &[]),
    // The stand-in is built a second time, by rustc alone.
    ("vramscope-dryrun", &["vramscope-core", "vramscope-launch"]),
    ("vramscope-standin", &[]),
    ("fakecuda", &[]),
];

/// A crate that all tests may use, since it shares no code with what they test.
const IN_ALL_TESTS: &str = "vramscope-synth";

/// A crate and another one that its tests may use: it makes real graphs to plan for.
const IN_TESTS: (&str, &str) = ("vramscope-plan", "vramscope-inductor");

/// Crates without I/O, clocks, threads or DOM: they take values and return values.
const PURE_CRATES: [&str; 5] = [
    "vramscope-core",
    "vramscope-inductor",
    "vramscope-plan",
    "vramscope-text",
    "vramscope-view",
];

/// Names that must not occur in pure crates.
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
///
/// # Errors
///
/// If there are findings.
pub(crate) fn run() -> Result<()> {
    let names = source_files()?;
    let mut findings = Vec::new();
    let files: Vec<(String, String)> = names
        .iter()
        // Fixtures are recordings, whose text is not ours.
        .filter(|name| !name.starts_with("tests/fixtures/"))
        // A file that is not text has no lines to check.
        .filter_map(|name| Some((name.clone(), fs::read_to_string(root().join(name)).ok()?)))
        .collect();
    for (name, text) in &files {
        check_addresses(name, text, &mut findings);
    }
    let sources = read_all(&files);
    for source in &sources {
        check_rust(source, &mut findings);
        check_components(source, &mut findings);
    }
    rooms::check(&sources, &mut findings);
    check_fixtures(&names, &mut findings);
    let packages = packages()?;
    check_dependencies(&packages, &mut findings);
    check_versions(&packages, &mut findings);
    packed::check(&sources, &packages, &mut findings);
    for finding in &findings {
        println!("tidy: {finding}");
    }
    if !findings.is_empty() {
        bail!("{} findings", findings.len());
    }
    println!("{} files are tidy", names.len());
    Ok(())
}

/// Names, relative to the root, of all files that are in the repository or would be committed.
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

/// Checks the length, the opening words and the purity of Rust files.
fn check_rust(source: &Source, findings: &mut Vec<String>) {
    let name = source.name;
    if !source.opens_with_docs() {
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
    let folder = name.strip_prefix("crates/").unwrap_or_default();
    if PURE_CRATES
        .iter()
        .any(|pure| folder.starts_with(&format!("{pure}/src/")))
    {
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

/// Checks that no file names this machine, or an address to load something from.
fn check_addresses(name: &str, text: &str, findings: &mut Vec<String>) {
    // This file contains the forbidden words.
    if name == "xtask/src/tidy.rs" {
        return;
    }
    let home = std::env::var("HOME").unwrap_or_default();
    let around = root().parent().unwrap_or(root()).to_string_lossy();
    // Root's home is the same on all machines, and occurs in recorded stacks.
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

/// The crate `name` and all crates that it may use, directly or not.
pub(crate) fn with_crates_below(name: &'static str) -> Vec<&'static str> {
    let mut names = vec![name];
    let mut done = 0;
    while let Some(name) = names.get(done) {
        let row = MAY_USE.iter().find(|(crate_name, _)| crate_name == name);
        for below in row.map_or(&[][..], |(_, below)| below) {
            if !names.contains(below) {
                names.push(below);
            }
        }
        done += 1;
    }
    names
}

/// The workspace's packages, as cargo knows them.
fn packages() -> Result<Vec<Value>> {
    let mut metadata = cargo();
    metadata.args(["metadata", "--no-deps", "--format-version", "1", "--quiet"]);
    let metadata = output(&mut metadata).context("cargo metadata failed")?;
    let mut metadata: Value = serde_json::from_str(&metadata)?;
    Ok(serde_json::from_value(metadata["packages"].take())?)
}

/// Checks that dependencies between the project's crates point one way.
fn check_dependencies(packages: &[Value], findings: &mut Vec<String>) {
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = MAY_USE.iter().find(|(crate_name, _)| *crate_name == name) else {
            continue;
        };
        for dependency in items(&package["dependencies"]) {
            let used = dependency["name"].as_str().unwrap_or_default();
            let in_tests =
                dependency["kind"] == "dev" && (used == IN_ALL_TESTS || (name, used) == IN_TESTS);
            if used.starts_with("vramscope") && !allowed.contains(&used) && !in_tests {
                findings.push(format!("{name} depends on {used}, against the direction"));
            }
        }
    }
}

/// Checks that everything has one version, and that what is published asks for the others of the same.
fn check_versions(packages: &[Value], findings: &mut Vec<String>) {
    let version = env!("CARGO_PKG_VERSION");
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        if package["version"] != version {
            findings.push(format!("{name} has another version than xtask, {version}"));
        }
        // A list of registries, which is empty, forbids to publish.
        let is_published = package["publish"].is_null();
        for dependency in items(&package["dependencies"]) {
            let is_ours = dependency["path"].is_string() && dependency["name"] != IN_ALL_TESTS;
            if is_published && is_ours && dependency["req"] != format!("={version}") {
                findings.push(format!(
                    "{name} asks for {} {}, not for ={version} (Cargo.toml)",
                    dependency["name"], dependency["req"]
                ));
            }
        }
    }
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_FILE_LINES, check_components, check_rust, read_all, with_crates_below};

    #[test]
    fn crates_below_are_found_by_way_of_others() {
        assert_eq!(
            with_crates_below("vramscope-inject"),
            ["vramscope-inject", "vramscope-record", "vramscope-core"]
        );
    }

    fn findings(text: String) -> String {
        let files = [("crates/vramscope-core/src/model/mod.rs".to_owned(), text)];
        let mut findings = Vec::new();
        for source in &read_all(&files) {
            check_rust(source, &mut findings);
            check_components(source, &mut findings);
        }
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
