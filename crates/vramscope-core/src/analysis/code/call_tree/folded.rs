//! A tree as folded stacks, which other flame graph programs read: one line per path, with its weight.

use super::CallTree;
use crate::analysis::code::frame_groups::GroupTable;

/// Longest text in bytes; genuine files make some hundred KiB.
const LIMIT_BYTES: usize = 64 << 20;

/// Lines such as `main;forward;linear 4096`: one for each node below the root at which a path ends, the heaviest
/// subtree first. `None` if they would exceed 64 MiB.
#[must_use]
pub fn folded(tree: &CallTree, table: &GroupTable) -> Option<String> {
    let mut text = String::new();
    // The path to the current node, and the end of each level in it.
    let (mut path, mut ends) = (String::new(), vec![0]);
    for node in 1..tree.len() {
        let level = tree.depth[node] as usize;
        ends.truncate(level);
        path.truncate(ends.last().copied().unwrap_or(0));
        if level > 1 {
            path.push(';');
        }
        // Readers split a line at semicolons and take the text after the last space as the weight.
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
