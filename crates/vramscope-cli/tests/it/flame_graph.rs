//! `segments` and `memory`: lines and SVG.

use insta::assert_snapshot;

use crate::program::{transcript, vramscope, vramscope_reading};

fn run(arguments: &[&str]) -> String {
    transcript(&vramscope(arguments))
}

#[test]
fn folded() {
    assert_snapshot!(run(&[
        "segments",
        "torch-2.15.0/streams_pending.pickle",
        "--folded"
    ]));
    assert_snapshot!(run(&[
        "memory",
        "torch-2.15.0/private_pools.pickle",
        "--folded"
    ]));
}

#[test]
fn folded_as_torch_does() {
    for command in ["segments", "memory"] {
        let file = "legacy/torch_2_0.pickle";
        assert_snapshot!(run(&[command, file, "--folded", "--format", "torch"]));
    }
}

#[test]
fn several_devices_and_files() {
    assert_snapshot!(run(&[
        "memory",
        "torch-2.15.0/two_devices.pickle",
        "torch-2.15.0/empty_list.pickle",
        "torch-2.15.0/context_state.pickle",
        "--folded"
    ]));
}

#[test]
fn one_device() {
    assert_snapshot!(run(&[
        "memory",
        "torch-2.15.0/two_devices.pickle",
        "--folded",
        "--device",
        "1"
    ]));
}

#[test]
fn nothing_to_draw() {
    assert_snapshot!(run(&["memory", "torch-2.15.0/empty_list.pickle"]));
}

#[test]
fn an_svg_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.svg");
    let output = vramscope(&[
        "memory",
        "torch-2.15.0/training.pickle",
        "-o",
        path.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"");
    let in_file = std::fs::read_to_string(path).unwrap();
    let printed = vramscope(&["memory", "torch-2.15.0/training.pickle"]).stdout;
    assert_eq!(
        in_file,
        String::from_utf8(printed).unwrap(),
        "the same, and every time"
    );
    assert!(in_file.contains("Memory of torch-2.15.0/training.pickle"));
    assert!(in_file.contains(" bytes, "), "{}", &in_file[..400]);
}

#[test]
fn a_failure_keeps_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.svg");
    std::fs::write(&path, "mine").unwrap();
    let target = path.to_str().unwrap();
    for options in [&[][..], &["--folded"]] {
        let arguments = ["memory", "refused/truncated.pickle", "-o", target];
        let output = vramscope(&[&arguments, options].concat());
        assert_eq!(output.status.code(), Some(1), "{}", transcript(&output));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let arguments = ["memory", "torch-2.15.0/training.pickle", "--folded"];
    vramscope(&[&arguments[..], &["-o", target]].concat());
    let printed = vramscope(&arguments).stdout;
    assert_eq!(std::fs::read(&path).unwrap(), printed);
}

#[test]
fn hostile_names_and_sizes_do_no_harm() {
    let name = r#"]]></title><script>alert(1)</script> \u0000\u001b\ufffe ; 12"#;
    let segment = |address: u64| {
        format!(
            r#"{{"device": 0, "address": {address}, "total_size": 4096, "blocks": [
            {{"address": {address}, "size": 4096, "requested_size": 4096, "state": "active_allocated",
            "frames": [{{"name": "{name}", "filename": "a.py", "line": 1}}]}}]}}"#
        )
    };
    let file = format!(
        r#"{{"segments": [{}, {}], "device_traces": []}}"#,
        segment(4096),
        segment(8192)
    );
    let output = vramscope_reading(&["memory", "-"], file.as_bytes());
    assert_eq!(transcript(&output).lines().next(), Some("exit code 0"));
    let svg = String::from_utf8(output.stdout).unwrap();
    assert!(!svg.contains("alert(1)</script>") && svg.contains("alert(1)&lt;/script&gt;"));
    assert!(!svg.contains(['\0', '\u{1b}', '\u{fffe}']));
    let output = vramscope_reading(&["memory", "-", "--folded"], file.as_bytes());
    assert_snapshot!(transcript(&output));
}

#[test]
fn help() {
    assert_snapshot!(run(&["segments", "--help"]));
    assert_snapshot!(run(&["memory", "--help"]));
}
