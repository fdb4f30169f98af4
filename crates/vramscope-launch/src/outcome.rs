//! What a recording has left, in words: which files there are, and for missing ones, why.

use std::path::{Path, PathBuf};

use crate::account::Account;
use crate::session::{Settings, Steps};

/// What a program's processes left.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// The snapshots, ordered by time within each process.
    pub files: Vec<PathBuf>,
    /// Remarks for the user, each a sentence or two.
    pub remarks: Vec<String>,
}

/// Maximum number of processes that a remark names.
const NAMED: usize = 4;

impl Outcome {
    pub(crate) fn of(accounts: &[Account], was_reached: bool, settings: &Settings) -> Self {
        let mut files: Vec<PathBuf> = Vec::new();
        for line in accounts.iter().flat_map(|account| account.all("file")) {
            if !files.contains(&line.path) && line.path.exists() {
                files.push(line.path.clone());
            }
        }
        let mut remarks = Remarks::default();
        for account in accounts {
            remarks.about(account);
        }
        remarks.of_steps(accounts, settings);
        let mut remarks = remarks.texts();
        if let Some(nothing) = nothing(accounts, was_reached) {
            remarks.insert(0, nothing);
        }
        Self { files, remarks }
    }
}

/// Whether a process used a device that torch can record.
fn is_recorded(account: &Account) -> bool {
    let device = account.first("device");
    device.is_some_and(|line| line.backend == "native")
}

/// Why there is nothing at all, if no process used a device.
fn nothing(accounts: &[Account], was_reached: bool) -> Option<String> {
    if accounts
        .iter()
        .any(|account| account.first("device").is_some())
    {
        return None;
    }
    if !was_reached {
        return Some(
            "No Python was reached. Either none was started, or with -I, -E or -S, or something in between removed PYTHONPATH \
             (sudo, a container, another machine)."
                .to_owned(),
        );
    }
    let mut imported = accounts.iter().filter_map(|account| account.first("torch"));
    let Some(torch) = imported.next() else {
        return Some("Python was started, but no process imported torch to its end.".to_owned());
    };
    let version = &torch.version;
    Some(if torch.can {
        format!("torch {version} was imported, but no process used a device.")
    } else if torch.npu {
        format!(
            "torch {version} with torch_npu: this does not record Ascend's devices. torch_npu has a recorder of its own, \
             torch.npu.memory._record_memory_history, to be called in the program."
        )
    } else if torch.xpu {
        format!("torch {version} cannot record memory of XPU: its recorder came with 2.11.")
    } else if torch.cuda || torch.hip {
        format!("torch {version} has no recorder of memory: it came with 2.0.")
    } else {
        format!("torch {version} is built for the CPU only: it uses no GPU memory.")
    })
}

/// Sentences, each with the processes that it is about.
#[derive(Default)]
struct Remarks(Vec<(String, Vec<String>)>);

impl Remarks {
    fn add(&mut self, account: &Account, text: impl Into<String>) {
        let text = text.into();
        match self.0.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => {
                if !names.contains(&account.name()) {
                    names.push(account.name());
                }
            }
            None => self.0.push((text, vec![account.name()])),
        }
    }

    fn about(&mut self, account: &Account) {
        for problem in account.all("problem") {
            // torch's own message about such an allocator is longer and less clear.
            if account
                .first("device")
                .is_none_or(|it| it.backend == "native")
            {
                self.add(account, format!("could not do all: {}", problem.text));
            }
        }
        let Some(device) = account.first("device") else {
            return;
        };
        if device.backend != "native" {
            let text = format!(
                "uses the allocator {}, which PyTorch cannot record. `vramscope-capture run -- COMMAND` records the driver's calls.",
                device.backend
            );
            return self.add(account, text);
        }
        if account.first("taken_over").is_some() {
            self.add(
                account,
                "uses PyTorch's recorder itself, with its own settings, which were kept: the files have what it recorded.",
            );
        }
        if account.first("torch").is_some_and(|torch| torch.hip) {
            self.add(
                account,
                "uses ROCm: PyTorch's memory is recorded. Memory that PyTorch does not know about is not recorded.",
            );
        }
        if account.all("file").any(|file| file.full) {
            self.add(
                account,
                "had more events than --max-entries keeps: the newest are kept, and the peak may have been before them.",
            );
        }
        if account.first("file").is_some() {
            return;
        }
        if account.first("empty").is_some() {
            self.add(
                account,
                "used a device, but PyTorch allocated nothing there.",
            );
        } else if Path::new(&format!("/proc/{}", account.process)).exists() {
            self.add(
                account,
                "still runs, and writes its file when it ends; `vramscope record --dump PID` writes it now, if it was \
                 started while `record` was running.",
            );
        } else if account.first("problem").is_none() {
            self.add(
                account,
                "used a device and left no file: it was killed (by SIGKILL, a crash, or the system for lack of memory), or has \
                 ended its recording.",
            );
        }
    }

    /// Remarks about requested steps that never happened.
    fn of_steps(&mut self, accounts: &[Account], settings: &Settings) {
        let Settings { steps, every, .. } = settings;
        // Only a process that reached its end has reported everything.
        let has_ended = |account: &Account| account.all("file").any(|file| file.moment.is_empty());
        let used = || {
            accounts
                .iter()
                .filter(|it| is_recorded(it) && has_ended(it))
        };
        if steps.is_none() && every.is_none() {
            return;
        }
        if used().all(|account| account.steps() == 0) {
            for account in used() {
                let text = "counted no step: steps are those of torch.optim's optimizers.";
                self.add(account, text);
            }
            return;
        }
        // Beside the processes that train there may be others that make no steps.
        for account in used().filter(|account| account.steps() > 0) {
            let made = account.steps();
            let counted = match made {
                1 => "counted 1 step".to_owned(),
                more => format!("counted {more} steps"),
            };
            match steps {
                // Before the first step, only live memory is recorded.
                Some(Steps { first, .. }) if made + 1 < u64::from(*first) => self.add(
                    account,
                    format!("{counted}, and was to be recorded from step {first} on: its file only has the memory live at the end."),
                ),
                Some(Steps { last: Some(last), .. }) if made < u64::from(*last) => self.add(
                    account,
                    format!("{counted}, and was to be recorded to the end of step {last}."),
                ),
                _ => {}
            }
            if let Some(every) = every.filter(|&every| made < u64::from(every)) {
                let text = format!("{counted}, and was to leave a file every {every} steps.");
                self.add(account, text);
            }
        }
    }

    fn texts(self) -> Vec<String> {
        let texts = self.0.into_iter().map(|(text, names)| {
            let more = names.len().saturating_sub(NAMED);
            let named = names[..names.len() - more].join(", ");
            match more {
                0 => format!("{named}: {text}"),
                more => format!("{named} and {more} more: {text}"),
            }
        });
        texts.collect()
    }
}
