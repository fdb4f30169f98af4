//! However a program ends: its exit code, output and exceptions are as without a recording, and there is a file.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use vramscope_launch::{Whom, ask};

use crate::recorded::{Recorded, text};

/// Runs a script with and without recording, and compares. Returns the recording.
#[track_caller]
fn same(script: &str) -> Option<Recorded> {
    let recorded = Recorded::new();
    let output = recorded.run(script)?;
    let mut alone = recorded.python()?;
    alone
        .env(
            "PYTHONPATH",
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/torch"),
        )
        .env_remove("VRAMSCOPE_RECORD_FOLDER");
    let alone = alone
        .arg(recorded.folder.path().join("script.py"))
        .output()
        .unwrap();
    assert_eq!(output.status, alone.status, "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), text(&alone.stdout));
    assert_eq!(text(&output.stderr), text(&alone.stderr));
    Some(recorded)
}

#[test]
fn at_its_end() {
    let Some(recorded) = same("import torch\ntorch.use()\nprint('done')") else {
        return;
    };
    assert_eq!(recorded.names(), ["pid.pickle"]);
    assert_eq!(recorded.remarks(), "");
    let file = fs::read(&recorded.outcome().files[0]).unwrap();
    let file = String::from_utf8_lossy(&file);
    assert!(
        file.contains("('all', {'stacks': 'all', 'max_entries': 1000})"),
        "{file}"
    );
}

#[test]
fn more_events_than_are_kept_are_told_of() {
    let recorded = Recorded::of(|settings| settings.max_entries = 3);
    if recorded
        .run("import torch\ntorch.use()\ntorch.events = 3")
        .is_none()
    {
        return;
    }
    assert_eq!(recorded.names(), ["pid.pickle"]);
    let remarks = recorded.remarks();
    assert!(
        remarks.contains("had more events than --max-entries keeps"),
        "{remarks}"
    );
}

#[test]
fn what_never_uses_a_device_leaves_nothing() {
    let Some(recorded) = same("import torch\nprint(torch.__version__)") else {
        return;
    };
    assert!(recorded.names().is_empty());
    assert_eq!(
        recorded.remarks(),
        "torch 2.15.0+cu130 was imported, but no process used a device."
    );
    let Some(recorded) = same("print('no torch')") else {
        return;
    };
    assert_eq!(
        recorded.remarks(),
        "Python was started, but no process imported torch to its end."
    );
}

#[test]
fn with_an_exception_an_exit_code_and_os_exit() {
    for script in [
        "import torch\ntorch.use()\nraise KeyError('mine')",
        "import sys, torch\ntorch.use()\nsys.exit(7)",
        "import os, torch\ntorch.use()\nos._exit(9)",
    ] {
        let Some(recorded) = same(script) else { return };
        assert_eq!(recorded.names(), ["pid.pickle"], "{script}");
    }
}

/// torch warns about libraries when it records C++ stacks.
#[test]
fn no_warning_is_added_not_even_where_they_are_errors() {
    same(
        "import warnings\nwarnings.simplefilter('error')\nimport torch\ntorch.use()\ntorch.use()\nprint('done')",
    );
    same("import torch\ntorch.use()\ntorch.use()\nprint('done')");
}

#[test]
fn when_a_request_fails() {
    let script = "import torch\ntorch.use()\nfor _ in range(9):\n  try: torch.use(fail=True)\n  except RuntimeError: pass\ntorch.use(fail=True)";
    let Some(recorded) = same(script) else { return };
    assert_eq!(
        recorded.names(),
        [
            "oom_1/pid.pickle",
            "oom_2/pid.pickle",
            "oom_3/pid.pickle",
            "oom_4/pid.pickle",
            "pid.pickle"
        ]
    );
}

#[test]
fn an_import_that_fails_or_is_looked_for_is_as_before() {
    let script = "import importlib.util, sys\nprint(importlib.util.find_spec('torch') is not None)\n\
                  print([type(it).__name__ for it in sys.path_importer_cache.values()] != [])\n\
                  import torch\nprint(torch.__loader__.__dict__.keys(), [type(it).__name__ for it in sys.meta_path])\n\
                  print('sitecustomize' in sys.modules, [it for it in sys.path if 'vramscope-record' in it])\n\
                  torch.use()";
    let Some(recorded) = same(script) else { return };
    assert_eq!(recorded.names(), ["pid.pickle"]);
    same(
        "import sys\nsys.path[:] = [it for it in sys.path if not it.endswith('tests/torch')]\nimport torch",
    );
}

/// A program that has reported that it started.
fn started(
    recorded: &Recorded,
    script: &str,
) -> Option<(std::process::Child, impl BufRead + use<>)> {
    let path = recorded.folder.path().join("script.py");
    fs::write(&path, script).unwrap();
    let mut command = recorded.python()?;
    let mut child = command.arg(path).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    Some((child, output))
}

fn terminate(child: &std::process::Child) {
    let id = child.id().to_string();
    assert!(Command::new("kill").arg(id).status().unwrap().success());
}

#[test]
fn by_sigterm_also_while_the_main_thread_is_in_c() {
    let in_c = "import ctypes, torch\ntorch.use()\nprint('ready', flush=True)\nctypes.CDLL(None).pause()\nctypes.CDLL(None).pause()";
    let in_python = "import time, torch\ntorch.use()\nprint('ready', flush=True)\ntime.sleep(60)";
    for script in [in_python, in_c] {
        let recorded = Recorded::new();
        let Some((mut child, _output)) = started(&recorded, script) else {
            return;
        };
        terminate(&child);
        assert_eq!(child.wait().unwrap().signal(), Some(15), "{script}");
        assert_eq!(recorded.names(), ["pid.pickle"], "{script}");
    }
}

#[test]
fn by_sigterm_while_the_file_is_written() {
    let script = "import os, signal, torch\ntorch.use()\nwhole = torch.cuda.memory._snapshot\n\
                  def snapshot():\n  os.kill(os.getpid(), signal.SIGTERM)\n  return whole()\n\
                  torch.cuda.memory._snapshot = snapshot";
    let recorded = Recorded::new();
    let Some(output) = recorded.run(script) else {
        return;
    };
    assert_eq!(output.status.signal(), Some(15));
    assert_eq!(recorded.names(), ["pid.pickle"]);
}

#[test]
fn by_sigterm_in_c_after_the_steps_that_were_wanted() {
    let recorded = Recorded::steps(1, Some(1), None);
    let script = "import ctypes, torch\ntorch.use()\ntorch.optim.Optimizer().step()\nprint('ready', flush=True)\n\
                  ctypes.CDLL(None).pause()\nctypes.CDLL(None).pause()";
    let Some((mut child, _output)) = started(&recorded, script) else {
        return;
    };
    terminate(&child);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert_eq!(recorded.names(), ["pid.pickle"]);
}

#[test]
fn the_programs_own_handler_of_sigterm_stays() {
    let before = "import signal, sys, time, torch\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\ntorch.use()\n";
    let after = "import signal, sys, time, torch\ntorch.use()\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n";
    for begin in [before, after] {
        let recorded = Recorded::new();
        let script = format!("{begin}print('ready', flush=True)\ntime.sleep(60)");
        let Some((mut child, _output)) = started(&recorded, &script) else {
            return;
        };
        terminate(&child);
        assert_eq!(child.wait().unwrap().code(), Some(5));
        assert_eq!(recorded.names(), ["pid.pickle"]);
    }
}

#[test]
fn on_request_while_the_main_thread_is_in_c() {
    let recorded = Recorded::new();
    let script =
        "import ctypes, torch\ntorch.use()\nprint('ready', flush=True)\nctypes.CDLL(None).pause()";
    let Some((mut child, _output)) = started(&recorded, script) else {
        return;
    };
    let answers = ask(Whom::Process(child.id()), "asked_1");
    assert_eq!(answers.len(), 1);
    let file = answers[0].file.as_ref().unwrap().as_ref().unwrap();
    assert!(file.exists() && file.parent().unwrap().ends_with("asked_1"));
    assert_eq!(answers[0].process, child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(recorded.names(), ["asked_1/pid.pickle"]);
}

#[test]
fn killed_it_says_so() {
    let recorded = Recorded::new();
    let script = "import os, signal, torch\ntorch.use()\nos.kill(os.getpid(), signal.SIGKILL)";
    let Some(output) = recorded.run(script) else {
        return;
    };
    assert_eq!(output.status.signal(), Some(9));
    assert!(recorded.names().is_empty());
    let remarks = recorded.remarks();
    assert!(remarks.contains("left no file: it was killed"), "{remarks}");
}

#[test]
fn a_program_that_stays_behind_is_told() {
    let recorded = Recorded::new();
    let script = "import time, torch\ntorch.use()\nprint('ready', flush=True)\ntime.sleep(60)";
    let Some((mut child, _output)) = started(&recorded, script) else {
        return;
    };
    thread::sleep(Duration::from_millis(10));
    assert!(recorded.remarks().contains("still runs"));
    child.kill().unwrap();
    child.wait().unwrap();
}
