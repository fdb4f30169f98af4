//! The program as its users run it: what it prints, where, and with which exit code.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod annotations;
mod anonymise;
mod at;
mod bombs;
mod book;
mod brief;
mod check;
mod closed_pipe;
mod compare;
mod convert;
mod damage;
mod diff;
mod explain;
mod exports;
mod find;
mod flame_graph;
mod fragmentation;
mod golden;
mod help;
mod html;
mod inductor;
mod info;
#[cfg(unix)]
mod interrupted;
mod leaks;
mod mcp;
mod memory_viz;
mod one_figure;
mod oom;
mod opened;
mod pack;
mod peak;
mod plan;
mod plot;
mod program;
mod range;
mod ranks;
mod refused;
mod set_up;
mod skill;
mod stats;
mod top;
mod trace;
mod view;
mod what_if;
