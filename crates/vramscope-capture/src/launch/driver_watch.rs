//! While there is no log, watches for processes that use the driver without the injected library. This distinguishes a
//! program without CUDA from one whose calls were missed.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Time until the first check. It doubles after each check, up to [`MAX_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(50);
const MAX_WAIT: Duration = Duration::from_secs(4);

/// A process that has loaded the driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DriverUser {
    pub(crate) process: u32,
    pub(crate) executable: PathBuf,
    /// Whether it has also loaded the injected library.
    pub(crate) has_library: bool,
}

pub(crate) struct DriverWatch {
    root: u32,
    next_check: Instant,
    wait: Duration,
    driver_user: Option<DriverUser>,
}

impl DriverWatch {
    /// Watches this process and its descendants.
    pub(crate) fn new(root: u32) -> Self {
        Self {
            root,
            next_check: Instant::now() + FIRST_WAIT,
            wait: FIRST_WAIT,
            driver_user: None,
        }
    }

    /// Checks the processes if it is time to.
    pub(crate) fn poll(&mut self) {
        let now = Instant::now();
        if now < self.next_check {
            return;
        }
        self.wait = (self.wait * 2).min(MAX_WAIT);
        self.next_check = now + self.wait;
        let users = process_tree(self.root).into_iter().filter_map(driver_user);
        // A process without the library is the better explanation.
        if let Some(user) = users.min_by_key(|user| user.has_library) {
            self.driver_user = Some(user);
        }
    }

    /// A process that had loaded the driver at the last successful check.
    pub(crate) fn driver_user(&self) -> Option<&DriverUser> {
        self.driver_user.as_ref()
    }
}

fn driver_user(process: u32) -> Option<DriverUser> {
    let maps = fs::read(format!("/proc/{process}/maps")).ok()?;
    let maps = String::from_utf8_lossy(&maps);
    maps.contains("/libcuda.so").then(|| DriverUser {
        process,
        executable: fs::read_link(format!("/proc/{process}/exe")).unwrap_or_default(),
        has_library: maps.contains("/libvramscope_inject.so"),
    })
}

/// A process and all its descendants.
pub(crate) fn process_tree(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&process) = found.get(next) {
        let threads = fs::read_dir(format!("/proc/{process}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            found.extend(
                children
                    .split_whitespace()
                    .filter_map(|child| child.parse::<u32>().ok()),
            );
        }
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_belong_to_the_tree() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let processes = process_tree(std::process::id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(processes.contains(&child.id()), "{processes:?}");
    }
}
