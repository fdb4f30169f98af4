//! Answers within pools, beside those of the whole file.

use super::*;
use vramscope_core::analysis::properties::Property;
use vramscope_core::analysis::report::allocations::Cell;
use vramscope_core::analysis::time::selection::Selection;
use vramscope_core::model::PoolId;
use vramscope_protocol::views::overview::OverviewOf;
use vramscope_protocol::{
    DetailsOf, DevicesWithin, DrawRequest, EventOf, HitOf, LegendOf, Look, Picture, ThemeName,
    Viewport,
};

const FILE: &[u8] = include_bytes!("../../../../tests/fixtures/synth/scenario-pools.pickle");

fn document() -> Document {
    Document::new(vramscope_core::decode(FILE).unwrap())
}

/// The pool with the most allocations but for the default one, as a search.
fn private(document: &Document) -> (PoolId, String) {
    let device = document.devices().next().unwrap();
    let private = device.pool_of().iter().flatten().find(|pool| pool.1 != 0);
    let pool = *private.unwrap();
    (pool, format!("pool:{},{}", pool.0, pool.1))
}

fn ask(kept: &mut Option<Narrowed>, whole: &Document, pool: &str, of: &Question) -> Answer {
    let narrowed = Narrowed::of(whole, pool, kept).unwrap();
    narrowed.answer(of).unwrap().0
}

#[test]
fn figures_are_of_the_pool() {
    let whole = document();
    let (_, pool) = private(&whole);
    let device = whole.devices().next().unwrap();
    let of = Question::Overview(OverviewOf {
        device: device.index(),
    });
    let mut kept = None;
    let Answer::Overview(found) = ask(&mut kept, &whole, &pool, &of) else {
        panic!()
    };
    assert!((1..device.peak_bytes()).contains(&found.peak.active_bytes));
    let listed = vramscope_core::analysis::report::pool_lines::pool_lines(*device);
    let line = listed.lines.iter().find(|line| line.filter == pool);
    assert_eq!(
        found
            .bars()
            .iter()
            .map(|bar| bar.at.gap.reserved_bytes)
            .max(),
        line.map(|line| line.reserved_bytes)
    );
    let legend = |selection| {
        Question::Legend(LegendOf {
            device: device.index(),
            picture: Picture::Timeline,
            colour_by: vramscope_protocol::ColourBy::CallSite,
            theme: vramscope_protocol::ThemeName::Light,
            selection,
            entries: 9,
        })
    };
    let at_peak = Some(Selection::LiveAt(device.history.peak_moment));
    let Answer::Legend(entries) = ask(&mut kept, &whole, &pool, &legend(at_peak)) else {
        panic!()
    };
    let sum: u64 = entries.iter().map(|entry| entry.bytes).sum();
    assert_eq!(Some(sum), line.map(|line| line.peak_bytes));
    assert!(Narrowed::of(&whole, "size>1", &mut kept).is_none());
}

#[test]
fn what_is_hit_has_the_numbers_of_the_whole_file() {
    let whole = document();
    let (id, pool) = private(&whole);
    let device = whole.devices().next().unwrap();
    let (width_px, height_px) = (64, 32);
    let mut kept = None;
    let narrowed = Narrowed::of(&whole, &pool, &mut kept).unwrap();
    let bounds = narrowed.document.device(device.index()).unwrap();
    let draw = DrawRequest {
        look: Look {
            device: device.index(),
            ..Look::default()
        },
        viewport: Viewport::fit_all(&bounds.bounds(Default::default()), width_px, height_px),
    };
    let mut hits = 0;
    for x in 0..width_px {
        for y in 0..height_px {
            let of = Question::Hit(HitOf {
                draw: draw.clone(),
                at_px: (f64::from(x), f64::from(y)),
            });
            let Some((Answer::Hit(hit), _)) = narrowed.answer(&of) else {
                continue;
            };
            let HitOn::One(preview) = hit.on else {
                continue;
            };
            assert_eq!(device.pool_of()[preview.allocation.index()], Some(id));
            let bytes = device.history.allocations.bytes[preview.allocation.index()];
            assert_eq!(preview.brief.requested_bytes, bytes);
            let of = OutlineOf {
                draw: draw.clone(),
                thing: Thing::Allocation(preview.allocation),
            };
            let outlined = narrowed.answer(&Question::Outline(of.clone()));
            let Some((Answer::Outline(outline), _)) = outlined else {
                panic!()
            };
            assert_eq!(outline.thing, of.thing);
            assert!(!outline.points_px.is_empty());
            hits += 1;
        }
    }
    assert!(hits > 10);
}

/// The allocations of a device that are in a pool, and those that are not.
fn parts(device: Device<'_>, pool: PoolId) -> (Vec<AllocationId>, Vec<AllocationId>) {
    let ids = (0..device.history.allocations.len()).map(AllocationId::from_index);
    ids.partition(|of| device.pool_of()[of.index()] == Some(pool))
}

#[test]
fn rows_have_the_numbers_of_the_whole_file() {
    let whole = document();
    let (id, pool) = private(&whole);
    let device = whole.devices().next().unwrap();
    let (inside, outside) = parts(device, id);
    let mut kept = None;
    let mut rows = |locate| {
        let order = table::TableOrder {
            device: device.index(),
            filter: None,
            selection: Selection::All,
            column: Property::Born,
            is_descending: false,
        };
        let question = Question::Table(table::Question::Rows {
            order,
            first: 0,
            count: table::MOST_ROWS,
            locate,
            moment: None,
            colour_by: Property::default(),
            theme: ThemeName::default(),
        });
        match ask(&mut kept, &whole, &pool, &question) {
            Answer::Table(answer) => match *answer {
                table::Answer::Rows(window) => window,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    };
    let window = rows(Some(inside[1]));
    let mut listed: Vec<_> = window.rows.iter().map(|row| row.allocation).collect();
    assert_eq!(listed.get(window.place.unwrap() as usize), Some(&inside[1]));
    assert_eq!(rows(Some(outside[0])).place, None);
    for row in &window.rows {
        let table = &device.history.allocations;
        let at = row.allocation.index();
        let of_whole = [
            (Property::Size, Cell::Bytes(table.bytes[at])),
            (
                Property::Address,
                Cell::Address {
                    address: table.address[at],
                    version: table.version[at],
                },
            ),
        ];
        for (column, cell) in of_whole {
            let place = window.columns.iter().position(|&known| known == column);
            assert_eq!(row.cells[place.unwrap()], cell);
        }
    }
    listed.sort_unstable();
    assert_eq!(listed, inside);
}

#[test]
fn details_are_of_the_same_allocation() {
    let whole = document();
    let (id, pool) = private(&whole);
    let device = whole.devices().next().unwrap();
    let (inside, outside) = parts(device, id);
    let mut kept = None;
    let narrowed = Narrowed::of(&whole, &pool, &mut kept).unwrap();
    let asked = |allocation| DetailsOf {
        device: device.index(),
        allocation,
    };
    let elsewhere = Question::Details(asked(outside[0]));
    assert!(narrowed.answer(&elsewhere).is_none() && is_of_whole(&elsewhere));
    for &allocation in &inside {
        let of = asked(allocation);
        let Some((Answer::Details(found), _)) = narrowed.answer(&Question::Details(of)) else {
            panic!()
        };
        let plain = super::super::describe::details(&whole, &of).unwrap();
        assert_eq!(found.known.allocation, allocation);
        assert_eq!(found.known.name, plain.known.name);
        assert_eq!(found.known.site, plain.known.site);
        assert_eq!(found.free_stack, plain.free_stack);
    }
}

#[test]
fn steps_up_the_stack_stay_in_the_pool() {
    let whole = document();
    let (id, pool) = private(&whole);
    let device = whole.devices().next().unwrap();
    let mut kept = None;
    let narrowed = Narrowed::of(&whole, &pool, &mut kept).unwrap();
    let own = narrowed.document.device(device.index()).unwrap();
    let moment = own.history.peak_moment;
    let mut climbed = Vec::new();
    while let Some((Answer::Lanes(answer), _)) =
        narrowed.answer(&Question::Lanes(lanes::Question::Neighbour {
            device: device.index(),
            filter: None,
            moment,
            from: climbed.last().copied(),
            up: true,
        }))
        && let lanes::Answer::Neighbour(Some(next)) = *answer
    {
        climbed.push(next);
    }
    let (mut inside, _) = parts(device, id);
    inside.retain(|&of| device.history.is_live(of, moment));
    assert_eq!(climbed, inside);
}

#[test]
fn events_are_told_of_the_whole_file() {
    let whole = document();
    let (_, pool) = private(&whole);
    let device = whole.devices().next().unwrap().index();
    let of = Question::Event(EventOf { device, moment: 1 });
    let mut kept = None;
    let narrowed = Narrowed::of(&whole, &pool, &mut kept).unwrap();
    assert!(is_of_whole(&of) && narrowed.answer(&of).is_none());
    let facts = Question::Devices(DevicesWithin {
        pools: pool.clone(),
    });
    let Some((Answer::Devices(found), _)) = narrowed.answer(&facts) else {
        panic!()
    };
    let own = narrowed.document.device(device).unwrap();
    assert_eq!(found.devices[0].peak_moment, own.history.peak_moment);
    assert_eq!(found.devices[0].peak_bytes, own.peak_bytes());
}
