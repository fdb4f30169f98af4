//! The book: its commands print what it says, and its links lead somewhere.
//!
//! A block marked `console` is run: lines that begin with `$ vramscope` run beside the samples of the start page and the
//! recording that the page's viewer shows, and their output is compared with the lines below; a line with only `…` stands for any number of lines. A command that
//! fails is followed by `$ echo $?`. Blocks marked otherwise (`sh`, `json`, `html`, …) are not run here;
//! `tests/python/test_book.py` runs those marked `python`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use vramscope_synth::samples;

use crate::program::{command, fixtures};

/// The book's sources.
fn sources() -> PathBuf {
    fixtures().join("../../book/src")
}

/// The names and texts of all chapters, and of the list of them.
fn pages() -> BTreeMap<String, String> {
    let entries = fs::read_dir(sources())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    files
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect()
}

/// A piece of a page.
enum Piece<'a> {
    /// A line outside of blocks.
    Line(&'a str),
    /// A block: its mark, and its lines with the number of the first.
    Block(&'a str, usize, Vec<&'a str>),
}

/// The pieces of a page. A block ends with as many backticks as it began with.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((_, line)) = lines.next() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        if ticks < 3 {
            pieces.push(Piece::Line(line));
            continue;
        }
        let (fence, mark) = line.split_at(ticks);
        let mut first = 0;
        let mut inside = Vec::new();
        for (number, line) in lines.by_ref().take_while(|(_, line)| *line != fence) {
            if inside.is_empty() {
                first = number + 1;
            }
            inside.push(line);
        }
        pieces.push(Piece::Block(mark, first, inside));
    }
    pieces
}

/// Writes the samples of the start page into a folder, under their names there.
fn write_samples(folder: &Path) {
    samples::write_all(folder).unwrap();
    fs::copy(fixtures().join("text/train.log"), folder.join("train.log")).unwrap();
}

/// The words of a command line; quoted ones may hold spaces.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|first| "'\"".contains(*first));
        let (word, after) = match quote {
            Some(quote) => rest[1..].split_once(quote).unwrap(),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

/// Whether the output is as expected, where `…` stands for any lines.
fn agree(expected: &[&str], printed: &[&str]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((line, rest)) if line.trim() == "…" => {
            (0..=printed.len()).any(|left_out| agree(rest, &printed[left_out..]))
        }
        Some((line, rest)) => printed.split_first().is_some_and(|(first, others)| {
            line.trim_end() == first.trim_end() && agree(rest, others)
        }),
    }
}

/// Runs the commands of a block, and adds differences in their output to `findings`.
fn run(place: &str, lines: &[&str], folder: &Path, findings: &mut Vec<String>) {
    let mut code = 0;
    for step in lines.chunk_by(|_, next| !next.starts_with("$ ")) {
        let line = step[0].strip_prefix("$ ").unwrap_or_default();
        let printed = match (line, line.strip_prefix("vramscope ")) {
            ("echo $?", _) => std::mem::take(&mut code).to_string(),
            (_, Some(_)) if code != 0 => {
                findings.push(format!("{place}: {code} is not told by `$ echo $?`"));
                return;
            }
            (_, Some(arguments)) => {
                let arguments = words(arguments);
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let mut program = command(&arguments);
                program.current_dir(folder).stdin(Stdio::null());
                let output = program.output().unwrap();
                code = output.status.code().unwrap();
                String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
            }
            _ => {
                findings.push(format!("{place}: only vramscope is run: {}", step[0]));
                return;
            }
        };
        let lines: Vec<&str> = printed.lines().collect();
        if !agree(&step[1..], &lines) {
            findings.push(format!("{place}: {} prints\n{printed}", step[0]));
        }
    }
    if code != 0 {
        findings.push(format!("{place}: {code} is not told by `$ echo $?`"));
    }
}

#[test]
fn commands_print_what_the_book_says() {
    let folder = tempfile::tempdir().unwrap();
    write_samples(folder.path());
    let mut findings = Vec::new();
    let mut blocks = 0;
    for (name, text) in pages() {
        // What is in the site's gallery is a fixture of the same path.
        let shown = targets(&text).into_iter().map(Path::new);
        for file in shown.filter_map(|target| target.strip_prefix("../gallery").ok()) {
            let copy = folder.path().join(file.file_name().unwrap());
            fs::copy(fixtures().join(file), copy).unwrap();
        }
        for piece in pieces(&text) {
            if let Piece::Block("console", line, lines) = piece {
                blocks += 1;
                let place = format!("{name}:{line}");
                run(&place, &lines, folder.path(), &mut findings);
            }
        }
    }
    assert!(findings.is_empty(), "{}", findings.join("\n\n"));
    assert!(blocks > 10, "{blocks}");
}

#[test]
fn every_block_is_marked() {
    for (name, text) in pages() {
        for piece in pieces(&text) {
            let Piece::Block(mark, line, _) = piece else {
                continue;
            };
            let known = [
                "console",
                "python",
                "python,norun",
                "sh",
                "sql",
                "text",
                "json",
                "yaml",
                "html",
                "css",
                "js",
                "rust",
                "cpp",
                "toml",
                "markdown",
                "rst",
                "jsx",
            ];
            assert!(known.contains(&mark), "{name}:{line} is marked \"{mark}\"");
        }
    }
}

/// A page's text without blocks and code, and with the texts it includes.
fn prose(text: &str) -> String {
    let mut prose = String::new();
    for piece in pieces(text) {
        let Piece::Line(line) = piece else { continue };
        let included = line.strip_prefix("{{#include ");
        if let Some(path) = included.and_then(|rest| rest.strip_suffix("}}")) {
            let text = fs::read_to_string(sources().join(path));
            prose += &self::prose(&text.unwrap_or_else(|error| panic!("{path}: {error}")));
            continue;
        }
        let outside_code = line.split('`').step_by(2);
        // In headings code counts: it is in their address.
        let line = match line.starts_with('#') {
            true => line.replace('`', ""),
            false => outside_code.collect::<Vec<_>>().join("code"),
        };
        prose += &line;
        prose.push('\n');
    }
    prose
}

/// The targets that a page links to, loads or shows.
fn targets(prose: &str) -> Vec<&str> {
    let starts = [
        ("](", ')'),
        ("href=\"", '"'),
        ("src=\"", '"'),
        ("poster=\"", '"'),
        ("poster-dark=\"", '"'),
    ];
    let mut targets = Vec::new();
    for (start, end) in starts {
        let found = prose.split(start).skip(1);
        targets.extend(found.filter_map(|rest| Some(rest.split_once(end)?.0)));
    }
    targets
}

/// The anchor that mdBook gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|char| match char {
        char if char.is_alphanumeric() || "_-".contains(char) => Some(char.to_ascii_lowercase()),
        char if char.is_whitespace() => Some('-'),
        _ => None,
    });
    kept.collect()
}

/// Whether an address above the book leads to the page, with files of the site to open, or to such a file.
fn leads_to_file(in_site: &str, samples: &Path) -> bool {
    let opened = in_site.trim_start_matches('?').split('&');
    let mut opened = opened.map(|file| file.trim_start_matches("src="));
    in_site.is_empty()
        || opened.all(|file| match file.split_once('/') {
            Some(("samples", sample)) => samples.join(sample).is_file(),
            Some(("gallery", recording)) => fixtures().join(recording).is_file(),
            _ => false,
        })
}

#[test]
fn links_lead_somewhere() {
    let samples = tempfile::tempdir().unwrap();
    write_samples(samples.path());
    let proses: BTreeMap<_, _> = pages()
        .into_iter()
        .map(|(name, text)| (name, prose(&text)))
        .collect();
    let anchors = |page: &str| -> BTreeSet<String> {
        let headings = proses[page].lines().filter(|line| line.starts_with('#'));
        headings
            .map(|line| anchor(line.trim_start_matches('#')))
            .collect()
    };
    for (name, prose) in &proses {
        for target in targets(prose) {
            if target.contains("://") {
                assert!(target.starts_with("https://"), "{name}: {target}");
                continue;
            }
            let (path, place) = target.split_once('#').unwrap_or((target, ""));
            let leads = match (path.strip_prefix("../"), path) {
                (Some(in_site), _) => leads_to_file(in_site, samples.path()),
                (None, "") => anchors(name).contains(place),
                (None, page) if proses.contains_key(page) => {
                    place.is_empty() || anchors(page).contains(place)
                }
                (None, file) => sources().join(file).is_file(),
            };
            assert!(leads, "{name}: {target} leads nowhere");
        }
    }
}

#[test]
fn every_chapter_is_in_the_list() {
    let pages = pages();
    let listed: BTreeSet<_> = targets(&pages["SUMMARY.md"]).into_iter().collect();
    for name in pages.keys().filter(|name| *name != "SUMMARY.md") {
        assert!(
            listed.contains(name.as_str()),
            "{name} is not in SUMMARY.md"
        );
    }
}

#[test]
fn the_readmes_commands_are_commands() {
    let readme = fs::read_to_string(fixtures().join("../../README.md")).unwrap();
    let mut seen = 0;
    for piece in pieces(&readme) {
        let Piece::Block("sh", first, lines) = piece else {
            continue;
        };
        for (line, number) in lines.iter().zip(first..) {
            let line = line.split(" #").next().unwrap_or(line);
            let Some(words) = line.strip_prefix("vramscope ") else {
                continue;
            };
            // Help is printed only if everything before it is understood. After `--` come another program's arguments.
            let ours = words.split(" -- ").next().unwrap_or(words);
            let told = command(&[])
                .args(ours.split_whitespace())
                .arg("--help")
                .output()
                .unwrap();
            let error = String::from_utf8_lossy(&told.stderr);
            assert!(told.status.success(), "README.md:{number}: {error}");
            seen += 1;
        }
    }
    assert!(seen > 2, "{seen} commands");
}
