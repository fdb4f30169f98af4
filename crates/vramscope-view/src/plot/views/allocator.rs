//! The allocator's segments and blocks at a moment.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::groups::live_at::live_at;
use vramscope_core::analysis::memory::allocator_state::StateSums;
use vramscope_core::analysis::recording::Device;
use vramscope_core::units::Bytes;

use super::{Format, Sheet, Subject, legend_lines, moment_words};
use crate::groups::Groups;
use crate::plot::{Legend, LegendLine, Plot, PlotError, StatePlot};
use crate::theme::Theme;
use vramscope_core::analysis::properties::Property;

/// The allocator's state at a moment.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct AllocatorView {
    /// Moment of the state.
    pub moment: u32,
    /// Meaning of the colours.
    pub colour_by: Property,
}

pub(super) fn file(
    view: &AllocatorView,
    subject: &Subject<'_>,
    sheet: &Sheet,
    format: Format,
) -> Result<Vec<u8>, PlotError> {
    let (device, theme) = (subject.device, &Theme::of(sheet.theme));
    let (history, moment) = (device.history, view.moment);
    let steps = history.reserved_steps.iter();
    let fullest = steps.max_by_key(|&&(moment, bytes)| (bytes, Reverse(moment)));
    let fullest = fullest.map_or(0, |&(moment, _)| moment);
    let (state, fullest) = (device.state_at(moment), device.state_at(fullest));
    let groups = Groups::of(view.colour_by, theme, subject.leaders, device);
    let mut legend = kinds(&state.total, theme);
    let live = live_at(history, moment).map(|id| id.0);
    let totals = groups.totals(&history.allocations.bytes, live);
    legend.extend(legend_lines(&groups, &totals));
    let names: Vec<(String, String)> = state
        .groups
        .iter()
        .map(|group| {
            let pool = group.pool.map(|pool| device.recording.pools().label(pool));
            (
                pool.unwrap_or_default(),
                device.recording.streams().label(group.stream),
            )
        })
        .collect();
    let plot = Plot {
        title: subject.file,
        subtitle: &subject.subtitle(subtitle(device, moment, &state.total)),
        note: if state.segments.is_empty() {
            "no segment is known at this moment"
        } else {
            ""
        },
        legend: Legend {
            title: &format!(
                "in the segments {}, by {}",
                moment_words(moment, history.event_count),
                view.colour_by.name()
            ),
            lines: &legend,
        },
        content: StatePlot {
            state: &state,
            fullest: &fullest,
            colours: &groups.colours,
            matches: subject.found(),
            groups: &names,
        },
    };
    sheet.file(&plot, format)
}

fn subtitle(device: Device<'_>, moment: u32, total: &StateSums) -> String {
    if !device.is_reserved_known() {
        return format!("{} · no segment is recorded", device.title());
    }
    format!(
        "{} · {} · {} of {} in use · largest free block {}",
        device.title(),
        moment_words(moment, device.history.event_count),
        Bytes(total.active_bytes()),
        Bytes(total.reserved_bytes),
        Bytes(total.largest_free_bytes)
    )
}

/// Legend lines for memory that holds no live allocation; empty kinds are left out.
fn kinds(total: &StateSums, theme: &Theme) -> Vec<LegendLine> {
    let kinds = [
        (theme.grid, "free inside segments", total.free_bytes),
        (theme.rounding, "lost to rounding", total.rounding_bytes()),
        (theme.pending_free, "pending free", total.pending_bytes),
    ];
    kinds
        .into_iter()
        .filter(|&(.., bytes)| bytes > 0)
        .map(|(rgb, label, bytes)| LegendLine {
            rgb,
            label: label.to_owned(),
            bytes: Some(bytes),
        })
        .collect()
}
