//! The file, device and moment of each side of the comparison: the user's choices, looked up among the open files.

use std::rc::Rc;

use vramscope_core::analysis::compare::names::names_apart;
use vramscope_core::analysis::time::selection::Selection;
use vramscope_core::fleet::statistic::{Measure, outlier_of};
use vramscope_core::model::DeviceIndex;
use vramscope_core::sorting::SortFew;

use super::choices::{CompareChoices, FileChoice, RecordingChoice, SideChoice, SideWhat, Which};
use super::selected::{OfRange, Places};
use super::{OpenFile, Tab, sentences};
use crate::engine::SessionId;

/// A side that can be asked about.
#[derive(Clone, PartialEq, Debug)]
pub struct Side {
    /// Its file.
    pub id: SessionId,
    /// The file's name.
    pub name: String,
    /// What tells the name from those of the other open files.
    pub short_name: String,
    pub device: DeviceIndex,
    /// The device's name, such as `GPU 0`.
    pub device_name: String,
    /// Number of the file's devices.
    pub devices: usize,
    /// The allocations to compare.
    pub selection: Selection,
    /// The moment that is compared; for a range, its last one.
    pub moment: u32,
    /// Number of recorded events.
    pub events: u32,
    /// Whether the recording has times.
    pub has_times: bool,
    /// The choice in words.
    pub words: String,
    /// The moments that choices refer to.
    pub places: Places,
}

/// The open file of a choice; `None` if it is not open, or not read yet.
#[must_use]
pub fn tab_of<'a>(
    choice: Option<&FileChoice>,
    tabs: &'a [Rc<Tab>],
    current: SessionId,
) -> Option<&'a Rc<Tab>> {
    let tab = match choice {
        None => tabs.iter().find(|tab| tab.id == current),
        Some(file) => (tabs.iter())
            .filter(|tab| tab.name == file.name)
            .nth(file.nth as usize),
    };
    tab.filter(|tab| tab.ready().is_some())
}

/// The key of an open file in choices.
#[must_use]
pub fn choice_of(tabs: &[Rc<Tab>], id: SessionId) -> Option<FileChoice> {
    let place = tabs.iter().position(|tab| tab.id == id)?;
    let name = tabs[place].name.clone();
    let nth = tabs[..place].iter().filter(|tab| tab.name == name).count() as u32;
    Some(FileChoice { name, nth })
}

/// The choices, with two open files as sides where the user chose neither side and selected no range, both at their peaks:
/// of more than two the one that stands out, with the shown file or else the median; else the shown file and the one
/// before it, or after it.
#[must_use]
pub fn compared(choices: &CompareChoices, tabs: &[Rc<Tab>], current: SessionId) -> CompareChoices {
    let is_of_range =
        side(&choices.before, tabs, current).is_some_and(|side| side.places.range.is_some());
    let ready = tabs.iter().filter(|tab| tab.ready().is_some());
    let ready: Vec<SessionId> = ready.map(|tab| tab.id).collect();
    let place = ready.iter().position(|&id| id == current);
    let (Some(place), true) = (place, choices.is_of_selection() && !is_of_range) else {
        return choices.clone();
    };
    if ready.len() > 2
        && let Some((odd, median)) = odd_one(&cards(tabs))
    {
        let of = |card: &DeviceCard| card.recording(tabs);
        let other = if odd.id == current {
            of(median)
        } else {
            RecordingChoice {
                file: choice_of(tabs, current),
                device: None,
            }
        };
        return choices.with_recording(Which::Before, other, &of(odd));
    }
    let first = place.saturating_sub(1);
    let (Some(&before), Some(&after)) = (ready.get(first), ready.get(first + 1)) else {
        return choices.clone();
    };
    let of = |id: SessionId| RecordingChoice {
        file: choice_of(tabs, id),
        device: None,
    };
    choices.with_recording(Which::Before, of(before), &of(after))
}

/// The side of a choice; `None` if its file is not open or has no such device.
#[must_use]
pub fn side(choice: &SideChoice, tabs: &[Rc<Tab>], current: SessionId) -> Option<Side> {
    let tab = tab_of(choice.file.as_ref(), tabs, current)?;
    let file: &OpenFile = tab.ready()?;
    let devices = &file.devices;
    let place = match choice.device {
        None => file.device,
        Some(device) => devices.iter().position(|facts| facts.device == device)?,
    };
    let (facts, view) = (devices.get(place)?, file.views.get(place)?);
    let places = Places::of(facts, view, OfRange::default());
    let selection = selection(choice.what, &places);
    Some(Side {
        id: tab.id,
        name: tab.name.clone(),
        short_name: short_name(tab, tabs),
        device: facts.device,
        device_name: facts.name.clone(),
        devices: devices.len(),
        selection,
        moment: last_moment(selection, facts.events),
        events: facts.events,
        has_times: facts.axes.time.is_some(),
        words: places.words(selection),
        places,
    })
}

/// What tells a file's name from those of the other open files.
#[must_use]
pub fn short_name(tab: &Tab, tabs: &[Rc<Tab>]) -> String {
    let names: Vec<&str> = tabs.iter().map(|tab| &*tab.name).collect();
    let place = names.iter().position(|name| *name == tab.name);
    let short = place.and_then(|place| names_apart(&names).get(place).copied());
    short.unwrap_or(&tab.name).to_owned()
}

/// The file whose worker compares: the shown file, if it is a side.
#[must_use]
pub fn host(before: &Side, after: &Side, current: SessionId) -> SessionId {
    if before.id == current {
        before.id
    } else {
        after.id
    }
}

fn last_moment(selection: Selection, end: u32) -> u32 {
    match selection {
        Selection::All => end,
        Selection::LiveAt(moment) => moment,
        Selection::AllocatedIn((_, to))
        | Selection::RetainedFrom((_, to))
        | Selection::FreedIn((_, to)) => to,
    }
}

/// The allocations of a choice.
fn selection(what: SideWhat, places: &Places) -> Selection {
    let (first, last) = places.ends();
    Selection::LiveAt(match what {
        SideWhat::Start => 0,
        SideWhat::Peak => places.peak,
        SideWhat::End => places.end,
        SideWhat::SelectedFirst => first,
        SideWhat::SelectedLast => last,
        SideWhat::Event(moment) => moment.min(places.end),
        SideWhat::Allocated => return Selection::AllocatedIn(places.range_or_all()),
        SideWhat::Retained => return Selection::RetainedFrom(places.range_or_all()),
    })
}

/// The name of a choice in the list.
#[must_use]
pub fn word(what: SideWhat, places: &Places) -> String {
    let selected = match (what, places.range) {
        (SideWhat::Event(_), _) => return "live after event …".to_owned(),
        (SideWhat::SelectedFirst, Some(_)) => "where the range begins",
        (SideWhat::SelectedLast, Some(_)) => "where the range ends",
        (SideWhat::SelectedFirst | SideWhat::SelectedLast, None) => {
            return format!("selected: {}", places.words(selection(what, places)));
        }
        _ => return places.words(selection(what, places)),
    };
    selected.to_owned()
}

/// A device of an open file, to pick from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceCard {
    /// Its file.
    pub id: SessionId,
    /// The file's name.
    pub name: String,
    /// What tells the name from those of the other open files.
    pub file_short_name: String,
    pub device: DeviceIndex,
    /// `GPU 0`, or what else it is.
    pub device_name: String,
    /// Its index among the devices of its file.
    pub place: usize,
    /// Number of the file's devices.
    pub devices: usize,
    /// Number of open files.
    pub files: usize,
    /// Highest sum of live bytes.
    pub peak_bytes: u64,
    /// The most that was reserved, in words.
    pub peak_reserved: String,
    /// The higher of both peaks.
    pub top_bytes: u64,
    /// How often its program ran out of its memory.
    pub ooms: u64,
}

impl DeviceCard {
    /// The part of its name that tells it from the others.
    #[must_use]
    pub fn short_name(&self) -> String {
        match (self.files, self.devices) {
            (1, _) => self.device_name.clone(),
            (_, 1) => self.file_short_name.clone(),
            _ => format!("{} · {}", self.device_name, self.file_short_name),
        }
    }

    /// It as a choice.
    #[must_use]
    pub fn recording(&self, tabs: &[Rc<Tab>]) -> RecordingChoice {
        RecordingChoice {
            file: choice_of(tabs, self.id),
            device: Some(self.device),
        }
    }
}

/// The card whose peak stands out from those of the others, and the card whose peak is the median.
#[must_use]
pub fn odd_one(cards: &[DeviceCard]) -> Option<(&DeviceCard, &DeviceCard)> {
    let peaks: Vec<u64> = cards.iter().map(|card| card.peak_bytes).collect();
    let found = outlier_of(&peaks, Measure::Peak)?;
    let median = peaks.iter().position(|&peak| peak == found.median_bytes)?;
    Some((cards.get(found.rank)?, cards.get(median)?))
}

/// All devices of all open files, in the order of their tabs.
#[must_use]
pub fn cards(tabs: &[Rc<Tab>]) -> Vec<DeviceCard> {
    let ready = tabs.iter().filter_map(|tab| Some((tab, tab.ready()?)));
    let files = ready.clone().count();
    let mut cards = Vec::new();
    for (tab, file) in ready {
        let devices = &file.opened.devices;
        let mut own: Vec<DeviceCard> = (devices.iter().enumerate())
            .map(|(place, facts)| DeviceCard {
                id: tab.id,
                name: tab.name.clone(),
                file_short_name: short_name(tab, tabs),
                device: facts.device,
                device_name: facts.name.clone(),
                place,
                devices: devices.len(),
                files,
                peak_bytes: facts.peak_bytes,
                peak_reserved: sentences::peak_reserved(facts),
                top_bytes: facts.peak_bytes.max(facts.peak_reserved_bytes),
                ooms: facts.ooms.unwrap_or(0),
            })
            .collect();
        // By number, as ranks are looked for by their number.
        own.sort_few_by_key(|card| card.device);
        cards.extend(own);
    }
    cards
}

/// Whether a side of the comparison is this device.
#[must_use]
pub fn is_side(
    choice: &SideChoice,
    card: &DeviceCard,
    tabs: &[Rc<Tab>],
    current: SessionId,
) -> bool {
    side(choice, tabs, current).is_some_and(|side| (side.id, side.device) == (card.id, card.device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_cursor_and_range_every_choice_still_means_something() {
        let none = Places {
            peak: 7,
            end: 20,
            ..Places::default()
        };
        let some = Places {
            cursor: Some(3),
            range: Some((4, 9)),
            ..none
        };
        let live = Selection::LiveAt;
        for (what, without, with) in [
            (SideWhat::Start, live(0), live(0)),
            (SideWhat::Peak, live(7), live(7)),
            (SideWhat::End, live(20), live(20)),
            (SideWhat::SelectedFirst, live(0), live(4)),
            (SideWhat::SelectedLast, live(7), live(9)),
            (SideWhat::Event(99), live(20), live(20)),
            (
                SideWhat::Allocated,
                Selection::AllocatedIn((0, 20)),
                Selection::AllocatedIn((4, 9)),
            ),
            (
                SideWhat::Retained,
                Selection::RetainedFrom((0, 20)),
                Selection::RetainedFrom((4, 9)),
            ),
        ] {
            assert_eq!(selection(what, &none), without);
            assert_eq!(selection(what, &some), with);
        }
    }
}
