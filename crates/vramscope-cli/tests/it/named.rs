//! Files named by other files and by agents: which are opened, and how often they count.

use std::fs;
use std::path::Path;

use serde_json::Value;
use vramscope_core::fleet::{Detail, Fleet, Place, Source, encode};

use crate::fleet_pack::{Job, figures};
use crate::program::{command, fixtures, transcript, vramscope, vramscope_reading};

/// An overview with one rank, whose snapshot has this path.
fn overview(named: &str) -> Vec<u8> {
    let bytes = fs::read(fixtures().join("torch-2.15.0/training.pickle")).unwrap();
    let snapshot = vramscope_core::decode(bytes.as_slice()).unwrap();
    let recording = vramscope_core::analysis::recording::Recording::of(snapshot);
    let source = Source {
        path: named.to_owned(),
        ..Source::default()
    };
    let devices = recording.devices();
    encode(&Fleet::of(&Place::default(), &source, devices, Detail::All))
}

/// `brief` opens only files in the folder of an overview, whatever the overview names.
#[test]
fn an_overview_sends_brief_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "hidden words").unwrap();
    let place = folder.path().join("from elsewhere");
    fs::create_dir(&place).unwrap();
    let file = place.join("evil.vset");
    for named in [
        "/dev/stdin",
        "-",
        "../secret",
        secret.to_str().unwrap(),
        "/etc/hostname",
    ] {
        fs::write(&file, overview(named)).unwrap();
        let output = vramscope_reading(&["brief", file.to_str().unwrap()], b"hi there");
        let text = transcript(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("No other file is opened"), "{text}");
        assert!(!text.contains("begins with"), "{text}");
    }
    fs::copy(
        fixtures().join("torch-2.15.0/training.pickle"),
        place.join("rank0.pickle"),
    )
    .unwrap();
    fs::write(&file, overview("rank0.pickle")).unwrap();
    let output = vramscope(&["brief", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", transcript(&output));
}

/// Two names that look alike because they are not UTF-8.
#[cfg(target_os = "linux")]
#[test]
fn no_snapshot_is_dropped_without_a_word() {
    use std::os::unix::ffi::OsStrExt as _;

    let job = Job::new(1, 100);
    let first = job.runs().join(job.fleet.name(0));
    for name in [b"a\xff.pickle", b"a\xfe.pickle"] {
        let name = std::ffi::OsStr::from_bytes(name);
        fs::copy(&first, job.runs().join(name)).unwrap();
    }
    let output = job.command(&[]).output().unwrap();
    let text = transcript(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert_eq!(text.matches("this one is not UTF-8").count(), 2, "{text}");
    assert_eq!(figures(&output).1["packed"], 1);
}

#[test]
fn the_same_file_counts_once() {
    let job = Job::new(2, 200);
    let first = job.runs().join(job.fleet.name(0));
    let mut named = vec![first.clone(), first.clone(), job.runs()];
    #[cfg(unix)]
    {
        let link = job.folder.path().join("rank7.pickle");
        std::os::unix::fs::symlink(&first, &link).unwrap();
        named.push(link);
    }
    let ask = |words: &[&str]| -> Value {
        let output = command(words).args(&named).output().unwrap();
        assert!(
            output.status.code().unwrap() != 2,
            "{}",
            transcript(&output)
        );
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(told.contains("counts once"), cfg!(unix), "{told}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let peaks = ask(&["fleet", "peaks", "--json"]);
    assert_eq!(peaks["parts"][0]["rank_count"], 2, "{peaks}");
    let checked = ask(&["check", "--max-peak", "1TiB", "--json"]);
    let budgets = checked["parts"].as_array().unwrap().iter();
    let budgets = budgets.filter(|part| part["budgets"].is_array());
    assert_eq!(budgets.count(), 2, "{checked}");
}

/// A file that never ends, or would block for ever, is not an overview.
#[cfg(unix)]
#[test]
fn an_overview_is_a_file_of_a_bounded_length() {
    let folder = tempfile::tempdir().unwrap();
    let device = folder.path().join("z.vset");
    std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
    let pipe = folder.path().join("p.vset");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let sparse = folder.path().join("s.vset");
    fs::write(&sparse, b"\x93vset\r\n\n").unwrap();
    let file = fs::File::options().write(true).open(&sparse).unwrap();
    file.set_len(40 << 30).unwrap();
    for file in [&device, &pipe, &sparse] {
        for words in [&["brief"][..], &["fleet", "peaks"], &["view", "--no-open"]] {
            // The page serves a file as it is.
            if words[0] == "view" && file == &sparse {
                continue;
            }
            let output = command(words).arg(file).output().unwrap();
            let text = transcript(&output);
            assert!(matches!(output.status.code(), Some(1 | 2)), "{text}");
        }
    }
}

#[test]
fn wrong_words_get_the_right_ones() {
    let said = |words: &[&str]| transcript(&vramscope(words));
    let colour = said(&["info", "--color", "always", "torch-2.15.0/training.pickle"]);
    assert!(colour.contains("NO_COLOR=1"), "{colour}");
    assert!(!colour.contains("as a value"), "{colour}");
    let folder = said(&["convert", "torch-2.15.0/training.pickle", "-o", "tables/"]);
    assert!(
        folder.contains("a folder's name does not imply a format"),
        "{folder}"
    );
    let packed = tempfile::tempdir().unwrap();
    let path = packed.path().join("a.pickle.xz");
    fs::write(&path, b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46").unwrap();
    let text = said(&["info", path.to_str().unwrap()]);
    assert!(
        text.contains("compressed with xz") && text.contains("unxz"),
        "{text}"
    );
    assert!(!Path::new("tables").exists());
}

/// A full disk is reported for the dataset, not for standard output.
#[cfg(unix)]
#[test]
fn what_cannot_be_written_is_told_of_the_dataset() {
    let job = Job::new(1, 20_000);
    let mut limited = std::process::Command::new("sh");
    let program = command(&[]).get_program().to_owned();
    // Like a full disk, it happens in the middle of a table.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 40; exec \"$@\"", "sh"]);
    limited.arg(program).args(["fleet", "pack"]);
    limited.arg(job.runs()).arg("-o").arg(job.dataset());
    let output = limited.output().unwrap();
    let text = transcript(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("runs.vset: ") && !text.contains("standard output"),
        "{text}"
    );
}
