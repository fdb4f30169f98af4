//! What the planner found, and answers to the questions of [`protocol::views::what_if`](vramscope_protocol::views::what_if) that
//! need no plan.

use vramscope_core::analysis::report::dry_run;
use vramscope_core::analysis::report::findings::{Finding, helpful};
use vramscope_core::analysis::report::idle::is_worth_replaying;
use vramscope_core::model::DeviceIndex;
use vramscope_protocol::views::what_if::{
    Concluded, Found, PackedPlaces, ProgramOf, ProgramRows, What,
};
use vramscope_view::map::{PackedGroup, PackedMap};
use vramscope_view::reserved::Steps;

use super::super::document::{Device, Document};

/// What the planner found.
#[derive(Default)]
pub(super) struct Cache {
    replay: Option<Replay>,
    conclusions: Vec<(DeviceIndex, Option<Finding>)>,
}

/// Reserved memory with changed settings.
struct Replay {
    device: DeviceIndex,
    changes: String,
    reserved_steps: Vec<(u32, u64)>,
}

/// What changes of the program would leave of the peak; `None` if there is no such device.
pub(super) fn program(asked: &ProgramOf, document: &Document) -> Option<ProgramRows> {
    let device = document.device(asked.device)?;
    Some(ProgramRows {
        device: asked.device,
        peak_bytes: device.history.peak_bytes(),
        reserved_bytes: device.history.most_reserved_bytes(),
        rows: helpful(*device, device.history.event_count, true),
        dry_run: dry_run::for_program(*device),
    })
}

impl Cache {
    /// Keeps what the planner found: of replays the newest.
    pub(super) fn take(&mut self, found: Found, document: &Document) {
        let Found {
            device: of, what, ..
        } = found;
        match what {
            What::Packing(groups) => {
                if let Some(device) = document.device(of) {
                    let groups: Vec<_> = groups.iter().map(group).collect();
                    device.set_packed(|| PackedMap::new(&device.history.allocations, &groups));
                }
            }
            What::Replay {
                changes,
                reserved_steps,
            } => {
                self.replay = Some(Replay {
                    device: of,
                    changes,
                    reserved_steps,
                });
            }
            What::Conclusion(finding) => self.conclusions.push((of, finding.map(|it| *it))),
        }
    }

    /// Reserved memory in a replay with these changes; empty if it is not known.
    pub(super) fn reserved_steps(&self, device: DeviceIndex, changes: &str) -> &Steps {
        let replay = self.replay.as_ref();
        let replay = replay.filter(|of| of.device == device && of.changes == changes);
        replay.map_or(&[], |replay| &replay.reserved_steps)
    }

    /// What replays with other settings amount to, if that is known or they are not worth it.
    pub(super) fn conclusion(&self, device: Device<'_>) -> Concluded {
        let of = device.index();
        let known = self.conclusions.iter().find(|(known, _)| *known == of);
        Concluded {
            device: of,
            is_done: known.is_some() || !is_worth_replaying(*device),
            finding: known.and_then(|(_, finding)| finding.clone()),
        }
    }
}

fn group(places: &PackedPlaces) -> PackedGroup<'_> {
    PackedGroup {
        stream: places.stream,
        pool: Some(places.pool),
        rows: &places.rows,
        offset: &places.offset,
        bytes: &places.bytes,
        height: places.height,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::painter::{Painter, Under};
    use vramscope_protocol::{Axis, Bounds, DrawRequest, Look, Picture, Viewport};
    use vramscope_view::map::MapHit;

    const POOLS: &[u8] = include_bytes!("../../../../tests/fixtures/synth/scenario-pools.pickle");

    fn document() -> Document {
        Document::new(vramscope_core::decode(POOLS).unwrap())
    }

    /// Every allocation above the one before.
    fn stacked(document: &Document) -> Found {
        let device = document.devices().next().unwrap();
        let bytes = &device.history.allocations.bytes;
        let mut height = 0;
        let offset = bytes.iter().map(|bytes| {
            height += bytes;
            height - bytes
        });
        let offset = offset.collect();
        let places = PackedPlaces {
            stream: None,
            pool: Default::default(),
            rows: (0..bytes.len() as u32).collect(),
            offset,
            bytes: bytes.to_vec(),
            height,
        };
        Found {
            within: None,
            device: device.index(),
            what: What::Packing(vec![places]),
        }
    }

    #[test]
    fn a_packing_is_drawn_and_its_allocations_are_hit() {
        let document = document();
        let found = stacked(&document);
        let What::Packing(groups) = &found.what else {
            panic!("no packing");
        };
        let height = groups[0].height;
        let device = document.devices().next().unwrap();
        assert!(device.packed().is_none());
        Cache::default().take(found, &document);
        assert_eq!(device.packed().unwrap().height_bytes(), height);
        let mut painter = Painter::default();
        let look = Look {
            device: device.index(),
            picture: Picture::Packing,
            packing: 1,
            ..Look::default()
        };
        let bounds = Bounds::new(device.bands(Axis::Events).x_end(), height);
        let draw = DrawRequest {
            look,
            viewport: Viewport::fit_all(&bounds, 120, 80),
        };
        painter.draw(&document, &draw).unwrap();
        let points = (0..120).flat_map(|x| (0..80).map(move |y| (x, y)));
        let mut hits = points.filter_map(|(x, y)| painter.hit(&document, &draw, x, y));
        assert!(hits.any(|hit| {
            matches!(
                hit,
                Under::Map(MapHit::Allocation { .. } | MapHit::Several { .. })
            )
        }));
    }

    #[test]
    fn a_conclusion_is_kept() {
        let document = document();
        let device = document.devices().next().unwrap();
        let mut cache = Cache::default();
        assert_eq!(
            cache.conclusion(device).is_done,
            !is_worth_replaying(*device)
        );
        let found = Found {
            what: What::Conclusion(None),
            ..stacked(&document)
        };
        cache.take(found, &document);
        assert!(cache.conclusion(device).is_done);
    }
}
