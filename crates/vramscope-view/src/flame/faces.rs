//! Labels and colours of the boxes and rows of a call tree.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::code::call_tree::Chains;
use vramscope_core::analysis::code::frame_groups::{Group, GroupId, GroupTable};
use vramscope_core::analysis::code::frames::FrameClass;

use super::mixes::{Mixes, Part};
use crate::colour::{Leaders, Rgb, stable_hash};
use crate::display;
use crate::theme::Theme;

/// The colours of a tree's boxes.
#[derive(Clone, Copy, Debug)]
pub struct BoxColours<'a> {
    /// The colours for code.
    pub code: &'a GroupColours,
    /// The groups that determine the colours instead, if any.
    pub mixes: Option<&'a Mixes>,
}

/// A group of allocations in a box.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BoxPart {
    /// Its name.
    pub label: String,
    /// Its colour.
    pub rgb: Rgb,
    /// Its part of the box's weight.
    pub weight: u64,
}

/// Labels and colours of a tree's chains.
pub struct Faces<'a> {
    chains: &'a Chains,
    table: &'a GroupTable,
    colours: BoxColours<'a>,
    /// By chain; empty if colours stand for code.
    parts: Vec<Vec<Part>>,
}

impl<'a> Faces<'a> {
    /// The faces of all chains. `table` and `colours` must belong to their tree.
    #[must_use]
    pub fn of(chains: &'a Chains, table: &'a GroupTable, colours: BoxColours<'a>) -> Self {
        let parts = colours.mixes.map(|mixes| mixes.parts(chains));
        Self {
            chains,
            table,
            colours,
            parts: parts.unwrap_or_default(),
        }
    }

    /// The label of a chain: its name or, for the trunk, the number of callers in it.
    #[must_use]
    pub fn label(&self, chain: u32) -> String {
        if self.chains.is_trunk(chain) {
            return trunk_label(self.chains, chain);
        }
        self.table.get(self.group(chain)).label.clone()
    }

    /// The groups with the largest part of a chain, largest first; none if colours stand for code.
    #[must_use]
    pub fn parts(&self, chain: u32) -> Vec<BoxPart> {
        let part = |&(group, weight): &Part| {
            let (label, rgb) = self.colours.mixes?.group(group)?;
            Some(BoxPart {
                label: label.to_owned(),
                rgb,
                weight,
            })
        };
        let parts = self.parts.get(chain as usize);
        parts.into_iter().flatten().filter_map(part).collect()
    }

    /// The colour of a chain: that of its largest group, or of its code.
    #[must_use]
    pub fn fill(&self, chain: u32) -> Rgb {
        let Some(mixes) = self.colours.mixes else {
            return self.colours.code.get(self.group(chain));
        };
        let largest = self
            .parts
            .get(chain as usize)
            .and_then(|parts| parts.first());
        let group = largest.and_then(|&(group, _)| mixes.group(group));
        group.map_or(self.colours.code.unknown, |(_, rgb)| rgb)
    }

    fn group(&self, chain: u32) -> GroupId {
        self.chains.tree.group[chain as usize]
    }
}

/// `34 frames that 99.4 % came through`.
fn trunk_label(chains: &Chains, trunk: u32) -> String {
    let totals = &chains.tree.total;
    let share = display::percent(totals[trunk as usize].weight, totals[0].weight);
    let frames = match chains.lengths[trunk as usize] {
        1 => "1 frame".to_owned(),
        several => format!("{several} frames"),
    };
    format!("{frames} that {share} came through")
}

/// The fill colour of each group.
#[derive(Clone, Debug, Default)]
pub struct GroupColours {
    fills: Vec<Rgb>,
    unknown: Rgb,
}

impl GroupColours {
    /// Call sites have the colour of their text, as in all views, and so have the user's frames. Libraries' frames are
    /// paler, because they make up most of a stack and matter least. Frames of the runtime, and groups that are not code,
    /// are grey.
    #[must_use]
    pub fn of(
        table: &GroupTable,
        theme: &Theme,
        leaders: &Leaders,
        is_call_site: impl Fn(&str) -> bool,
    ) -> Self {
        let fill = |(row, group): (usize, &Group)| {
            let id = GroupId(row as u32);
            let is_known = id.is_code() && group.class != FrameClass::Runtime;
            let own = leaders.colour(theme, is_known.then(|| stable_hash(&group.label)));
            match group.class {
                FrameClass::Library if !is_call_site(&group.label) => pale(theme, own),
                _ => own,
            }
        };
        Self {
            fills: table.groups().iter().enumerate().map(fill).collect(),
            unknown: theme.unknown,
        }
    }

    /// The grey for everything without a colour of its own.
    #[must_use]
    pub fn unknown(&self) -> Rgb {
        self.unknown
    }

    /// The colour of a group; grey if the table has no such group.
    #[must_use]
    pub fn get(&self, id: GroupId) -> Rgb {
        self.fills.get(id.index()).copied().unwrap_or(self.unknown)
    }
}

/// The colour mixed with 55 % of the background.
fn pale(theme: &Theme, colour: Rgb) -> Rgb {
    let mix = |of: u8, ground: u8| ((u16::from(of) * 45 + u16::from(ground) * 55) / 100) as u8;
    std::array::from_fn(|c| mix(colour[c], theme.background[c]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use vramscope_core::analysis::code::frame_groups::{FrameGroups, GroupOptions};
    use vramscope_core::analysis::code::frames::FrameClasses;

    #[test]
    fn call_sites_have_the_colour_that_they_have_everywhere() {
        const FILE: &[u8] = br#"{"segments": [], "device_traces": [[
            {"action": "alloc", "addr": 1, "size": 8, "stream": 0, "frames": [
                {"name": "mm", "filename": "/v/site-packages/torch/f.py", "line": 5},
                {"name": "main", "filename": "/me/run/train.py", "line": 2}]}]]}"#;
        let snapshot = vramscope_core::decode(FILE).unwrap();
        let mut table = GroupTable::default();
        let classes = FrameClasses::of(&snapshot);
        let _ = FrameGroups::of(&snapshot, &classes, &GroupOptions::default(), &mut table);
        let theme = Theme::light();
        let leaders = Leaders::default();
        let colour = |label: &str| leaders.colour(&theme, Some(stable_hash(label)));
        let (library, user) = ("torch/f.py:5 mm", "run/train.py:2 main");
        let of = |label: &str, sites: &[&str]| {
            GroupColours::of(&table, &theme, &leaders, |label| sites.contains(&label))
                .get(table.find(label).unwrap())
        };
        assert_eq!(of(user, &[]), colour(user));
        assert_eq!(of(library, &[library]), colour(library));
        assert_eq!(of(library, &[]), pale(&theme, colour(library)));
        let none = GroupColours::of(&table, &theme, &leaders, |_| false);
        assert_eq!(none.get(GroupId::NO_STACK), theme.unknown);
    }
}
