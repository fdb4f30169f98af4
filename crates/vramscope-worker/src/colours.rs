//! The colours of bands, and their meaning.

use vramscope_core::analysis::time::selection::Selection;
use vramscope_protocol::{LegendEntry, LegendOf, Look, Picture};
use vramscope_view::groups::{GroupTotal, Groups, Lives};
use vramscope_view::theme::Theme;

use super::document::{Device, Document};

/// The groups and colours of the last look. Every frame needs them, and they change rarely.
#[derive(Default)]
pub(super) struct Colours {
    known: Option<(Look, Groups)>,
    of_segments: Option<(Look, Groups)>,
}

impl Colours {
    pub(super) fn of(&mut self, device: Device<'_>, look: &Look) -> &Groups {
        let look = colouring(look);
        let known = self.known.take().filter(|(known, _)| *known == look);
        let theme = Theme::of(look.theme);
        let groups = || Groups::of(look.colour_by, &theme, device.leaders(), *device);
        &self
            .known
            .insert(known.unwrap_or_else(|| (look.clone(), groups())))
            .1
    }

    /// The groups of the pieces of a device's segments.
    pub(super) fn of_segments(&mut self, device: Device<'_>, look: &Look) -> &Groups {
        let look = colouring(look);
        let known = self.of_segments.take().filter(|(known, _)| *known == look);
        let theme = Theme::of(look.theme);
        let groups = || Groups::of_segments(look.colour_by, &theme, device.leaders(), *device);
        &self
            .of_segments
            .insert(known.unwrap_or_else(|| (look.clone(), groups())))
            .1
    }

    /// The meaning of a look's colours, with the selected bytes; the largest first, and last what is drawn elsewhere only.
    pub(super) fn legend(
        &mut self,
        document: &Document,
        asked: &LegendOf,
    ) -> Option<Vec<LegendEntry>> {
        let device = document.device(asked.device)?;
        let look = &Look {
            device: asked.device,
            picture: asked.picture,
            colour_by: asked.colour_by,
            theme: asked.theme,
            ..Look::default()
        };
        let history = device.history;
        let (all, most) = (0..=history.event_count, asked.entries as usize);
        let (groups, lines) = if look.picture == Picture::Segments {
            let segments = device.segments();
            let peak = Selection::LiveAt(device.reserved().index.peak_moment());
            let selection = asked.selection.unwrap_or(peak);
            let is_selected = |&piece: &u32| {
                let piece = piece as usize;
                selection.holds(segments.born[piece], segments.died[piece])
            };
            let pieces = (0..segments.len() as u32).filter(is_selected);
            let groups = self.of_segments(device, look);
            let lives = Lives::of_segments(segments);
            (groups, groups.legend(lives, pieces, all, most))
        } else {
            let peak = Selection::LiveAt(history.peak_moment);
            let selection = asked.selection.unwrap_or(peak);
            let rows = selection.allocations(history).map(|id| id.0);
            let groups = self.of(device, look);
            (groups, groups.legend(Lives::of(history), rows, all, most))
        };
        let entry = |total: &GroupTotal| {
            let group = total.group as usize;
            Some(LegendEntry {
                rgb: *groups.rgb.get(group)?,
                label: groups.labels.get(group)?.clone(),
                bytes: total.bytes,
                allocations: u32::try_from(total.count).unwrap_or(u32::MAX),
                search: groups.filter(total.group).map(|filter| filter.to_string()),
            })
        };
        Some(lines.iter().filter_map(entry).collect())
    }
}

/// The part of a look that colours depend on. They are the same on both axes and for every filter.
fn colouring(look: &Look) -> Look {
    Look {
        device: look.device,
        colour_by: look.colour_by,
        theme: look.theme,
        ..Look::default()
    }
}
