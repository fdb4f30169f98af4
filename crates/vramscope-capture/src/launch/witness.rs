//! Looks, while no log has appeared, whether the program or what it started uses the driver without the library: the
//! difference between "no CUDA" and "CUDA that we did not see".

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The first look; each further one waits twice as long, up to the last.
const FIRST_LOOK: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(4);

/// A process that has the driver in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DriverUser {
    pub(crate) process: u32,
    pub(crate) executable: PathBuf,
    /// Whether the library is there as well.
    pub(crate) has_library: bool,
}

/// What was seen of a program's processes.
pub(crate) struct Witness {
    root: u32,
    next_look: Instant,
    wait: Duration,
    driver_user: Option<DriverUser>,
}

impl Witness {
    /// Of this process and what it starts.
    pub(crate) fn new(root: u32) -> Self {
        Self {
            root,
            next_look: Instant::now() + FIRST_LOOK,
            wait: FIRST_LOOK,
            driver_user: None,
        }
    }

    /// Looks if it is time to.
    pub(crate) fn look(&mut self) {
        let now = Instant::now();
        if now < self.next_look {
            return;
        }
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
        self.next_look = now + self.wait;
        let users = family(self.root).into_iter().filter_map(driver_user);
        // One without the library says more.
        if let Some(user) = users.min_by_key(|user| user.has_library) {
            self.driver_user = Some(user);
        }
    }

    /// A process that was seen with the driver in memory.
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

/// A process and all that descend from it.
pub(crate) fn family(root: u32) -> Vec<u32> {
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
    fn children_belong_to_the_family() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let family = family(std::process::id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(family.contains(&child.id()), "{family:?}");
    }
}
