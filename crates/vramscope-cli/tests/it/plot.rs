//! `plot`: pictures of fixtures, and what is refused.

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

#[test]
fn what_cannot_be_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let [png, gif] = ["a.png", "a.gif"].map(|name| folder.path().join(name));
    for (file, output, further, code, message) in [
        (TRAINING, &gif, &[][..], 2, "a picture ends in .png or .svg"),
        (
            TRAINING,
            &png,
            &["--device", "7"],
            1,
            "there is no device 7 in this file; it has 0",
        ),
        (TRAINING, &png, &["--size", "10x10"], 2, "no room for axes"),
        (
            TRAINING,
            &png,
            &["--range", "99999999.."],
            1,
            "nothing lies in that range",
        ),
        (
            TRAINING,
            &png,
            &["--range", "5..2"],
            2,
            "the range is empty",
        ),
        (
            "legacy/torch_2_0.pickle",
            &png,
            &["--axis", "time"],
            1,
            "the events have no times",
        ),
        (
            "torch-2.15.0/empty_cpp.pickle",
            &png,
            &[],
            1,
            "nothing to draw",
        ),
        (
            "refused/text.txt",
            &png,
            &[],
            1,
            "this is no memory snapshot",
        ),
    ] {
        let result = plot(file, output, further);
        let text = transcript(&result);
        assert_eq!(result.status.code(), Some(code), "{text}");
        assert!(text.contains(message), "{message} is missing from {text}");
    }
    assert!(!png.exists(), "a failed plot leaves no file");
}
