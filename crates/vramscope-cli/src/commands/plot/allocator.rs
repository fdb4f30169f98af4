//! The picture of the allocator's state at a moment.

use std::cmp::Reverse;

use vramscope_core::analysis::groups::live_at::live_at;
use vramscope_core::analysis::memory::allocator_state::StateSums;
use vramscope_core::units::Bytes;
use vramscope_view::groups::{Groups, pool_label};
use vramscope_view::plot::{Legend, LegendLine, Plot, StatePlot};
use vramscope_view::theme::Theme;

use super::sheet::{Sheet, legend_lines};
use super::{Options, moment_words, title};
use crate::failure::Failure;
use crate::subject::Device;

/// Draws segments and blocks.
pub(super) fn draw(
    options: &Options,
    device: &Device<'_>,
    sheet: &Sheet<'_>,
) -> Result<Vec<u8>, Failure> {
    let (subject, history) = (device.subject, device.history);
    let moment = device.moment(options.at.as_deref().unwrap_or("peak"))?;
    let steps = history.reserved_steps.iter();
    let fullest = steps.max_by_key(|&&(moment, bytes)| (bytes, Reverse(moment)));
    let fullest = fullest.map_or(0, |&(moment, _)| moment);
    let at = |moment| device.state_at(moment);
    let (state, fullest) = (at(moment), at(fullest));
    let mode = options.colour.unwrap_or_default();
    let groups = Groups::of(mode.mode(), sheet.theme, **device);
    let mut legend = kinds(&state.total, sheet.theme);
    let live = live_at(history, moment).map(|id| id.0);
    let totals = groups.totals(&history.allocations.bytes, live);
    legend.extend(legend_lines(&groups, &totals));
    let names: Vec<(String, String)> = state
        .groups
        .iter()
        .map(|group| {
            let pool = group.pool.map(pool_label).unwrap_or_default();
            (pool, subject.stream_label_or_default(group.stream))
        })
        .collect();
    sheet.file(&Plot {
        title: &title(&subject.name),
        subtitle: &subtitle(device, moment, &state.total),
        note: if state.segments.is_empty() {
            "no segment is known at this moment"
        } else {
            ""
        },
        legend: Legend {
            title: &format!(
                "in the segments {}, by {}",
                moment_words(moment),
                mode.word()
            ),
            lines: &legend,
        },
        content: StatePlot {
            state: &state,
            fullest: &fullest,
            colours: &groups.colours,
            groups: &names,
        },
    })
}

fn subtitle(device: &Device<'_>, moment: u32, total: &StateSums) -> String {
    format!(
        "device {} · {} · allocated {} of reserved {} · largest free block {}",
        device.index(),
        moment_words(moment),
        Bytes(total.allocated_bytes),
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
