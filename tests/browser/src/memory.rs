//! Memory of a process and its children, as Linux reports it.

use std::fs;

/// Private and shared-memory bytes of `root` and every process below it, the largest first.
pub(crate) fn of_tree(root: u32) -> Vec<u64> {
    let mut family = vec![root];
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        if let Some(id) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
            && let Some(parent) = status_field(id, "PPid:")
        {
            parents.push((id, parent));
        }
    }
    let mut done = 0;
    while let Some(&id) = family.get(done) {
        done += 1;
        family.extend(
            parents
                .iter()
                .filter(|&&(_, parent)| parent == u64::from(id))
                .map(|&(id, _)| id),
        );
    }
    let mut sizes: Vec<u64> = family
        .into_iter()
        .filter_map(|id| {
            Some((status_field(id, "RssAnon:")? + status_field(id, "RssShmem:")?) * 1024)
        })
        .collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes
}

/// A number from `/proc/<id>/status`, in which sizes are in KiB.
fn status_field(id: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
