//! torch's own `_memory_viz.py` reads captured snapshots, if `cargo xtask consumers` has installed it.

use std::path::{Path, PathBuf};
use std::process::Command;

use vramscope_capture_tests::session::Session;

fn run_tool(tool: &Path, command: &str, file: &Path) -> String {
    let output = Command::new("python3")
        .arg(tool)
        .arg(command)
        .arg(file)
        .output()
        .expect("Python runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn torchs_own_tool_reads_captures() {
    let folder = std::env::var_os("VRAMSCOPE_CONSUMERS").map(PathBuf::from);
    let tool = folder.map(|folder| folder.join("_memory_viz.py"));
    let Some(tool) = tool.filter(|tool| tool.exists()) else {
        eprintln!("skipped: no _memory_viz.py; see cargo xtask consumers");
        return;
    };
    for (client, arguments) in [
        ("loading", &[][..]),
        ("scenes", &["dlsym", "nvtx"]),
        ("scenes", &["dlsym", "ranges"]),
        ("scenes", &["dlsym", "pools"]),
    ] {
        let captured = Session::new().capture(client, arguments);
        assert!(captured.status.success(), "{}", captured.stderr);
        let stats = run_tool(&tool, "stats", &captured.snapshot);
        assert!(stats.contains("total_reserved"), "{stats}");
        let trace = run_tool(&tool, "trace", &captured.snapshot);
        let has_calls = trace.contains("cudaMalloc(") || trace.contains("segment_map");
        assert!(trace.contains("TOTAL MEM") && has_calls, "{trace}");
    }
}
