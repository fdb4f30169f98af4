//! Answers to [`protocol::views::compare`](vramscope_protocol::views::compare).

mod flame;
mod picture;
mod sites;

use std::collections::HashMap;
use std::collections::VecDeque;

use vramscope_core::analysis::code::frame_groups::GroupOptions;
use vramscope_core::analysis::compare::changes::{Comparison, compare};
use vramscope_core::analysis::compare::headline::headline;
use vramscope_core::analysis::compare::side::{Profile, ProfileNames, profile};
use vramscope_core::analysis::groups::turnover::{Turnover, turnover};
use vramscope_core::analysis::properties::Property;
use vramscope_core::analysis::report::named_moments::named_moments;
use vramscope_core::analysis::time::curves::{CurveAxis, Curves};
use vramscope_core::analysis::time::history::History;
use vramscope_core::analysis::time::selection::Selection;
use vramscope_core::model::DeviceIndex;
use vramscope_protocol::Extra;
use vramscope_protocol::views::compare::{
    Answer, Compared, ComparisonId, HandedProfile, Naming, Question, SideData, SideSpec, SiteOrder,
};
use vramscope_view::change_flame::keys;
use vramscope_view::flame::NodeKey;

use super::super::document::Document;

/// The most comparisons kept: the one that is shown, and the one before it, as questions about that may still be on
/// their way.
const KEPT: usize = 2;
/// The most columns of a curve.
const MOST_COLUMNS: u32 = 4_000;

/// The data kept from one question to the next.
#[derive(Default)]
pub(super) struct Cache {
    names: Vec<(Naming, ProfileNames)>,
    /// The curves that were asked for last: those of both sides are mostly the same.
    curves: Option<((DeviceIndex, CurveAxis, u32), Curves)>,
    kept: VecDeque<Kept>,
    last_id: u32,
}

/// A kept comparison.
struct Kept {
    /// The question, if it is about this file alone; else the file of a side may be read anew.
    of: Option<(SideSpec, SideSpec, Naming)>,
    answer: Compared,
    comparison: Comparison,
    /// Name of a frame or call site → the filter that finds the allocations with it on their stacks.
    filters: HashMap<String, String>,
    /// Name of a call site → its turnover; `None` unless two moments of one device are compared.
    turnovers: Option<HashMap<String, Turnover>>,
    /// The rows of the table, in the order and selection that were asked for last.
    sorted: Option<((SiteOrder, bool), Vec<u32>)>,
    /// The keys of the tree's nodes, once a flame graph was asked for.
    keys: Option<Vec<NodeKey>>,
}

impl Kept {
    /// The tree's nodes by their path.
    fn keys(&mut self) -> &[NodeKey] {
        let tree = &self.comparison.tree;
        self.keys.get_or_insert_with(|| keys(tree))
    }

    /// The tree's node of a path; the root, if there is none.
    fn node(&mut self, key: Option<NodeKey>) -> u32 {
        let keys = self.keys();
        let node = key.and_then(|key| keys.iter().position(|&known| known == key));
        node.unwrap_or(0) as u32
    }
}

impl Cache {
    /// The names of frames and call sites.
    fn names(&mut self, document: &Document, naming: Naming) -> &ProfileNames {
        let place = self.names.iter().position(|(of, _)| *of == naming);
        let place = place.unwrap_or_else(|| {
            let options = GroupOptions {
                grouping: naming.grouping,
                fold: naming.fold,
                ..GroupOptions::default()
            };
            self.names
                .push((naming, ProfileNames::of(document, &options)));
            self.names.len() - 1
        });
        &self.names[place].1
    }

    /// The curves of a device.
    fn curves(&mut self, history: &History, axis: CurveAxis, columns: u32) -> Curves {
        let columns = columns.min(MOST_COLUMNS);
        let of = (history.device, axis, columns);
        let known = self.curves.take().filter(|(known, _)| *known == of);
        let (_, curves) = self
            .curves
            .insert(known.unwrap_or_else(|| (of, Curves::of(history, axis, columns))));
        curves.clone()
    }

    /// The answer of a comparison that is still kept, which is the newest from now on: the page asks again whenever it
    /// shows the view.
    fn known(&mut self, before: &SideData, after: &SideData, naming: Naming) -> Option<Compared> {
        let of = within_file(before, after, naming)?;
        let place = self.kept.iter().position(|kept| kept.of == Some(of))?;
        let kept = self.kept.remove(place)?;
        let answer = kept.answer.clone();
        self.kept.push_front(kept);
        Some(answer)
    }

    fn kept(&mut self, id: ComparisonId) -> Option<&mut Kept> {
        self.kept.iter_mut().find(|kept| kept.answer.id == id)
    }
}

/// The answer with its attachment; `None` if there is no such device, or the comparison is no longer kept.
pub(super) fn answer(
    question: &Question,
    document: &Document,
    cache: &mut Cache,
) -> Option<(Answer, Extra)> {
    let answer = match question {
        Question::Moments { device } => Answer::Moments(named_moments(*document.device(*device)?)),
        Question::Curves {
            device,
            axis,
            columns,
        } => {
            let history = document.device(*device)?.history;
            Answer::Curves(cache.curves(history, *axis, *columns))
        }
        Question::Profile { side, naming } => {
            let profile = profile_of(document, cache, side, *naming)?;
            Answer::Profile(HandedProfile(profile.into()))
        }
        Question::Compare {
            before,
            after,
            naming,
        } => {
            let known = cache.known(before, after, *naming);
            let answer = known.or_else(|| compared(document, cache, before, after, *naming))?;
            Answer::Compared(Box::new(answer))
        }
        Question::Sites {
            comparison,
            order,
            changed_only,
            first,
            rows,
            theme,
        } => {
            let kept = cache.kept(*comparison)?;
            Answer::Sites(sites::rows(
                kept,
                (*order, *changed_only),
                (*first, *rows),
                (*theme, document.leaders()),
            ))
        }
        Question::Flame { comparison, .. } => {
            Answer::Flame(flame::scene(cache.kept(*comparison)?, question)?)
        }
        Question::Picture { .. } => {
            let svg = picture::svg(cache.kept.front_mut()?, question)?;
            return Some((Answer::Picture, Extra::Bytes(svg)));
        }
    };
    Some((answer, Extra::Nothing))
}

/// What identifies a comparison within this file.
fn within_file(
    before: &SideData,
    after: &SideData,
    naming: Naming,
) -> Option<(SideSpec, SideSpec, Naming)> {
    match (before, after) {
        (SideData::Here(before), SideData::Here(after)) => Some((*before, *after, naming)),
        _ => None,
    }
}

fn profile_of(
    document: &Document,
    cache: &mut Cache,
    side: &SideSpec,
    naming: Naming,
) -> Option<Profile> {
    let device = document.device(side.device)?;
    let curves = cache.curves(device.history, side.axis, side.columns);
    let names = cache.names(document, naming);
    Some(profile(*device, names, side.selection, curves))
}

fn compared(
    document: &Document,
    cache: &mut Cache,
    before: &SideData,
    after: &SideData,
    naming: Naming,
) -> Option<Compared> {
    let mut side = |data: &SideData| {
        Some(match data {
            SideData::Here(spec) => {
                HandedProfile(profile_of(document, cache, spec, naming)?.into())
            }
            SideData::Given(profile) => profile.clone(),
        })
    };
    let (old, new) = (side(before)?, side(after)?);
    let (old, new) = (&*old.0, &*new.0);
    let comparison = compare(old, new);
    let turned = turnovers(document, cache, before, after, naming);
    cache.last_id += 1;
    let id = ComparisonId(cache.last_id);
    let changed = comparison
        .sites
        .iter()
        .filter(|site| !site.change.is_none());
    let answer = Compared {
        id,
        headline: headline(
            ["A", "B"],
            comparison.total,
            &comparison.sites,
            Property::CallSite,
        ),
        before: brief(old),
        after: brief(new),
        turnover: turned.as_ref().map(|(total, _)| *total),
        sites: comparison.sites.len() as u32,
        changed_sites: changed.count() as u32,
        settings: comparison.settings.clone(),
        settings_known: !old.settings.is_empty() || !new.settings.is_empty(),
    };
    cache.kept.truncate(KEPT - 1);
    cache.kept.push_front(Kept {
        of: within_file(before, after, naming),
        answer: answer.clone(),
        comparison,
        filters: filters(old).chain(filters(new)).collect(),
        turnovers: turned.map(|(_, sites)| sites),
        sorted: None,
        keys: None,
    });
    Some(answer)
}

fn filters(profile: &Profile) -> impl Iterator<Item = (String, String)> {
    let names = profile.labels.iter().zip(&profile.filters);
    let of_code = names.filter(|(_, filter)| !filter.is_empty());
    of_code.map(|(name, filter)| (name.clone(), filter.clone()))
}

/// A side without its names, tree, sites and settings, which the page does not show.
fn brief(profile: &Profile) -> Profile {
    Profile {
        device: profile.device,
        device_name: profile.device_name.clone(),
        figures: profile.figures.clone(),
        total: profile.total,
        curves: profile.curves.clone(),
        marks: profile.marks.clone(),
        ..Profile::default()
    }
}

/// Turnover in all and by call site; `None` unless two moments of one device are compared.
fn turnovers(
    document: &Document,
    cache: &mut Cache,
    before: &SideData,
    after: &SideData,
    naming: Naming,
) -> Option<(Turnover, HashMap<String, Turnover>)> {
    let (SideData::Here(before), SideData::Here(after)) = (before, after) else {
        return None;
    };
    let (Selection::LiveAt(from), Selection::LiveAt(to)) = (before.selection, after.selection)
    else {
        return None;
    };
    let device = document
        .device(before.device)
        .filter(|_| before.device == after.device)?;
    let found = turnover(device.history, device.site_of(), from, to);
    let names = cache.names(document, naming);
    let mut sites: HashMap<String, Turnover> = HashMap::new();
    for site in &found.sites {
        let name = names.site(site.site).to_owned();
        sites.entry(name).or_default().join(site.turnover);
    }
    Some((found.total, sites))
}

#[cfg(test)]
mod tests;
