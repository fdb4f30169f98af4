//! `what-if`: suggested settings, the user's own, and questions without an answer.

use insta::assert_snapshot;

use crate::program::{transcript, vramscope};

const FILE: &str = "synth/scenario-pools.pickle";

fn what_if(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["what-if"], arguments].concat()))
}

#[test]
fn what_is_suggested() {
    assert_snapshot!(what_if(&[FILE]));
}

#[test]
fn settings_of_ones_own() {
    let settings = "expandable_segments=True,max_split_size=128MiB";
    assert_snapshot!(what_if(&[
        FILE,
        "--set",
        settings,
        "--set",
        "roundup_power2_divisions:4",
        "--capacity",
        "100MiB"
    ]));
}

#[test]
fn as_json() {
    assert_snapshot!(what_if(&[
        FILE,
        "--set",
        "expandable_segments:True",
        "--json"
    ]));
}

#[test]
fn settings_that_are_none() {
    for settings in [
        "expandable_segment:True",
        "max_split_size_mb:5",
        "garbage_collection_threshold:2",
    ] {
        let output = vramscope(&["what-if", FILE, "--set", settings]);
        assert_eq!(output.status.code(), Some(2), "{settings}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            error.contains(settings.split(':').next().unwrap()),
            "{error}"
        );
    }
}

#[test]
fn of_a_file_without_segments() {
    assert_snapshot!(what_if(&["synth/torch-2.15-profile-p4.pickle"]));
}

#[test]
fn help() {
    assert_snapshot!(what_if(&["--help"]));
}

/// Half the batch fits into 720 MiB, the recorded one does not.
#[test]
fn changes_of_the_program_beside_a_capacity() {
    let file = "roles/rules/gpt_bf16_late.pickle.zst";
    let output = vramscope(&["what-if", file, "--capacity", "720MiB", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = json["parts"][0]["program"].as_array().unwrap();
    let half = rows.iter().find(|row| {
        row["change"]
            .as_str()
            .unwrap()
            .starts_with("Half the batch")
    });
    let half = half.unwrap();
    assert_eq!(half["live_fits"], "yes");
    let bytes = |key: &str| half[key].as_u64().unwrap();
    assert!(bytes("peak_bytes") <= 720 << 20);
    assert!(bytes("peak_bytes") + bytes("saved_bytes") > 720 << 20);
}
