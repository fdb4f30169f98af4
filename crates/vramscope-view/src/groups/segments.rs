//! The groups that a colour mode divides the segments of the segment timeline into.

use super::{By, Groups, by_order};
use crate::colour::{ColourMode, Leaders};
use crate::theme::Theme;
use vramscope_core::analysis::code::call_sites::CallSiteId;
use vramscope_core::analysis::groups::grouping::NOT_RECORDED;
use vramscope_core::analysis::memory::pools::Pool;
use vramscope_core::analysis::recording::Device;
use vramscope_core::model::SegmentKind;

impl Groups {
    /// Groups the parts of a device's segments by `mode`. Segments have no category and no role, so
    /// those modes tell segments for small requests from those for large requests; all code is told by call sites. `leaders` are those of the
    /// recording's call sites.
    #[must_use]
    pub fn of_segments(
        mode: ColourMode,
        theme: &Theme,
        leaders: &Leaders,
        device: Device<'_>,
    ) -> Self {
        let (snapshot, history) = (device.snapshot(), device.history);
        let (segments, sites) = (device.segments(), device.call_sites());
        let pieces = 0..segments.len();
        let groups = match mode {
            ColourMode::CallSite
            | ColourMode::Function
            | ColourMode::File
            | ColourMode::Module
            | ColourMode::Package
            | ColourMode::Annotation => {
                let site = |piece| sites.of_stack(segments.stack(snapshot, history, piece));
                let sites_of: Vec<CallSiteId> = pieces.map(site).collect();
                Self::by_site(theme, leaders, sites, &sites_of)
            }
            ColourMode::Operator => {
                let operators = sites.operators();
                let operator = |piece| operators.of_stack(segments.stack(snapshot, history, piece));
                Self::by_operator(
                    theme,
                    leaders,
                    operators,
                    &pieces.map(operator).collect::<Vec<_>>(),
                )
            }
            ColourMode::Size => {
                let size = |piece| segments.segment_of(piece).extent_bytes;
                Self::by_size(theme, &pieces.map(size).collect::<Vec<u64>>())
            }
            ColourMode::Age => Self::by_birth(theme, history, &segments.born),
            ColourMode::Stream => {
                let streams = device.recording.streams();
                let numbers = streams.numbers();
                let number = |piece| numbers.get(&segments.segment_of(piece).stream).copied();
                Self::by_ordinal(theme, streams.labels(), pieces.map(number))
            }
            ColourMode::Pool => {
                let pools = device.recording.pools();
                let labels = pools.all().iter().map(Pool::label);
                let number = |piece| pools.number(segments.segment_of(piece).pool?);
                Self::by_ordinal(theme, labels, pieces.map(number))
            }
            ColourMode::Category | ColourMode::Role => {
                let labels = ["for requests up to 1 MiB", "for larger requests"];
                let number = |piece| match segments.segment_of(piece).kind? {
                    SegmentKind::Small => Some(0),
                    SegmentKind::Large => Some(1),
                    SegmentKind::Other(_) => None,
                };
                let labels = labels.map(str::to_owned);
                Self::by_ordinal(theme, labels, pieces.map(number))
            }
        };
        Self {
            by: By::Segments,
            ..groups
        }
    }

    fn by_ordinal(
        theme: &Theme,
        labels: impl IntoIterator<Item = String>,
        ordinals: impl Iterator<Item = Option<u32>>,
    ) -> Self {
        let labels: Vec<String> = labels
            .into_iter()
            .chain([NOT_RECORDED.to_owned()])
            .collect();
        let unknown = labels.len() as u32 - 1;
        let group_of = ordinals.map(|ordinal| ordinal.unwrap_or(unknown));
        Self::by_number(theme, labels, group_of.collect(), by_order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vramscope_core::analysis::recording::Recording;
    use vramscope_synth::{snapshot::Producer, text};

    #[test]
    fn every_piece_has_a_group_and_a_colour_in_every_mode() {
        let written = "alloc a 4MiB main.py:10:train\nalloc b 2KiB main.py:20:step\nfree a";
        let bytes = text::pickle(written, Producer::Python(2, 15)).unwrap();
        let recording = Recording::of(vramscope_core::decode(bytes.as_slice()).unwrap());
        let device = recording.device(0).unwrap();
        assert_eq!(device.segments().len(), 2);
        let labels = [
            (ColourMode::CallSite, "main.py:10"),
            (ColourMode::Size, "1.00 MiB to 64.0 MiB"),
            (ColourMode::Stream, "default stream"),
            (ColourMode::Pool, "default pool"),
            (ColourMode::Category, "for larger requests"),
            (ColourMode::Age, "events 1 to"),
        ];
        for (mode, label) in labels {
            let theme = Theme::light();
            let groups = Groups::of_segments(mode, &theme, &Leaders::default(), device);
            assert_eq!(groups.group_of.len(), 2);
            assert_eq!(groups.colours.index.len(), 2);
            let first = &groups.labels[groups.group_of[0] as usize];
            assert!(first.contains(label), "{mode:?}: {first}");
        }
        assert_eq!(ColourMode::usual_of_segments(device), ColourMode::CallSite);
    }

    #[test]
    fn segments_without_stacks_are_told_apart_by_size() {
        let bytes = text::pickle("alloc a 4MiB\nalloc b 2KiB", Producer::Python(2, 15)).unwrap();
        let recording = Recording::of(vramscope_core::decode(bytes.as_slice()).unwrap());
        let device = recording.device(0).unwrap();
        assert_eq!(ColourMode::usual_of_segments(device), ColourMode::Size);
    }
}
