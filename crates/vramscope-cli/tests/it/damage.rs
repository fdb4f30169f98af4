//! Damaged files: every command reports it on standard error, `check` fails, and files written from them report it
//! again.

use std::fs;
use std::io::{Read, Write};

use insta::assert_snapshot;
use serde_json::Value;

use crate::html::HAS_PAGE;
use crate::program::{fixtures, transcript, vramscope, vramscope_reading};

const CHECK_SUM: &str = "1 x the check sum does not match";
const SIZE: &str = "1 x a size is negative, beyond 2^48 bytes or too large for its place; no sum contains it (e.g. device_traces[0][1])";

/// A file of two allocations, one of them of -5 bytes, whose check sum is wrong.
pub(crate) fn damaged() -> Vec<u8> {
    let text = r#"{"segments": [{"device": 0, "address": 512, "total_size": 512, "blocks": [
            {"address": 512, "size": 512, "requested_size": 500, "state": "active_allocated"}]}],
        "device_traces": [[
            {"action": "alloc", "addr": 512, "size": 500, "stream": 0, "time_us": 1, "frames": [
                {"name": "f", "filename": "a.py", "line": 3}]},
            {"action": "alloc", "addr": 2048, "size": -5, "stream": 0, "time_us": 2},
            {"action": "free_completed", "addr": 2048, "size": 5, "stream": 0, "time_us": 3}]]}"#;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let mut file = gzip.finish().unwrap();
    let check_sum = file.len() - 8;
    file[check_sum] ^= 1;
    file
}

fn folder_with(name: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    fs::write(&file, damaged()).unwrap();
    let path = file.to_str().unwrap().to_owned();
    (folder, path)
}

fn stderr(arguments: &[&str]) -> String {
    String::from_utf8(vramscope(arguments).stderr).unwrap()
}

#[track_caller]
fn assert_said(arguments: &[&str], files: usize) {
    let said = stderr(arguments);
    for words in [CHECK_SUM, SIZE] {
        assert_eq!(said.matches(words).count(), files, "{arguments:?}: {said}");
    }
}

#[test]
fn every_command_says_it_once_for_each_file() {
    let (folder, file) = folder_with("damaged.json.gz");
    let file = file.as_str();
    for command in [
        "info",
        "explain",
        "peak",
        "oom",
        "fragmentation",
        "leaks",
        "plan",
        "what-if",
        "top",
        "annotations",
        "stats",
        "trace",
        "segments",
        "memory",
    ] {
        assert_said(&[command, file], 1);
    }
    assert_said(&["at", "peak", file], 1);
    assert_said(&["range", "0..2", file], 1);
    assert_said(&["find", "", file], 1);
    assert_said(&["stats", file, "--format", "torch"], 1);
    assert_said(&["diff", file, "--at", "start", "--to", "end"], 1);
    let whole = "torch-2.15.0/training.pickle";
    assert_said(&["diff", file, whole], 1);
    assert_said(&["compare", whole, file], 1);
    let to = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let copy = to("copy.json.gz");
    fs::copy(file, &copy).unwrap();
    assert_said(&["info", file, whole, &copy], 2);
    assert_said(&["plot", file, "-o", &to("a.svg")], 1);
    assert_said(&["convert", file, "-o", &to("a.pickle")], 1);
    assert_said(&["cut", file, "--range", "0..1", "-o", &to("b.pickle")], 1);
    assert_said(&["anonymise", file, "-o", &to("c.pickle")], 1);
    assert_eq!(stderr(&["info", whole]), "");
}

#[test]
fn a_check_fails_unless_damage_is_allowed() {
    let run = |arguments: &[&str]| {
        let arguments = [&["check", "-", "--no-oom"], arguments].concat();
        vramscope_reading(&arguments, &damaged())
    };
    assert_snapshot!(transcript(&run(&[])));
    assert_snapshot!(transcript(&run(&["--allow-damage"])));
    let json = run(&["--json"]);
    assert_eq!(json.status.code(), Some(3));
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    let part = &json["parts"][0];
    assert_eq!(part["budgets"][0]["budget"], "no damage");
    assert_eq!(part["damage"][0]["kind"], "check_sum_wrong");
    assert_eq!(part["damage"][1]["places"][0], "device_traces[0][1]");
    // Genuine remarks, such as keys of a newer torch, are not damage.
    let tolerated = r#"{"segments": [], "news": 1, "device_traces": [[
        {"action": "alloc", "addr": 1, "size": 1, "stream": 0, "new": 1},
        {"action": "alloc", "addr": 8, "size": 1, "stream": 0}]]}"#;
    let output = vramscope_reading(&["check", "-", "--no-oom"], tolerated.as_bytes());
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn what_is_written_says_it_again() {
    let (folder, file) = folder_with("damaged.json.gz");
    let written = |name: &str, arguments: &[&str]| {
        let path = folder.path().join(name).to_str().unwrap().to_owned();
        let [command, options @ ..] = arguments else {
            panic!("no command");
        };
        let output = vramscope(&[&[*command, &file, "-o", &path], options].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        path
    };
    let again = [
        written("a.pickle", &["convert"]),
        written("a.json", &["convert"]),
        written("a.vram", &["convert"]),
    ];
    for path in again {
        assert_said(&["info", &path], 1);
        let checked = vramscope(&["check", &path, "--no-oom"]);
        assert_eq!(checked.status.code(), Some(3));
    }
    let changed = [
        written("cut.pickle", &["cut", "--range", "0..1"]),
        written("nameless.pickle", &["anonymise"]),
    ];
    for path in changed {
        let said = stderr(&["info", &path]);
        assert!(said.contains(CHECK_SUM), "{said}");
        assert!(said.contains("1 x a size is negative"), "{said}");
    }

    let json = |path: &str| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    let perfetto = json(&written("a.perfetto.json", &["convert"]));
    assert_eq!(perfetto["otherData"]["damage"][1], SIZE);
    let speedscope = json(&written("a.speedscope.json", &["convert"]));
    let name = speedscope["name"].as_str().unwrap();
    assert!(name.contains(&format!("(damaged: {CHECK_SUM}")), "{name}");
    let parquet = fs::read(written("allocations.parquet", &["convert"])).unwrap();
    assert!(String::from_utf8_lossy(&parquet).contains(SIZE));
    let pprof = fs::read(written("a.pb.gz", &["convert"])).unwrap();
    let mut profile = Vec::new();
    flate2::read::GzDecoder::new(&pprof[..])
        .read_to_end(&mut profile)
        .unwrap();
    assert!(String::from_utf8_lossy(&profile).contains(&format!("damaged: {SIZE}")));
}

/// These were only remarks of `info` until they turned out to hide anything.
#[test]
fn missing_and_doubled_values_are_damage() {
    let event = r#""action": "alloc", "addr": 1, "size": 8, "stream": 0, "user_metadata": "x""#;
    for (event, words) in [
        (
            event.replace(r#", "size": 8"#, ""),
            "an address, a size or an action is missing",
        ),
        (
            event.replace(r#""action": "alloc", "#, ""),
            "an address, a size or an action is missing",
        ),
        (
            event.replace(r#""size": 8"#, r#""size": 8, "size": 9"#),
            "of a repeated key",
        ),
        (event.replace('x', r"\ud800"), "text is not valid Unicode"),
    ] {
        let text = format!(
            r#"{{"segments": [], "device_traces": [[{{{event}}}, {{"action": "alloc", "addr": 512, "size": 8, "stream": 0}}]]}}"#
        );
        for (arguments, code) in [
            (&["check", "-", "--no-oom"][..], 3),
            (&["check", "-", "--no-oom", "--allow-damage"], 0),
            (&["stats", "-"], 0),
        ] {
            let output = vramscope_reading(arguments, text.as_bytes());
            assert_eq!(output.status.code(), Some(code), "{text}");
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(said.contains(words), "{said}");
        }
    }
}

#[test]
fn a_page_says_it_again() {
    if !HAS_PAGE {
        return;
    }
    let (folder, file) = folder_with("damaged.json.gz");
    let page = folder.path().join("page.html").to_str().unwrap().to_owned();
    assert_said(&["html", &file, "-o", &page], 1);
    assert_said(&["info", &page], 1);
}

/// A genuine file is never reported as damaged.
#[test]
fn genuine_files_are_silent() {
    for file in [
        "torch-2.15.0/training.pickle",
        "containers/stored.zip",
        "legacy/torch_1_4.pickle",
    ] {
        assert!(fixtures().join(file).exists());
        assert_eq!(stderr(&["stats", file]), "", "{file}");
    }
}

/// Local headers and the directory of an archive both have check sums.
#[test]
fn another_check_sum_in_the_directory_is_damage() {
    let mut archive = fs::read(fixtures().join("containers/stored.zip")).unwrap();
    let entry = archive.windows(4).position(|head| head == b"PK\x01\x02");
    archive[entry.unwrap() + 16] ^= 1;
    for (arguments, code) in [(&["check", "-", "--no-oom"][..], 3), (&["stats", "-"], 0)] {
        let output = vramscope_reading(arguments, &archive);
        assert_eq!(output.status.code(), Some(code));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.contains("what follows it in its container is damaged"),
            "{said}"
        );
    }
}

/// A CI system takes such a line for a command.
const COMMAND: &str = "::error title=pwned::all fine";

#[test]
fn no_text_of_a_file_begins_a_line_of_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("a.json");
    let frames = format!(
        r###"[{{"name": "{COMMAND}", "filename": "{COMMAND}", "line": 1}}, {{"name": "##[error]b", "filename": "##vso[a]", "line": 1}}]"###
    );
    let more = format!(r#""stream": 0, "user_metadata": "{COMMAND}", "frames": {frames}"#);
    let text = format!(
        r#"{{"segments": [{{"device": 0, "address": 512, "total_size": 512, "stream": 0, "segment_type": "{COMMAND}", "frames": {frames},
            "blocks": [{{"address": 512, "size": 512, "requested_size": 500, "state": "active_allocated", "frames": {frames}}}]}}],
        "device_traces": [[{{"action": "{COMMAND}", "addr": 512, "size": 500, {more}}},
            {{"action": "alloc", "addr": 512, "size": 500, {more}}}, {{"action": "oom", "device_free": 5, "size": 500, {more}}}]],
        "external_annotations": [{{"stage": "START", "name": "{COMMAND}", "device": 0, "time_us": 1}}],
        "allocator_settings": {{"{COMMAND}": "{COMMAND}"}}, "{COMMAND}": 1}}"#
    );
    fs::write(&name, text).unwrap();
    let path = name.to_str().unwrap();
    for command in [
        "info",
        "peak",
        "oom",
        "fragmentation",
        "leaks",
        "plan",
        "what-if",
        "top",
        "annotations",
        "stats",
        "trace",
        "at peak",
        "at 0",
        "range 0..3",
        "find",
        "find --stack",
        "peak --group-by module",
        "peak --group-by call-site",
        "peak --group-by stack",
        "top --stack",
        "leaks --stack",
        "diff",
        "compare",
    ] {
        let mut arguments: Vec<_> = command.split(' ').collect();
        if matches!(command, "find" | "find --stack") {
            arguments.push("");
        }
        arguments.push(path);
        if matches!(command, "diff" | "compare") {
            arguments.push(path);
        }
        let said = transcript(&vramscope(&arguments));
        let is_command = |line: &str| {
            line.trim_start().starts_with("::") || line.contains("##[") || line.contains("##vso[")
        };
        assert!(!said.lines().any(is_command), "{said}");
    }
}

#[test]
fn no_text_of_a_file_begins_a_line_of_what_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let nested = "[".repeat(40) + &"]".repeat(40);
    let key = format!(r"x\n{COMMAND}\n");
    let trace = r#"{"action": "alloc", "addr": 512, "size": 500, "stream": 0}"#;
    let sound = format!(r#"{{"segments": [], "device_traces": [[{trace}]], "{key}": {nested}}}"#);
    let broken = format!(r#"{{"segments": [], "device_traces": [[]], "{key}": {{"{key}": tru"#);
    let graph = format!(r#"{{"kind": "{key}"}}"#);
    let name = folder.path().join(format!("a\n{COMMAND}\nb.json"));
    let path = name.to_str().unwrap();
    for text in [&sound, &broken, &graph] {
        fs::write(&name, text).unwrap();
        for arguments in [
            &["info", path][..],
            &["check", path, "--max-peak", "1"],
            &["range", "nothing", path],
            &["peak", path, "--csv"],
            &["peak", path, "--device", "7"],
            &["inductor", path],
            &["trace", path, path],
            &["diff", path, path],
            &["pack", path],
            &["convert", path, "-o", path],
        ] {
            let mut output = vramscope(arguments);
            if arguments.contains(&"--csv") {
                output.stdout.clear();
            }
            let said = transcript(&output);
            let mut lines = said.lines().map(str::trim_start);
            assert!(!lines.any(|line| line.starts_with("::")), "{said}");
        }
    }
    let missing = format!("no\n{COMMAND}\n/such.pickle");
    let said = stderr(&["info", &missing]);
    assert!(said.contains("There is no folder"), "{said}");
    assert!(!said.contains("\n::"), "{said}");
}
