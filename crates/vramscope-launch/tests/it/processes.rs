//! Programs with several processes: each one that used a device leaves its file.

use std::fs;

use crate::recorded::{Recorded, text};

#[track_caller]
fn names_of(script: &str) -> Option<Vec<String>> {
    let recorded = Recorded::new();
    let output = recorded.run(script)?;
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    assert_eq!(recorded.remarks(), "");
    Some(recorded.names())
}

#[test]
fn of_subprocess() {
    let script = "import os, subprocess, sys\n\
                  for rank in range(2):\n  \
                  subprocess.run([sys.executable, '-c', 'import torch; torch.use()'], env={**os.environ, 'RANK': str(rank)}, check=True)";
    if let Some(names) = names_of(script) {
        assert_eq!(names, ["rank0_pid.pickle", "rank1_pid.pickle"]);
    }
}

#[test]
fn of_multiprocessing_in_each_way() {
    for way in ["spawn", "fork", "forkserver"] {
        let script = format!(
            "import multiprocessing, torch\n\
             def work(rank):\n  \
             torch.distributed.init_process_group(rank)\n  torch.use()\n  torch.distributed.destroy_process_group()\n\
             if __name__ == '__main__':\n  \
             context = multiprocessing.get_context('{way}')\n  \
             all = [context.Process(target=work, args=(rank,)) for rank in range(2)]\n  \
             [one.start() for one in all]\n  [one.join() for one in all]\n  \
             assert [one.exitcode for one in all] == [0, 0]"
        );
        if let Some(names) = names_of(&script) {
            assert_eq!(names, ["rank0_pid.pickle", "rank1_pid.pickle"], "{way}");
        }
    }
}

#[test]
fn a_process_forked_from_a_recorded_one_is_none() {
    let script = "import os, signal, sys, torch\ntorch.use()\n\
                  child = os.fork()\n\
                  if not child:\n  \
                  print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, flush=True)\n  os._exit(0)\n\
                  assert os.waitpid(child, 0)[1] == 0\n\
                  child = os.fork()\n\
                  if not child:\n  signal.pause()\n\
                  os.kill(child, signal.SIGTERM)\n\
                  assert os.waitpid(child, 0)[1] == 15";
    let recorded = Recorded::new();
    let Some(output) = recorded.run(script) else {
        return;
    };
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "True\n");
    assert_eq!(recorded.names(), ["pid.pickle"]);
}

#[test]
fn of_a_module_and_of_a_text() {
    let recorded = Recorded::new();
    fs::write(
        recorded.folder.path().join("mine.py"),
        "import torch; torch.use()",
    )
    .unwrap();
    for arguments in [["-m", "mine"], ["-c", "import torch; torch.use()"]] {
        let Some(mut python) = recorded.python() else {
            return;
        };
        assert!(python.args(arguments).status().unwrap().success());
    }
    assert_eq!(recorded.names(), ["pid.pickle", "pid.pickle"]);
}

#[test]
fn what_begins_on_another_thread() {
    let script = "import threading, torch\n\
                  thread = threading.Thread(target=torch.use)\nthread.start()\nthread.join()\n\
                  assert threading.active_count() == 1";
    if let Some(names) = names_of(script) {
        assert_eq!(names, ["pid.pickle"]);
    }
}
