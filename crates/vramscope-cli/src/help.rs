//! `vramscope --help`: the commands, grouped by task.

use clap::{Command, CommandFactory};

use crate::Arguments;

/// All commands, grouped by task.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Record", &["record"]),
    (
        "Look",
        &["brief", "info", "explain", "view", "plot", "html"],
    ),
    (
        "Ask",
        &[
            "peak",
            "at",
            "range",
            "top",
            "find",
            "sql",
            "leaks",
            "oom",
            "text",
            "fragmentation",
            "plan",
            "pack",
            "what-if",
            "inductor",
            "dry-run",
            "annotations",
            "diff",
            "check",
            "fleet",
        ],
    ),
    (
        "As torch's _memory_viz.py",
        &[
            "stats",
            "trace",
            "segments",
            "memory",
            "compare",
            "trace-plot",
            "segment-plot",
            "profile-plot",
        ],
    ),
    ("Convert", &["convert", "cut", "anonymise"]),
    ("Set up", &["completions", "man", "skill", "mcp"]),
];

/// The clap command of the whole program.
pub(crate) fn program() -> Command {
    let program = Arguments::command();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}{{after-help}}\n",
        list(&program)
    );
    program.help_template(template)
}

/// Lists the commands, one paragraph per group.
fn list(program: &Command) -> String {
    let names = GROUPS.iter().flat_map(|(_, names)| names.iter());
    let width = names.map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (title, names) in GROUPS {
        text.push_str(&format!("{title}:\n"));
        for name in names {
            let about = program.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {name:width$}  {about}\n"));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_its_place() {
        let mut listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.to_vec())
            .collect();
        let program = Arguments::command();
        let mut all: Vec<&str> = program.get_subcommands().map(Command::get_name).collect();
        // A command for Unix alone keeps its place.
        listed.retain(|name| cfg!(unix) || *name != "record");
        listed.sort_unstable();
        all.sort_unstable();
        assert_eq!(listed, all);
    }

    #[test]
    fn the_arguments_fit_together() {
        program().debug_assert();
    }
}
