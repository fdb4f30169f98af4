//! `vramscope html` and torch's three plots: one file with the viewer and the data inside.

use clap::Args;

use crate::failure::Failure;

/// html
#[derive(Args)]
pub(crate) struct Options {}

/// Runs the command.
///
/// # Errors
/// When it fails.
pub(crate) fn run(_options: &Options) -> Result<(), Failure> {
    Err(Failure::Usage("html is not built yet".to_owned()))
}

/// trace-plot
#[derive(Args)]
pub(crate) struct TracePlotOptions {}

/// Runs the command.
///
/// # Errors
/// When it fails.
pub(crate) fn run_trace_plot(_options: &TracePlotOptions) -> Result<(), Failure> {
    Err(Failure::Usage("trace-plot is not built yet".to_owned()))
}

/// segment-plot
#[derive(Args)]
pub(crate) struct SegmentPlotOptions {}

/// Runs the command.
///
/// # Errors
/// When it fails.
pub(crate) fn run_segment_plot(_options: &SegmentPlotOptions) -> Result<(), Failure> {
    Err(Failure::Usage("segment-plot is not built yet".to_owned()))
}

/// profile-plot
#[derive(Args)]
pub(crate) struct ProfilePlotOptions {}

/// Runs the command.
///
/// # Errors
/// When it fails.
pub(crate) fn run_profile_plot(_options: &ProfilePlotOptions) -> Result<(), Failure> {
    Err(Failure::Usage("profile-plot is not built yet".to_owned()))
}
