//! A tree as folded stacks: one line per path with its weight, the text that other flame graph programs
//! read.

use super::CallTree;
use crate::analysis::frame_groups::GroupTable;

/// Longest text in bytes: genuine files make some hundred KiB.
const LIMIT_BYTES: usize = 64 << 20;

/// `main;forward;linear 4096`, a line for each node below the root in which something ends, heaviest
/// subtree first. `None` where that would be more than 64 MiB.
#[must_use]
pub fn folded(tree: &CallTree, table: &GroupTable) -> Option<String> {
    let mut text = String::new();
    // The path to the node at hand, and where in it each level ends.
    let (mut path, mut ends) = (String::new(), vec![0]);
    for node in 1..tree.len() {
        let level = tree.depth[node] as usize;
        ends.truncate(level);
        path.truncate(ends.last().copied().unwrap_or(0));
        if level > 1 {
            path.push(';');
        }
        // A line is cut at semicolons, and its weight begins after its last space.
        let label = &table.get(tree.group[node]).label;
        path.extend(label.chars().map(|c| match c {
            ';' => ':',
            '\n' | '\r' => ' ',
            other => other,
        }));
        ends.push(path.len());
        let own = tree.own[node].weight;
        if own > 0 {
            if text.len() + path.len() > LIMIT_BYTES {
                return None;
            }
            text.push_str(&path);
            text.push_str(&format!(" {own}\n"));
        }
    }
    Some(text)
}
