//! The training steps as ticks on an axis.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::recording::Device;
use vramscope_core::analysis::time::lanes::StepsBy;

use crate::raster::Bands;

/// Most ticks; no screen shows more distinctly.
const MOST_STEPS: usize = 4_000;

/// The training steps on one axis.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct StepMarks {
    /// The source of the steps; `None` if there are none.
    pub by: Option<StepsBy>,
    /// Their name, with `#` for numbers.
    pub pattern: String,
    /// Number of steps.
    pub count: u64,
    /// Start of each step on the axis; thinned evenly if there are very many.
    pub starts: Vec<f64>,
}

impl StepMarks {
    /// The steps of a device on the axis of `bands`.
    #[must_use]
    pub fn of(device: Device<'_>, bands: &Bands<'_>) -> Self {
        let Some(found) = device.steps() else {
            return Self::default();
        };
        let stride = found.steps.len().div_ceil(MOST_STEPS).max(1);
        let starts = found.steps.iter().step_by(stride);
        Self {
            by: Some(found.by),
            pattern: found.pattern.clone(),
            count: found.steps.len() as u64,
            starts: starts
                .map(|step| bands.moment_x(step.moments.0 as usize + 1))
                .collect(),
        }
    }
}
