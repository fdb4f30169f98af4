//! Files of torch.profiler, used like snapshots.

use serde_json::Value;

use crate::program::{fixtures, vramscope};

const TRAINING: &str = "profiler/training-2.15.0-cuda.json.gz";

/// What a command prints about files; it must succeed.
fn said(arguments: &[&str]) -> String {
    let output = vramscope(arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{arguments:?}: {text}");
    text
}

#[track_caller]
fn says(arguments: &[&str], parts: &[&str]) {
    let text = said(arguments);
    // Lines are wrapped.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in parts {
        assert!(
            words.contains(part),
            "{arguments:?} lacks {part:?}:\n{text}"
        );
    }
}

#[test]
fn a_trace_answers_like_a_snapshot() {
    says(
        &["info", TRAINING],
        &[
            "written by torch.profiler (by `traceEvents`)",
            "device 1 (CPU)",
            "alloc 158, free_requested 156, free_completed 156",
            "159 1 from before recording (822 KiB), 3 still live",
            "only the highest total of reserved memory is known, 36.0 MiB",
            "reserved max 36.0 MiB",
            "reserved at end unknown: no segment is recorded",
        ],
    );
    says(
        &["explain", TRAINING],
        &[
            "device 0 At the peak, 33.6 MiB: 32.2 MiB temporaries",
            "backward",
        ],
    );
    says(
        &["top", TRAINING],
        &[
            "addmm in linear, gelu and 1 other kineto.py:36 forward",
            "mm in AddmmBackward0",
        ],
    );
    says(
        &["peak", TRAINING, "--device", "0"],
        &["33.6 MiB (35,247,616 bytes)", "kineto.py:46 step"],
    );
    says(
        &["annotations", TRAINING],
        &[
            "ProfilerStep#: the profiler's steps",
            "Optimizer.step#Adam.step",
        ],
    );
    says(
        &["find", "metadata:addmm", TRAINING],
        &["aten::addmm(float[256], float[128, 64], float[64, 256], Scalar, Scalar)"],
    );
}

#[test]
fn a_failed_request_of_the_host_is_not_cudas() {
    let file = "profiler/plain-2.15.0-cpu.json.gz";
    says(&["oom", file], &["device 0 (CPU)", "1.00 PiB"]);
    let text = said(&["oom", file]);
    for word in ["aligns", "asked of", "default pool"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    says(
        &["plan", file],
        &["Plans are for PyTorch's allocator, not for host memory"],
    );
    for command in ["oom", "explain", "info"] {
        assert!(!said(&[command, file]).contains("CUDA"), "{command}");
    }
}

#[test]
fn a_request_for_more_than_the_device_is_too_large() {
    let file = "profiler/plain-2.15.0-cuda.json.gz";
    says(
        &["oom", file],
        &[
            "the request itself is too large",
            "from unknown pool and stream",
        ],
    );
    let explanation = parts(&["oom", file, "--json"])[1]["explanation"].clone();
    let expected = "A request for 1.00 PiB on a device of 1.00 GiB. Even if nothing had been live, it would have failed: its size is \
                    not what was meant.";
    assert_eq!(explanation, expected);
}

const TIMELINE: &str = "profiler/timeline-2.15.0-cuda.raw.json.gz";

#[test]
fn a_timeline_does_not_tell_of_failures() {
    says(
        &["oom", TIMELINE],
        &["A memory timeline does not record failed requests."],
    );
    for word in ["dumped", "overwritten", "No request failed"] {
        assert!(!said(&["oom", TIMELINE]).contains(word), "{word}");
    }
    let output = vramscope(&["check", TIMELINE, "--no-oom"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("not measured"), "{text}");
}

fn parts(arguments: &[&str]) -> Vec<Value> {
    let answer: Value = serde_json::from_str(&said(arguments)).unwrap();
    answer["parts"].as_array().unwrap().clone()
}

#[test]
fn unknown_reserved_memory_is_no_figure() {
    let info = parts(&["info", TRAINING, "--json"]);
    let [gpu, host] = [&info[1], &info[2]];
    assert_eq!(gpu["reserved_max_bytes"], 36 << 20);
    for part in [gpu, host] {
        assert!(part["reserved_end_bytes"].is_null());
        assert!(part["reserved_bytes"].is_null() && part["free_bytes"].is_null());
    }
    assert!(host["reserved_max_bytes"].is_null());
    assert!(parts(&["stats", TIMELINE, "--json"])[0]["reserved_bytes"].is_null());
    // The highest total is compared with a limit.
    let check = |limit: &str| {
        let output = vramscope(&["check", TRAINING, "--device", "0", "--max-reserved", limit]);
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(check("32MiB").contains("broken"), "{}", check("32MiB"));
    assert!(check("40MiB").contains("ok"), "{}", check("40MiB"));
}

#[test]
fn the_host_is_no_rank_and_has_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let set = path("a.vset");
    said(&["fleet", "pack", TRAINING, "-o", &set]);
    let ranks = parts(&["fleet", "peaks", &set, "--json"])[0]["ranks"].clone();
    let ranks = ranks.as_array().unwrap();
    assert_eq!(ranks.len(), 1, "{ranks:?}");
    assert_eq!(ranks[0]["reserved_max_bytes"], 36 << 20);
    assert!(ranks[0]["gap_bytes"].is_null());
    let trace = path("a.json");
    said(&["convert", TRAINING, "--to", "perfetto", "-o", &trace]);
    let trace = std::fs::read_to_string(&trace).unwrap();
    assert!(trace.contains(r#""GPU 0""#) && trace.contains(r#""CPU""#));
    assert!(!trace.contains(r#""reserved""#));
    let plot = path("a.svg");
    let segments = [
        "plot", TRAINING, "--device", "1", "--view", "segments", "-o", &plot,
    ];
    said(&segments);
    let plot = std::fs::read_to_string(&plot).unwrap();
    assert!(
        plot.contains("device 1 (CPU) · no segment is recorded"),
        "{plot}"
    );
}

#[test]
fn a_part_of_a_trace_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    for (name, source) in [("a.pickle", TRAINING), ("a.vram", TIMELINE)] {
        let path = folder.path().join(name);
        let path = path.to_str().unwrap();
        said(&[
            "cut", source, "--device", "0", "--range", "30..90", "-o", path,
        ]);
        says(
            &["info", path],
            &[
                "events repeat what was live where the file was cut off.",
                "torch.profiler records no segments.",
                "reserved max unknown: no segment is recorded",
            ],
        );
        let text = said(&["info", path]);
        assert!(
            !text.contains("damage") && !text.contains("contradict"),
            "{text}"
        );
        let live = |file: &str, at: &str| {
            parts(&["at", at, file, "--device", "0", "--json"])[0]["live_bytes"].clone()
        };
        assert!(live(source, "90").as_u64() > Some(0));
        assert_eq!(live(source, "90"), live(path, "end"));
    }
}

#[test]
fn timelines_have_roles() {
    for (file, what) in [
        (
            "profiler/timeline-2.15.0-cuda.raw.json.gz",
            "sizes and categories, without addresses",
        ),
        (
            "profiler/timeline-2.15.0-cuda.json.gz",
            "no band is a tensor",
        ),
    ] {
        says(&["info", file], &[what]);
        says(
            &["peak", file, "--group-by", "role"],
            &["optimizer state", "540 KiB 1.6 %", "269 KiB 0.8 %"],
        );
    }
}

#[test]
fn what_is_written_of_a_trace_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.pickle", "a.vram", "a.json"] {
        let path = folder.path().join(name);
        let path = path.to_str().unwrap();
        said(&["convert", TRAINING, "-o", path]);
        let original = fixtures().join(TRAINING);
        for command in ["peak", "top", "annotations"] {
            let [first, second] = [original.to_str().unwrap(), path].map(|file| {
                let mut answer: Value =
                    serde_json::from_str(&said(&[command, file, "--json"])).unwrap();
                for part in answer["parts"].as_array_mut().unwrap() {
                    part["file"] = "".into();
                }
                answer
            });
            assert_eq!(first, second, "{command} {name}");
        }
    }
}
