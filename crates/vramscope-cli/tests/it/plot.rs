//! `plot`: pictures of fixtures, and what is refused.

use insta::assert_snapshot;
use std::fs;
use std::path::Path;
use std::process::Output;

use crate::program::{fixtures, transcript, vramscope};

const TRAINING: &str = "torch-2.15.0/training.pickle";

fn plot(file: &str, output: &Path, further: &[&str]) -> Output {
    let mut arguments = vec!["plot", file, "-o", output.to_str().unwrap()];
    arguments.extend(further);
    vramscope(&arguments)
}

/// Width and height from a PNG's first chunk.
fn png_size(png: &[u8]) -> (u32, u32) {
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (side(16), side(20))
}

#[test]
fn a_png_of_the_size_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("a.png");
    let output = plot(
        TRAINING,
        &picture,
        &["--size", "640x360", "--theme", "dark"],
    );
    assert_eq!(transcript(&output), "exit code 0\n--- stdout\n--- stderr\n");
    assert_eq!(png_size(&fs::read(picture).unwrap()), (640, 360));
}

#[test]
fn an_svg_with_title_axes_and_legend() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("a.svg");
    let output = plot(TRAINING, &picture, &["--axis", "time", "--color", "size"]);
    assert!(output.status.success(), "{}", transcript(&output));
    let svg = fs::read_to_string(picture).unwrap();
    for part in [
        "training.pickle",
        "device 0",
        "MiB",
        "data:image/png;base64,",
    ] {
        assert!(svg.contains(part), "{part} is missing");
    }
    assert!(
        !svg.contains("torch-2.15.0"),
        "the folder is nobody's business"
    );
}

#[test]
fn every_fixture_can_be_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("a.png");
    let entries = ["legacy", "torch-2.0.1", "torch-2.15.0"].map(|name| fixtures().join(name));
    for entry in entries
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap())
    {
        let file = entry.unwrap().path().display().to_string();
        // One holds no device, and one is not a snapshot.
        if !file.ends_with(".pickle") || file.contains("empty") || file.contains("not_recorded") {
            continue;
        }
        for colour in ["site", "pool"] {
            let output = plot(&file, &picture, &["--size", "320x200", "--colour", colour]);
            assert!(output.status.success(), "{file}: {}", transcript(&output));
        }
    }
}

/// File, picture, options, exit code, message.
const REFUSED: &[(&str, &str, &[&str], i32, &str)] = &[
    (TRAINING, "a.gif", &[], 2, "a picture ends in .png or .svg"),
    (
        TRAINING,
        "a.png",
        &["--device", "7"],
        1,
        "there is no device 7 in this file; it has 0",
    ),
    (
        TRAINING,
        "a.png",
        &["--size", "10x10"],
        2,
        "no room for axes",
    ),
    (
        TRAINING,
        "a.png",
        &["--range", "99999999.."],
        1,
        "there is no event 99999999",
    ),
    (
        TRAINING,
        "a.png",
        &["--range", "5..2"],
        1,
        "5..2 runs backwards",
    ),
    (
        "legacy/torch_2_0.pickle",
        "a.png",
        &["--axis", "time"],
        1,
        "the events have no times",
    ),
    (
        "torch-2.15.0/empty_cpp.pickle",
        "a.png",
        &[],
        1,
        "nothing to draw",
    ),
    (
        TRAINING,
        "a.png",
        &["--at", "peak"],
        2,
        "--at means nothing with --view timeline; it is for allocator, flame, compare",
    ),
    (
        TRAINING,
        "a.png",
        &["--view", "flame", "--range", "all", "--at", "peak"],
        2,
        "contradict each other",
    ),
    (
        TRAINING,
        "a.png",
        &["--filter", "size>"],
        2,
        "the filter cannot be read",
    ),
    (
        TRAINING,
        "a.png",
        &["--view", "compare"],
        2,
        "--view compare needs two files, or one file and two moments",
    ),
    (
        TRAINING,
        "a.png",
        &["--format", "svg"],
        2,
        "does not fit --format svg",
    ),
    (
        TRAINING,
        "a.png",
        &["torch-2.15.0/oom_after.pickle"],
        2,
        "2 pictures need a folder to go to",
    ),
    (
        "refused/text.txt",
        "a.png",
        &[],
        1,
        "this is not a memory snapshot",
    ),
];

#[test]
fn what_cannot_be_drawn() {
    let folder = tempfile::tempdir().unwrap();
    for &(file, picture, further, code, message) in REFUSED {
        let picture = folder.path().join(picture);
        let result = plot(file, &picture, further);
        let text = transcript(&result);
        assert_eq!(result.status.code(), Some(code), "{text}");
        assert!(text.contains(message), "{message} is missing from {text}");
        assert!(!picture.exists(), "a failed plot leaves no file");
    }
}

/// A picture of a small file as text; embedded data is replaced by its kind.
fn svg(further: &[&str]) -> String {
    let arguments = ["plot", "-o", "-", "--format", "svg", "--size", "640x400"];
    let output = vramscope(&[&arguments, further].concat());
    assert!(output.status.success(), "{}", transcript(&output));
    let svg = String::from_utf8(output.stdout).unwrap();
    let mut parts = svg.split("data:image/png;base64,");
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let (_, rest) = part.split_once('"').unwrap();
        text.push_str("PNG\"");
        text.push_str(rest);
    }
    text
}

#[test]
fn a_state_alone_has_no_peak() {
    for view in ["timeline", "segments", "map", "allocator", "flame"] {
        for file in [
            "torch-2.15.0/state_mode.pickle",
            "torch-2.0.1/not_recorded.pickle",
        ] {
            let svg = svg(&[file, "--view", view]);
            assert!(svg.contains("at the dump"), "{view} of {file}: {svg}");
            for word in ["peak", "highest", "from the start"] {
                assert!(!svg.contains(word), "{word} in {view} of {file}");
            }
        }
    }
}

#[test]
fn timeline_with_annotations_and_reserved_memory() {
    assert_snapshot!(svg(&["synth/scenario-annotated.pickle"]));
}

#[test]
fn timeline_of_a_failure() {
    assert_snapshot!(svg(&["torch-2.15.0/oom_observer.pickle"]));
}

#[test]
fn timeline_of_private_pools() {
    assert_snapshot!(svg(&[
        "torch-2.15.0/private_pools.pickle",
        "--colour",
        "pool",
        "--reserved"
    ]));
}

#[test]
fn segments_that_expand() {
    assert_snapshot!(svg(&[
        "torch-2.15.0/expandable_grown.pickle",
        "--view",
        "segments"
    ]));
}

#[test]
fn map_of_two_streams() {
    assert_snapshot!(svg(&[
        "torch-2.15.0/streams_pending.pickle",
        "--view",
        "map"
    ]));
}

#[test]
fn state_with_its_blocks_as_shapes() {
    assert_snapshot!(svg(&[
        "torch-2.15.0/streams_pending.pickle",
        "--view",
        "state",
        "--at",
        "end"
    ]));
}

#[test]
fn flame_standing_on_its_root() {
    let flame = [
        "--view",
        "flame",
        "--shape",
        "flame",
        "--group-by",
        "function",
    ];
    assert_snapshot!(svg(
        &[&["torch-2.15.0/oom_observer.pickle"], &flame[..]].concat()
    ));
}

#[test]
fn flame_from_pools_to_code() {
    let flame = ["--view", "flame", "--by-place"];
    assert_snapshot!(svg(
        &[&["torch-2.15.0/private_pools.pickle"], &flame[..]].concat()
    ));
}

#[test]
fn timeline_of_a_pool() {
    let pool = ["synth/scenario-pools.pickle", "--filter", "pool:1,0"];
    assert_snapshot!(svg(&pool));
}

#[test]
fn flame_of_a_search() {
    let flame = ["--view", "flame", "--filter", "size>11MiB"];
    assert_snapshot!(svg(
        &[&["torch-2.15.0/oom_observer.pickle"], &flame[..]].concat()
    ));
}

#[test]
fn two_moments_compared() {
    let compare = ["--view", "compare", "--range", "start..peak"];
    assert_snapshot!(svg(
        &[&["torch-2.15.0/oom_observer.pickle"], &compare[..]].concat()
    ));
}

#[test]
fn two_files_compared() {
    let files = [
        "torch-2.15.0/oom_observer.pickle",
        "torch-2.15.0/oom_after.pickle",
    ];
    assert_snapshot!(svg(&[&files[..], &["--view", "compare"]].concat()));
}

/// Every view of every file with content, in the smallest size and in a usual one.
fn every_view_of(file: &str, folder: &Path) {
    let picture = folder.join("a.png");
    for view in ["timeline", "segments", "map", "state", "flame", "compare"] {
        let mut further = vec!["--view", view, "--theme", "dark"];
        if view == "compare" {
            further.extend(["--range", "start..peak"]);
        }
        for size in ["240x160", "900x500"] {
            further.extend(["--size", size]);
            let output = plot(file, &picture, &further);
            assert!(output.status.success(), "{file}: {}", transcript(&output));
            further.truncate(further.len() - 2);
        }
    }
}

#[test]
fn every_view_of_telling_fixtures() {
    let folder = tempfile::tempdir().unwrap();
    for file in [
        "legacy/torch_1_4.pickle",
        "synth/scenario-pools.pickle",
        "synth/scenario-state-only.pickle",
        "torch-2.15.0/no_stacks.pickle",
        "torch-2.15.0/state_mode.pickle",
        "torch-2.15.0/two_devices.pickle",
    ] {
        every_view_of(file, folder.path());
    }
}

#[test]
fn every_view_of_real_files() {
    let Some(shared) = std::env::var_os("VRAMSCOPE_SHARED") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let files = fs::read_dir(Path::new(&shared).join("real")).unwrap();
    let files = files.map(|entry| entry.unwrap());
    for file in files.filter(|file| file.metadata().unwrap().len() < 700_000) {
        let name = file.path().display().to_string();
        if !name.ends_with(".md") {
            every_view_of(&name, folder.path());
        }
    }
}

#[test]
fn a_folder_gets_a_picture_for_each_file() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("pictures/");
    let files = [
        "torch-2.15.0/training.pickle",
        "torch-2.10.0/training.pickle",
    ];
    let target = format!("{}/", output.display());
    let arguments = ["--format", "svg", "--view", "segments", "-o", &target];
    let result = vramscope(&[&["plot"], &files[..], &arguments].concat());
    assert!(result.status.success(), "{}", transcript(&result));
    let mut names: Vec<_> = fs::read_dir(output)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["training-2.svg", "training.svg"]);
}
