//! Kinds of torch, of Python, and of programs that record by themselves.

use std::fs;

use crate::recorded::{Recorded, text};

/// The remarks about this kind of torch, in a program that uses a device if there is one.
fn remarks(kind: &str) -> Option<(String, Vec<String>)> {
    let recorded = Recorded::new();
    let path = recorded.folder.path().join("script.py");
    fs::write(
        &path,
        "import torch\ntry: torch.use()\nexcept AssertionError: pass",
    )
    .unwrap();
    let output = recorded
        .python()?
        .env("FAKE_TORCH", kind)
        .arg(path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    Some((recorded.remarks(), recorded.names()))
}

#[test]
fn what_each_torch_can_record_is_said_in_a_line() {
    for (kind, file, said) in [
        ("cuda", true, ""),
        ("old", true, ""),
        (
            "hip",
            true,
            "process N: uses ROCm: PyTorch's memory is recorded. Memory that PyTorch does not know about is not recorded.",
        ),
        (
            "cpu",
            false,
            "torch 2.15.0+cpu is built for the CPU only: it uses no GPU memory.",
        ),
        (
            "xpu",
            false,
            "torch 2.15.0+cu130 cannot record memory of XPU: its recorder came with 2.11.",
        ),
        (
            "npu",
            false,
            "torch 2.15.0+cu130 with torch_npu: this does not record Ascend's devices. torch_npu has a recorder of its own, \
             torch.npu.memory._record_memory_history, to be called in the program.",
        ),
        (
            "async",
            false,
            "process N: uses the allocator cudaMallocAsync, which PyTorch cannot record. `vramscope-capture run -- COMMAND` \
             records the driver's calls.",
        ),
    ] {
        let Some((remarks, names)) = remarks(kind) else {
            return;
        };
        assert_eq!(remarks, said, "{kind}");
        assert_eq!(!names.is_empty(), file, "{kind}");
    }
}

#[test]
fn a_python_that_cannot_be_reached_is_told() {
    for flag in ["-I", "-E", "-S"] {
        let recorded = Recorded::new();
        let Some(mut python) = recorded.python() else {
            return;
        };
        let output = python.args([flag, "-c", "print(1)"]).output().unwrap();
        assert_eq!(text(&output.stdout), "1\n");
        let remarks = recorded.remarks();
        assert!(
            remarks.starts_with("No Python was reached."),
            "{flag}: {remarks}"
        );
    }
}

#[test]
fn the_other_sitecustomize_runs_and_its_errors_are_its_own() {
    for (other, expected) in [
        (
            "import builtins\nbuiltins.other = 'here'",
            "here sitecustomize.py\n",
        ),
        ("raise ValueError('its own')", "none none\n"),
    ] {
        let recorded = Recorded::new();
        let folder = recorded.folder.path().join("theirs");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("sitecustomize.py"), other).unwrap();
        let Some(mut python) = recorded.python() else {
            return;
        };
        let path = python
            .get_envs()
            .find(|(name, _)| *name == "PYTHONPATH")
            .unwrap();
        let mut path = path.1.unwrap().to_owned();
        path.push(":");
        path.push(&folder);
        let script = "import builtins, os, sys, torch\ntorch.use()\n\
                      module = sys.modules.get('sitecustomize')\n\
                      print(getattr(builtins, 'other', 'none'), os.path.basename(module.__file__) if module else 'none')";
        let output = python
            .env("PYTHONPATH", path)
            .args(["-c", script])
            .output()
            .unwrap();
        assert_eq!(text(&output.stdout), expected);
        let said = text(&output.stderr);
        assert_eq!(
            said.contains("ValueError: its own"),
            other.starts_with("raise"),
            "{said}"
        );
        assert_eq!(recorded.names(), ["pid.pickle"]);
    }
}

#[test]
fn a_program_that_records_by_itself_keeps_its_settings() {
    let recorded = Recorded::new();
    let script = "import torch\ntorch.use()\n\
                  torch.cuda.memory._record_memory_history('all', max_entries=7)\n\
                  torch.use(); torch.use()\n\
                  torch.cuda.memory._dump_snapshot('own.pickle')\n\
                  torch.cuda.memory._record_memory_history(enabled=None)\n\
                  torch.use()\n\
                  print(torch.calls[1:], torch.events)";
    let Some(output) = recorded.run(script) else {
        return;
    };
    assert_eq!(
        text(&output.stdout),
        "[(None, {}), ('all', {'max_entries': 7}), (None, {})] 1\n"
    );
    // What it had recorded is written, though its end discarded it.
    assert_eq!(recorded.names(), ["pid.pickle"]);
    let ours = fs::read(&recorded.outcome().files[0]).unwrap();
    assert!(String::from_utf8_lossy(&ours).contains("max_entries': 7"));
    assert!(
        recorded
            .remarks()
            .contains("uses PyTorch's recorder itself")
    );
    // Starts before a device is used and never ends: ours never begins.
    let recorded = Recorded::new();
    let script =
        "import torch\ntorch.cuda.memory._record_memory_history()\ntorch.use()\nprint(torch.calls)";
    let Some(output) = recorded.run(script) else {
        return;
    };
    assert_eq!(text(&output.stdout), "[('all', {})]\n");
    assert_eq!(recorded.names(), ["pid.pickle"]);
}

#[test]
fn a_folder_that_cannot_be_written_harms_nobody() {
    let recorded = Recorded::new();
    let folder = recorded.session.folder();
    fs::remove_dir(folder).unwrap();
    fs::write(folder, "a file").unwrap();
    let Some(output) = recorded.run("import torch\ntorch.use()\nprint('done')") else {
        return;
    };
    assert_eq!(text(&output.stdout), "done\n");
    assert_eq!(text(&output.stderr), "");
    let remarks = recorded.remarks();
    assert!(remarks.contains("could not do all: "), "{remarks}");
}

#[test]
fn with_source_the_projects_own_text_is_kept() {
    let recorded = Recorded::of(|settings| settings.with_source = true);
    if recorded.run("import torch\ntorch.use()").is_none() {
        return;
    }
    let file = fs::read(&recorded.outcome().files[0]).unwrap();
    let file = String::from_utf8_lossy(&file);
    assert!(file.contains("source_code") && file.contains("A file of the project, whose text"));
}
