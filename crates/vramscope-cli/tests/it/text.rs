//! `text`: an error in a log, from a file and from standard input, by its own name and as `oom`.

use insta::assert_snapshot;

use crate::program::{fixtures, transcript, vramscope, vramscope_reading};

const LOG: &str = "text/train.log";

#[test]
fn as_text() {
    assert_snapshot!(transcript(&vramscope(&["text", LOG])));
}

#[test]
fn as_json() {
    assert_snapshot!(transcript(&vramscope(&["text", LOG, "--json"])));
}

#[test]
fn oom_tells_the_same_of_a_text() {
    let text = vramscope(&["text", LOG]);
    assert_eq!(vramscope(&["oom", LOG]), text);
    let log = std::fs::read(fixtures().join(LOG)).unwrap();
    let read = vramscope_reading(&["oom", "-"], &log);
    let read = String::from_utf8(read.stdout).unwrap();
    assert_eq!(
        read.replace("standard input", LOG),
        String::from_utf8(text.stdout).unwrap()
    );
}

#[test]
fn logs_and_snapshots_are_answered_apart() {
    let output = vramscope(&["oom", LOG, "torch-2.15.0/oom_observer.pickle"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_text_that_tells_nothing() {
    assert_snapshot!(transcript(&vramscope_reading(
        &["text", "-"],
        b"loss 0.3\n"
    )));
}

#[test]
fn oom_of_another_text_is_a_failure() {
    assert_eq!(
        vramscope(&["oom", "refused/text.txt"]).status.code(),
        Some(1)
    );
}

#[test]
fn many_threads_in_one_text() {
    let output = vramscope(&["text", "text/threads.txt", "--first", "0", "--json"]);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let failed = answer["parts"][0]["failed"].as_array().unwrap();
    // Some threads have the same error without figures.
    let times: u64 = failed.iter().filter_map(|row| row["times"].as_u64()).sum();
    assert!(
        failed.len() > 95 && times >= 101,
        "{} of {times}",
        failed.len()
    );
}

#[test]
fn help() {
    assert_snapshot!(transcript(&vramscope(&["text", "--help"])));
}

#[test]
fn other_commands_name_it() {
    let output = vramscope(&["info", LOG]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("vramscope text"), "{told}");
}

#[test]
fn compressed_logs_are_texts() {
    let log = std::fs::read(fixtures().join(LOG)).unwrap();
    // Longer than what is looked at, even when compressed: no two lines are alike.
    let lines = (0..300_000_u64).map(|line| {
        format!(
            "step {line} loss {:x}\n",
            line.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        )
    });
    let log = [log, lines.collect::<String>().into_bytes()].concat();
    let packed = zstd::encode_all(&*log, 3).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [plain, packed_name] = ["train.log", "train.log.zst"].map(|name| folder.path().join(name));
    std::fs::write(&plain, &log).unwrap();
    std::fs::write(&packed_name, packed).unwrap();
    let told = |path: &std::path::Path| {
        let path = path.display().to_string();
        let told = vramscope(&["oom", &path]);
        assert!(told.status.success(), "{told:?}");
        String::from_utf8(told.stdout)
            .unwrap()
            .replace(&path, "LOG")
    };
    assert_eq!(told(&plain), told(&packed_name));
}
