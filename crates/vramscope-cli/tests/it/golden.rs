//! The output of torch's own `_memory_viz.py`, on every real file for which there is one.
//!
//! `stats` and the folded lines are equal to the byte. So is every line of `trace`, except:
//! - events that torch prints as a whole dict (segment_map, segment_unmap, snapshot);
//! - where an allocation lies: torch looks only within the first `allocated_size` bytes of a segment of the final
//!   state, and prints `MEM[address:…]` for all others. It starts with the oldest segment it has seen, even if that is
//!   gone or overlapped by newer ones (in a made-up file only);
//! - the last line: torch's total is a meaningless number;
//! - our comments at the beginning.

use std::collections::HashMap;
use std::path::PathBuf;

use vramscope_core::{Snapshot, decode};

use crate::program::{fixtures, vramscope};

/// The real files with the prefix of their golden files' paths. Empty, with a message, if there are none.
#[expect(
    clippy::print_stdout,
    reason = "whoever runs the tests should know what was left out"
)]
fn real_files() -> Vec<(String, String)> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("VRAMSCOPE_SHARED").map_or(beside, PathBuf::from);
    let mut files = Vec::new();
    for folder in ["real", "reference/generated"] {
        let entries = std::fs::read_dir(shared.join(folder));
        for path in entries
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().path())
        {
            let name = path.file_name().unwrap().to_str().unwrap();
            let golden = shared.join("reference/golden").join(name);
            if std::fs::exists(format!("{}.stats.txt", golden.display())).unwrap() {
                let text = |path: PathBuf| path.into_os_string().into_string().unwrap();
                files.push((text(path), text(golden)));
            }
        }
    }
    if files.is_empty() {
        println!("skipped: no real files (VRAMSCOPE_SHARED)");
    }
    files
}

fn golden(start: &str, end: &str) -> String {
    std::fs::read_to_string(format!("{start}.{end}")).unwrap()
}

/// The output of a run. Not compared by `assert_eq`, which would print megabytes.
fn printed(arguments: &[&str]) -> String {
    let output = vramscope(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn stats_are_torchs() {
    for (file, start) in real_files() {
        let golden = golden(&start, "stats.txt");
        let arguments = ["stats", "--format", "torch", &file];
        match golden.strip_prefix("EXCEPTION AssertionError('") {
            None => assert_eq!(printed(&arguments), golden, "{file}"),
            Some(exception) => {
                let output = vramscope(&arguments);
                assert_eq!(output.status.code(), Some(1));
                let said = String::from_utf8(output.stderr).unwrap();
                let reason = exception.trim_end().trim_end_matches("')");
                assert!(said.contains(reason), "{file}: {said}");
            }
        }
    }
}

#[test]
fn stats_of_a_profile_are_torchs() {
    let file = "torch-2.15.0/profile_to_snapshot";
    let golden = std::fs::read_to_string(fixtures().join(format!("{file}.stats.txt"))).unwrap();
    let found = printed(&["stats", "--format", "torch", &format!("{file}.pickle")]);
    // This one was taken from torch's standard output, where `print` adds an empty line.
    assert_eq!(found, golden.strip_suffix('\n').unwrap());
}

#[test]
fn folded_lines_are_torchs() {
    for (file, start) in real_files() {
        for command in ["segments", "memory"] {
            let found = printed(&[command, "--folded", "--format", "torch", &file]);
            let golden = golden(&start, &format!("{command}.folded"));
            assert!(found == golden, "{file}: {command}");
        }
    }
}

#[test]
fn mended_lines_are_never_negative_and_add_up() {
    for (file, _) in real_files() {
        let snapshot = decode(&std::fs::read(&file).unwrap()[..]).unwrap();
        let reserved: u64 = snapshot.segments.rows.iter().map(|of| of.total_size).sum();
        for command in ["segments", "memory"] {
            let found = printed(&[command, "--folded", &file]);
            let weight = |line: &str| -> u64 { line.rsplit_once(' ').unwrap().1.parse().unwrap() };
            assert_eq!(found.lines().map(weight).sum::<u64>(), reserved, "{file}");
        }
    }
}

/// `a = MEM[address:size]`, `a = seg_3[offset:size]` or `a = b[offset:size]`.
struct Alloc<'a> {
    name: &'a str,
    holder: &'a str,
    offset: u64,
    size: &'a str,
}

impl<'a> Alloc<'a> {
    fn of(line: &'a str) -> Self {
        let (name, place) = line.split_once(" = ").unwrap();
        let (holder, rest) = place.split_once('[').unwrap();
        let (offset, size) = rest.split_once(':').unwrap();
        let offset = offset.parse().unwrap();
        Self {
            name,
            holder,
            offset,
            size,
        }
    }

    fn address(&self, snapshot: &Snapshot, mallocs: &HashMap<&str, u64>) -> u64 {
        let start = match (self.holder, self.holder.strip_prefix("seg_")) {
            ("MEM", _) => 0,
            (_, Some(row)) => snapshot.segments.rows[row.parse::<usize>().unwrap()].address,
            (name, None) => mallocs[name],
        };
        start + self.offset
    }
}

#[test]
fn traces_are_torchs_but_for_what_is_wrong_there() {
    for (file, start) in real_files() {
        let golden = golden(&start, "trace.txt");
        // No `allocated_size`: the file of a profiler, on which torch's own script fails.
        if golden.starts_with("EXCEPTION") {
            continue;
        }
        let snapshot = decode(&std::fs::read(&file).unwrap()[..]).unwrap();
        let found = printed(&["trace", &file]);
        let is_ours =
            |line: &&str| !line.starts_with("# live before") && !line.starts_with("# No events");
        let mut ours = found.lines().filter(is_ours);
        let mut mallocs = HashMap::new();
        for theirs in golden.lines() {
            let line = ours.next().unwrap();
            if theirs.starts_with("TOTAL MEM: ") {
                assert!(line.starts_with("LIVE MEM: "), "{file}: {line}");
            } else if theirs.starts_with("{'action'") {
                let readable = ["cuMemMap(", "cuMemUnmap(", "# snapshot taken, "];
                assert!(
                    readable.iter().any(|start| line.starts_with(start)),
                    "{file}: {line}"
                );
            } else if line != theirs {
                let (ours, theirs) = (Alloc::of(line), Alloc::of(theirs));
                let addresses = [&ours, &theirs].map(|alloc| alloc.address(&snapshot, &mallocs));
                assert_eq!(addresses[0], addresses[1], "{file}: {line}");
                assert_eq!(
                    (ours.name, ours.size),
                    (theirs.name, theirs.size),
                    "{file}: {line}"
                );
                if theirs.holder == "MEM" {
                    let row: usize = ours.holder.strip_prefix("seg_").unwrap().parse().unwrap();
                    let allocated = snapshot.segments.rows[row].allocated_size.unwrap();
                    assert!(ours.offset >= allocated, "{file}: {line}");
                } else {
                    // An older segment; torch never forgets one.
                    assert!(mallocs.contains_key(theirs.holder), "{file}: {line}");
                }
            } else if let Some((name, call)) = line.split_once(" = cudaMalloc(") {
                mallocs.insert(name, call.split_once(',').unwrap().0.parse().unwrap());
            }
        }
        assert_eq!(ours.next(), None, "{file}");
    }
}
