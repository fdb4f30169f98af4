//! The sides of a comparison, each a device at a moment, and their pairing.

use vramscope_core::analysis::compare::flat_settings::{FlatSettings, flat_settings};
use vramscope_core::analysis::compare::side::{Figures, figures};
use vramscope_core::analysis::groups::grouping::named_totals;
use vramscope_core::analysis::groups::turnover::Amount;
use vramscope_core::analysis::recording::Device;
use vramscope_core::analysis::report::findings::FindingKind;
use vramscope_core::analysis::report::overview::overview;
use vramscope_core::analysis::time::selection::Selection;
use vramscope_core::model::DeviceIndex;

use crate::arguments::Grouping;
use crate::failure::Failure;
use crate::report::Damage;
use crate::subject::Subject;

/// One device at one moment, reduced to what a comparison needs.
pub(super) struct Side {
    pub(super) file: String,
    pub(super) device: DeviceIndex,
    /// The device's name in titles.
    pub(super) title: String,
    /// Whether it is the host's memory, whose number is not a GPU's.
    pub(super) is_host: bool,
    /// The moment as the user named it.
    pub(super) moment: String,
    pub(super) figures: Figures,
    /// Live memory at that moment, by group.
    pub(super) groups: Vec<(String, Amount)>,
    pub(super) settings: FlatSettings,
    /// Growth of live memory with each step, in words; `None` if none was found.
    pub(super) growth: Option<String>,
    pub(super) damage: Vec<Damage>,
}

/// Two sides, and notes on how they were paired.
pub(super) struct Pair {
    pub(super) before: Side,
    pub(super) after: Side,
    pub(super) notes: Vec<String>,
}

/// The sides of a file: each of its devices at the moment.
pub(super) fn sides(
    subject: &Subject,
    moment: &str,
    grouping: Grouping,
) -> Result<Vec<Side>, Failure> {
    let devices = subject.devices();
    let sides = devices.map(|device| {
        let at = device.moment(moment)?;
        Ok(Side {
            file: subject.name.clone(),
            device: device.index(),
            title: device.title(),
            is_host: subject.snapshot.is_host(device.index()),
            moment: moment.to_owned(),
            figures: figures(*device, at),
            groups: named_totals(
                device.history,
                &device.groups(grouping),
                Selection::LiveAt(at),
            ),
            settings: flat_settings(&subject.snapshot.settings),
            growth: growth(*device),
            damage: subject.damage(),
        })
    });
    sides.collect()
}

fn growth(device: Device<'_>) -> Option<String> {
    let mut findings = overview(device, 0).findings.into_iter();
    let growth = findings.find(|finding| finding.kind == FindingKind::Growth);
    growth.map(|growth| growth.title)
}

impl Side {
    /// What devices that belong together have in common: the number, except for the host.
    fn key(&self) -> Option<DeviceIndex> {
        (!self.is_host).then_some(self.device)
    }
}

/// Pairs devices with the same number, the host with the host, or the only device of each file.
pub(super) fn paired(before: Vec<Side>, after: Vec<Side>) -> Result<Vec<Pair>, Failure> {
    let [before_list, after_list] = [&before, &after].map(|sides| named(sides));
    if let ([one], [other]) = (before.as_slice(), after.as_slice()) {
        let differ = one.key() != other.key();
        let note = format!(
            "Each side has one device: {} is compared with {}.",
            one.title, other.title
        );
        let notes = differ.then_some(note).into_iter().collect();
        let pair = before.into_iter().zip(after).next();
        return Ok(pair
            .map(|(before, after)| Pair {
                before,
                after,
                notes,
            })
            .into_iter()
            .collect());
    }
    let (mut pairs, mut unmatched) = (Vec::new(), Vec::new());
    let mut after: Vec<Option<Side>> = after.into_iter().map(Some).collect();
    for before in before {
        let same =
            |side: &&mut Option<Side>| side.as_ref().is_some_and(|side| side.key() == before.key());
        match after.iter_mut().find(same).and_then(Option::take) {
            Some(after) => pairs.push(Pair {
                before,
                after,
                notes: Vec::new(),
            }),
            None => unmatched.push(only_in(&before)),
        }
    }
    unmatched.extend(after.iter().flatten().map(only_in));
    match pairs.last_mut() {
        Some(last) => last.notes = unmatched,
        None => {
            return Err(Failure::Input(format!(
                "no device is in both: {before_list}; {after_list}"
            )));
        }
    }
    Ok(pairs)
}

fn only_in(side: &Side) -> String {
    format!("Only {} has {}.", side.file, side.title)
}

/// Names devices for a message: `a.pickle has device 0, 1`.
fn named(sides: &[Side]) -> String {
    let Some(first) = sides.first() else {
        return "one has no device at all".to_owned();
    };
    let devices: Vec<_> = sides.iter().map(|side| side.device.to_string()).collect();
    format!("{} has device {}", first.file, devices.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(file: &str, device: DeviceIndex) -> Side {
        Side {
            file: file.to_owned(),
            device,
            title: format!("device {device}"),
            is_host: false,
            moment: "peak".to_owned(),
            figures: Figures::default(),
            groups: Vec::new(),
            settings: FlatSettings::new(),
            growth: None,
            damage: Vec::new(),
        }
    }

    fn pairs(
        before: &[DeviceIndex],
        after: &[DeviceIndex],
    ) -> Option<Vec<(DeviceIndex, DeviceIndex, usize)>> {
        let of = |file: &str, devices: &[DeviceIndex]| -> Vec<Side> {
            devices.iter().map(|&device| side(file, device)).collect()
        };
        let pairs = paired(of("a", before), of("b", after)).ok()?;
        let row = |pair: &Pair| (pair.before.device, pair.after.device, pair.notes.len());
        Some(pairs.iter().map(row).collect())
    }

    #[test]
    fn devices_of_the_same_number_or_the_only_ones() {
        assert_eq!(pairs(&[0], &[0]), Some(vec![(0, 0, 0)]));
        assert_eq!(pairs(&[0], &[3]), Some(vec![(0, 3, 1)]));
        assert_eq!(pairs(&[0, 1], &[1, 0]), Some(vec![(0, 0, 0), (1, 1, 0)]));
        assert_eq!(pairs(&[0, 1, 2], &[1]), Some(vec![(1, 1, 2)]));
        assert_eq!(pairs(&[0, 1], &[2]), None);
        assert_eq!(pairs(&[], &[2]), None);
    }

    #[test]
    fn the_host_is_no_gpu() {
        let host = |file: &str, device| Side {
            is_host: true,
            ..side(file, device)
        };
        let one_gpu = vec![side("a", 0), host("a", 1)];
        let two_gpus = vec![side("b", 0), side("b", 1), host("b", 2)];
        let pairs = paired(one_gpu, two_gpus).unwrap();
        let devices = pairs
            .iter()
            .map(|pair| (pair.before.device, pair.after.device));
        assert_eq!(devices.collect::<Vec<_>>(), [(0, 0), (1, 2)]);
        assert_eq!(pairs[1].notes, ["Only b has device 1."]);
        let pairs = paired(vec![side("a", 0)], vec![host("b", 0)]).unwrap();
        assert_eq!(pairs[0].notes.len(), 1);
    }
}
