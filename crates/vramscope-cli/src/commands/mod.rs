//! One file (or folder) per subcommand: its arguments, its `--help`, and what it prints.

pub(crate) mod annotations;
pub(crate) mod anonymise;
pub(crate) mod at;
pub(crate) mod brief;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod cut;
pub(crate) mod diff;
pub(crate) mod dry_run;
pub(crate) mod explain;
pub(crate) mod find;
pub(crate) mod flame_graph;
pub(crate) mod fleet;
pub(crate) mod fragmentation;
pub(crate) mod html;
pub(crate) mod inductor;
pub(crate) mod info;
pub(crate) mod leaks;
pub(crate) mod man;
pub(crate) mod oom;
pub(crate) mod pack;
pub(crate) mod peak;
pub(crate) mod plan;
pub(crate) mod plot;
pub(crate) mod range;
#[cfg(unix)]
pub(crate) mod record;
pub(crate) mod skill;
pub(crate) mod sql;
mod stack;
pub(crate) mod stats;
pub(crate) mod top;
pub(crate) mod trace;
pub(crate) mod view;
pub(crate) mod what_if;
