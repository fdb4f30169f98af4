//! The number of executions so far, recorded in the fuzz targets' README.

use std::fs;

use anyhow::{Context, Result};

use crate::process::root;

/// Adds executions of a target to its row of the table.
pub(crate) fn add(target: &str, count: u64) -> Result<()> {
    let path = root().join("fuzz/README.md");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let added = with(&text, target, count)
        .with_context(|| format!("{} has no row for {target}", path.display()))?;
    fs::write(&path, added).with_context(|| format!("cannot write {}", path.display()))
}

/// The text with the target's row increased.
fn with(text: &str, target: &str, count: u64) -> Option<String> {
    let start = format!("| `{target}` | ");
    let row = text.lines().find_map(|line| {
        let number = line.strip_prefix(&start)?.strip_suffix(" |")?;
        Some((line, number.parse::<u64>().ok()?))
    });
    let (line, before) = row?;
    let more = format!("{start}{} |", before.saturating_add(count));
    Some(text.replacen(line, &more, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_row_with_a_number_changes() {
        let text = "| `decode` | any bytes |\n| `decode` | 12 |\n| `inductor` | 1 |\n";
        assert_eq!(
            with(text, "decode", 30).unwrap(),
            "| `decode` | any bytes |\n| `decode` | 42 |\n| `inductor` | 1 |\n"
        );
        assert_eq!(with(text, "other", 1), None);
    }
}
