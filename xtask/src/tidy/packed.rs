//! Checks that the package of a published crate has the files that its sources take in. `cargo xtask publish` would tell,
//! a quarter of an hour later.

use std::collections::HashSet;

use serde_json::Value;

use super::source::Source;
use crate::process::{cargo, output};

/// Adds a finding for each file that a published crate would lack.
pub(super) fn check(sources: &[Source], packages: &[Value], findings: &mut Vec<String>) {
    for package in packages
        .iter()
        .filter(|package| package["publish"].is_null())
    {
        let name = package["name"].as_str().unwrap_or_default();
        let taken = taken_by(name, sources);
        if taken.is_empty() {
            continue;
        }
        let mut list = cargo();
        list.args(["package", "--list", "--allow-dirty", "--offline", "--quiet"]);
        match output(list.args(["--package", name])) {
            Some(packed) => missing(name, &taken, &packed, findings),
            None => findings.push(format!(
                "{name} cannot be packaged: cargo package --list fails"
            )),
        }
    }
}

fn missing(name: &str, taken: &[String], packed: &str, findings: &mut Vec<String>) {
    let folder = format!("crates/{name}/");
    let packed: HashSet<_> = packed.lines().collect();
    for file in taken {
        if !file
            .strip_prefix(&folder)
            .is_some_and(|file| packed.contains(file))
        {
            findings.push(format!(
                "{name} takes in {file}, which its package lacks (include in Cargo.toml)"
            ));
        }
    }
}

/// The files that a crate's sources take in, relative to the repository's root.
fn taken_by(name: &str, sources: &[Source]) -> Vec<String> {
    let folder = format!("crates/{name}/src/");
    let of_crate = sources
        .iter()
        .filter(|source| !source.is_test && source.name.starts_with(&folder));
    of_crate.flat_map(taken).collect()
}

fn taken(source: &Source) -> Vec<String> {
    let lines: Vec<_> = source.lines.iter().map(|(_, line)| *line).collect();
    let text = lines.join("\n").replace("include_bytes!", "include_str!");
    let rests = text.split("include_str!(").skip(1);
    // What the build wrote is no text here.
    let paths = rests.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
    paths.map(|path| beside(source.name, path)).collect()
}

/// The path of a file that is named in another one, relative to that one.
fn beside(source: &str, path: &str) -> String {
    let mut parts: Vec<_> = source.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::super::source::read_all;
    use super::{missing, taken_by};

    #[test]
    fn a_file_that_a_package_lacks_is_found() {
        let text = "//! Doc.\n\nconst A: &str = include_str!(\"../a.md\");\nconst B: &[u8] = include_bytes!(\n    \
                    \"b/c.bin\"\n);\nconst D: &[u8] = include_bytes!(concat!(env!(\"OUT_DIR\"), \"/d\"));\n\n\
                    #[cfg(test)]\nmod tests {\n    const E: &str = include_str!(\"../../e.md\");\n}\n";
        let files = [("crates/a/src/lib.rs".to_owned(), text.to_owned())];
        let mut findings = Vec::new();
        let taken = taken_by("a", &read_all(&files));
        assert_eq!(taken, ["crates/a/a.md", "crates/a/src/b/c.bin"]);
        missing(
            "a",
            &taken,
            "Cargo.toml\nsrc/b/c.bin\nsrc/lib.rs",
            &mut findings,
        );
        assert_eq!(
            findings,
            ["a takes in crates/a/a.md, which its package lacks (include in Cargo.toml)"]
        );
    }
}
